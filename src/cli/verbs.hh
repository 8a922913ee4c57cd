// SPDX-License-Identifier: MIT
// The verbs of the heddle command, one file each; main.cc dispatches. Each adds its options to its
// subcommand and gives the function that runs it. Exit codes: 0 fine, 1 problems found, 2 wrong
// use.
#pragma once

#include <functional>

#include "source/print_error.hh"

namespace CLI {
class App;
}

namespace heddle::cli {

using verb_function = std::function<int()>;

verb_function add_cert(CLI::App& command);
verb_function add_password(CLI::App& command);
verb_function add_doctor(CLI::App& command);
verb_function add_explain(CLI::App& command);
verb_function add_optimize(CLI::App& command);
verb_function add_graph(CLI::App& command);
verb_function add_draft(CLI::App& command);
verb_function add_new(CLI::App& command);
verb_function add_tame(CLI::App& command);
verb_function add_trace(CLI::App& command);

using source::print_error;

}  // namespace heddle::cli
