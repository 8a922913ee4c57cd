// SPDX-License-Identifier: MIT
// A visit to the old color ends the receiving there: core/enter.hh moves a task to a color and
// back. Nothing of the connection is touched before that visit has begun.
#include "abi/moved_conn.hh"

#include "heddle/core/enter.hh"

namespace heddle::abi {

namespace {

/// A task that is cancelled before it is in `home` touches nothing: the connection may be gone. In
/// `home` the task's own handle keeps the stream, and heddle_close() runs after the task.
task<detached> detach_in(color home, heddle_conn* c) {
  co_await enter(home);
  const tcp_stream s = c->stream;
  co_await s.detach();
  co_return detached{};
}

}  // namespace

std::int64_t move_here(heddle_worker* hw, heddle_conn* c, heddle_wait* at, heddle_frame* self) {
  return ask_task<detached>(
      hw, at, self, [&] { return detach_in(color(c->reads_in), c); },
      [&](detached) { c->reads_in = no_color; });
}

}  // namespace heddle::abi
