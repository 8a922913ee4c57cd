// SPDX-License-Identifier: MIT
// The parser's messages name its types ("1 required TEXT missing"); these messages name the option.
#include "cli/wrong_words.hh"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "source/nearest.hh"

namespace heddle::cli {
namespace {

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* o : command.get_options())
    for (const std::string& name : o->get_lnames()) names.push_back("--" + name);
  return names;
}

/// The option whose value is missing; the parser's message begins with its name.
const CLI::Option* named_first(const CLI::App& command, const std::string& text) {
  return command.get_option_no_throw(text.substr(0, text.find(':')));
}

}  // namespace

mistake describe(const CLI::ParseError& e, const CLI::App* command) {
  const std::string verb = command == nullptr ? "heddle" : "heddle " + command->get_name();
  const std::string lists = verb + " --help lists the options";
  if (command == nullptr) return {e.what(), lists};
  if (dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr) {
    const std::vector<std::string> extra = command->remaining();
    const auto flag = std::find_if(extra.begin(), extra.end(),
                                   [](const std::string& word) { return word.starts_with('-'); });
    if (flag != extra.end()) {
      const std::string name = flag->substr(0, flag->find('='));
      const std::string close = source::nearest(name, flags_of(*command));
      return {verb + " has no option " + name,
              close.empty() ? lists : "did you mean " + close + "? " + lists};
    }
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&e) != nullptr)
    if (const CLI::Option* option = named_first(*command, e.what()))
      return {option->get_name() + " needs a value",
              "write " + option->get_name() + ' ' + option->get_type_name()};
  return {e.what(), lists};
}

}  // namespace heddle::cli
