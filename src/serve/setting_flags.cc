// SPDX-License-Identifier: MIT
// Binds settings to the options of a verb.
#include "serve/setting_flags.hh"

#include <string>

namespace heddle::serve {
namespace {

values_taken taken_by(setting_kind kind) {
  switch (kind) {
    case setting_kind::on_off:
      return values_taken::none;  // truth_of() reads the value
    case setting_kind::pairs:
      return values_taken::pair;
    case setting_kind::repeated:
      return values_taken::each;
    case setting_kind::once:
      break;
  }
  return values_taken::last;
}

/// Makes a request of each value, or of each two values.
value_function requests_of(const setting& s, const std::string& flag, setting_flags& flags) {
  if (s.value.kind == setting_kind::pairs)
    return {values_taken::pair, [&s, flag, &flags](const std::vector<std::string>& values) {
              for (std::size_t i = 0; i + 1 < values.size(); i += 2)
                flags.requests.push_back({&s, values[i] + '\n' + values[i + 1], flag});
            }};
  return {taken_by(s.value.kind), [&s, flag, &flags](const std::vector<std::string>& values) {
            for (const std::string& v : values) flags.requests.push_back({&s, v, flag});
          }};
}

}  // namespace

std::shared_ptr<setting_flags> add_setting_flags(command& verb, const setting_table& of) {
  auto flags = std::make_shared<setting_flags>();
  for (const setting& s : of.all) {
    const std::string flag = "--" + std::string(s.name);
    std::string names = (s.letter != 0 ? std::string("-") + s.letter + ',' : "") + flag;
    value_function target = requests_of(s, flag, *flags);
    if (s.name == "directory") {
      names = "DIR," + flag;
      target.takes = values_taken::one;
    }
    verb.add_options({{names, target, "", {.value_name = std::string(s.value.name)}}});
  }
  if (of.add_words != nullptr) {
    const auto add = [flags = flags.get(), &of](const std::vector<std::string>& words) {
      of.add_words(flags->requests, words);
    };
    verb.add_options({{"WORDS", value_function{values_taken::list, add}}});
  }
  verb.set_help([&of] { return help_of(of, help_page::common); });
  verb.add_options({{"--help-limits", &flags->help_limits}, {"--help-site", &flags->help_site}});
  return flags;
}

}  // namespace heddle::serve
