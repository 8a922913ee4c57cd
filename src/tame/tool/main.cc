// SPDX-License-Identifier: MIT
// The program that builds call. As `heddle-tame` it takes the options of `heddle tame`; under any
// other name, `tamer` say, those of the tool that Tame programs were built with.
#include <string>
#include <string_view>

#include "heddle/base/detail/standard_streams.hh"
#include "tame/command.hh"

int main(int argc, char** argv) {
  heddle::hold_standard_streams();
  const std::string_view whole = argc > 0 ? argv[0] : "";
  const std::string_view name = whole.substr(whole.rfind('/') + 1);
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return name == "heddle-tame" ? heddle::tame::run_command(arguments)
                               : heddle::tame::run_known_tool(arguments);
}
