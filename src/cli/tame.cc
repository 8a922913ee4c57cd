// SPDX-License-Identifier: MIT
// heddle tame FILE...: translates Tame source to C++23. The translator is in src/tame; this file
// passes the arguments on.
#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "cli/verbs.hh"
#include "tame/command.hh"

namespace heddle::cli {

verb_function add_tame(CLI::App& command) {
  command.prefix_command();  // the translator parses the arguments
  command.footer(tame::command_help());
  return [&command] { return tame::run_command(command.remaining()); };
}

}  // namespace heddle::cli
