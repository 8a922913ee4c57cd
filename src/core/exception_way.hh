// SPDX-License-Identifier: MIT
// The way of an exception: the tasks whose functions it has left, for the report of an exception
// that no task catches. note_exception() (core/promise.hh) adds to it.
#pragma once

#include "heddle/probe/site.hh"

namespace heddle::detail {

/// In a way: further tasks that are not listed. No site has this value, because its low bits are 0.
inline constexpr site tasks_between = 1;

}  // namespace heddle::detail
