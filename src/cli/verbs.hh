// SPDX-License-Identifier: MIT
// The verbs of the heddle command, one file each; main.cc dispatches. Each adds its options to its
// subcommand and gives the function that runs it. Exit codes: 0 fine, 1 problems found, 2 wrong
// use.
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace heddle::cli {

using verb_function = std::function<int()>;

verb_function add_serve(CLI::App& command);
verb_function add_doctor(CLI::App& command);
verb_function add_explain(CLI::App& command);
verb_function add_optimize(CLI::App& command);
verb_function add_graph(CLI::App& command);

/// "error: what", then where, then what to do; on stderr.
void print_error(const std::string& what, const std::string& help);

}  // namespace heddle::cli
