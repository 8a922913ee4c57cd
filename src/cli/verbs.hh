// SPDX-License-Identifier: MIT
// The verbs of the heddle command, one file each; main.cc dispatches. Each adds its options to its
// command and gives the function that runs it. Exit codes: 0 fine, 1 problems found, 2 wrong use.
#pragma once

#include <functional>

#include "serve/command.hh"
#include "source/print_error.hh"

namespace heddle::cli {

using serve::accepts;
using serve::choices;
using serve::command;
using serve::whole_range;
using source::print_error;

using verb_function = std::function<int()>;

verb_function add_cert(command& verb);
verb_function add_password(command& verb);
verb_function add_doctor(command& verb);
verb_function add_explain(command& verb);
verb_function add_optimize(command& verb);
verb_function add_graph(command& verb);
verb_function add_draft(command& verb);
verb_function add_new(command& verb);
verb_function add_rpcgen(command& verb);
verb_function add_tame(command& verb);
verb_function add_trace(command& verb);

}  // namespace heddle::cli
