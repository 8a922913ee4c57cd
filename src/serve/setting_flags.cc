// SPDX-License-Identifier: MIT
// Binds settings to the parser of the command line.
#include "serve/setting_flags.hh"

#include <CLI/CLI.hpp>
#include <utility>

namespace heddle::serve {

std::shared_ptr<setting_requests> add_setting_flags(CLI::App& command,
                                                    std::span<const setting> all) {
  auto flags = std::make_shared<setting_requests>();
  for (const setting& s : all) {
    const std::string flag = "--" + std::string(s.name);
    const std::string names = (s.letter != 0 ? std::string("-") + s.letter + ',' : "") + flag;
    if (s.kind == setting_kind::on_off) {
      // The parser gives "true" for a flag without a value; truth_of() reads a given value.
      command.add_flag(names)->each(
          [flags, &s, flag](const std::string& v) { flags->push_back({&s, v, flag}); });
      continue;
    }
    if (s.kind == setting_kind::pairs) {
      command
          .add_option_function<std::vector<std::pair<std::string, std::string>>>(
              names,
              [flags, &s, flag](const std::vector<std::pair<std::string, std::string>>& values) {
                for (const auto& [first, second] : values)
                  flags->push_back({&s, first + '\n' + second, flag});
              })
          ->type_name(std::string(s.value_name));
      continue;
    }
    if (s.kind == setting_kind::repeated) {
      command
          .add_option_function<std::vector<std::string>>(
              names,
              [flags, &s, flag](const std::vector<std::string>& values) {
                for (const std::string& v : values) flags->push_back({&s, v, flag});
              })
          ->allow_extra_args(false)
          ->type_name(std::string(s.value_name));
      continue;
    }
    const bool positional = s.name == "directory";
    CLI::Option* option = command.add_option_function<std::string>(
        positional ? "DIR," + flag : names,
        [flags, &s, flag](const std::string& v) { flags->push_back({&s, v, flag}); });
    option->type_name(std::string(s.value_name));
    if (!positional) option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  return flags;
}

}  // namespace heddle::serve
