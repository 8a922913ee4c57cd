// SPDX-License-Identifier: MIT
// `heddle serve [DIR]`, as the heddle program starts it. serve.cc runs it, options.hh has its
// settings, topics.hh says how its parts work together.
#pragma once

#include <functional>

#include "serve/command.hh"

namespace heddle::serve {

/// Adds the settings as options to the verb. The result runs the server until it is stopped, and
/// gives the exit code: 0 fine, 1 problems found, 2 wrong use.
std::function<int()> add_command(command& verb);
/// As add_command(), for `heddle proxy`.
std::function<int()> add_proxy_command(command& verb);

}  // namespace heddle::serve
