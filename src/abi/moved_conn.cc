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
  const tcp_stream s = borrowed_stream(c).copy();
  co_await s.detach();
  co_return detached{};
}

}  // namespace

std::int64_t move_here(heddle_worker* hw, heddle_conn* c, conn_wait& at, heddle_frame* self) {
  return at.record(from(hw), [&](heddle_wait* in) {
    return ask_task<detached>(
        hw, in, self, [&] { return detach_in(color(input_of(c).color()), c); }, [](detached) {});
  });
}

}  // namespace heddle::abi
