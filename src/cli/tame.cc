// SPDX-License-Identifier: MIT
// heddle tame FILE...: translates Tame source to C++23. The translator is in src/tame; this file
// passes the arguments on.
#include "cli/verbs.hh"
#include "tame/command.hh"

namespace heddle::cli {

verb_function add_tame(command& verb) {
  verb.take_rest();  // the translator parses the arguments
  verb.set_footer(tame::command_help());
  return [&verb] { return tame::run_command(verb.rest()); };
}

}  // namespace heddle::cli
