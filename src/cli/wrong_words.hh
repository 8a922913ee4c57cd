// SPDX-License-Identifier: MIT
// Turns the parser's errors into messages for users: which option does not exist and which one is
// similar, or which value is missing.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace heddle::cli {

/// The two lines of print_error().
struct mistake {
  std::string what;
  std::string help;
};

/// `command` is the verb whose words were parsed; null when there was none.
[[nodiscard]] mistake describe(const CLI::ParseError& e, const CLI::App* command);

}  // namespace heddle::cli
