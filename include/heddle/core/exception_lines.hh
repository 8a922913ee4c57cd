// SPDX-License-Identifier: MIT
// The lines of an exception, for hooks that get a std::exception_ptr.
#pragma once

#include <exception>
#include <vector>

#include "heddle/probe/site.hh"

namespace heddle {

/// The last waits of the tasks that this exception has left, innermost first; a task that had not
/// waited is 0. Empty if none is known. Thread: any.
[[nodiscard]] std::vector<site> exception_lines(const std::exception_ptr& error);

}  // namespace heddle
