// SPDX-License-Identifier: MIT
// The lines of an exception, for hooks that get a std::exception_ptr (src/core/exception_way.cc).
#pragma once

#include <exception>
#include <vector>

#include "heddle/probe/site.hh"

namespace heddle {
namespace detail {

/// In such a list: further tasks that are not listed. No site has this value, because its low bits
/// are 0.
inline constexpr site tasks_between = 1;

}  // namespace detail

/// The last waits of the tasks that this exception has left, innermost first; a task that had not
/// waited is 0. Empty if none is known. Thread: any.
[[nodiscard]] std::vector<site> exception_lines(const std::exception_ptr& error);

}  // namespace heddle
