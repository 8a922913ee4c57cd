// SPDX-License-Identifier: MIT
// A server says which handler it calls, so that the report slow-handler can name it: one frame of a
// server may call several handlers. Only with runtime_options::slow_handler.
#pragma once

#include "heddle/probe/callee.hh"

namespace heddle::detail {

/// Called before this function is called. Thread: a worker's.
void handler_begins(const callee& what) noexcept;
/// Called when the function has ended, or waits.
void handler_ends() noexcept;

}  // namespace heddle::detail
