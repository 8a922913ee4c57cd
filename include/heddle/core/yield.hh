// SPDX-License-Identifier: MIT
// co_await yield(): lets everything that is ready run first. One link push and one indirect call.
#pragma once

#include "heddle/core/promise.hh"

namespace heddle {

/// Cancel: throws operation_canceled in a cancelled context.
class [[nodiscard("co_await it")]] yield_awaiter {
 public:
  yield_awaiter() noexcept {}
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  template <frame_promise P>
  static void await_suspend(std::coroutine_handle<P> h) {
    worker& w = worker::running();
    if (w.current_context().canceled()) [[unlikely]]
      detail::throw_failure(canceled_error());
    promise_base& promise = h.promise();
    promise.context_low = w.context_now;
    w.ready.push(link_of(h));
  }
  static void await_resume() noexcept {}
  /// Does nothing, because the frame is queued already.
  static void ask_to_end(worker&) noexcept {}
};

[[nodiscard]] inline yield_awaiter yield() noexcept { return {}; }

}  // namespace heddle
