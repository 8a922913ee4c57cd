// SPDX-License-Identifier: MIT
// heddle rpcgen FILE.x: compiles XDR files to C++. The compiler is in src/rpcgen; this file passes
// the arguments on.
#include "rpcgen/command.hh"

#include "cli/verbs.hh"

namespace heddle::cli {

verb_function add_rpcgen(command& verb) {
  verb.take_rest();  // the compiler parses the arguments
  verb.set_footer(rpcgen::command_help());
  return [&verb] { return rpcgen::run_command(verb.rest()); };
}

}  // namespace heddle::cli
