// SPDX-License-Identifier: MIT
// co_await enter(color): the rest of this function, and what it awaits, runs in that color. When
// the function ends, its caller goes on in the color that the function was called in, with its
// result or exception. Values pass between colors by being in the function's frame; nothing is
// copied.
//
//   task<sealed> seal(record r, color c) {        // called from any color
//     co_await enter(c);                          // now in c: other colors run beside it
//     co_return encrypt(r);
//   }                                             // the caller goes on where it was
//
// A visit is the function's stay. While it lasts, the visit has a context below the caller's,
// so a request to cancel reaches it as a message, and its end comes back as one. States: on its way
// -> away -> coming home -> over; it is freed when it is over and no request to cancel is on its
// way.
#pragma once

#include "heddle/core/detail/join.hh"
#include "heddle/core/promise.hh"

namespace heddle {

struct visit {
  visit() noexcept;
  /// Thread: the color that the visit came from.
  void ask_to_cancel(worker& w) noexcept;

  /// The joiner must learn of the function's end in the joiner's own color. So its join calls the
  /// visit while the function is away. A scope's join serves many tasks; a function of a scope
  /// reports to `stand_in` instead.
  void take_over_join() noexcept;
  void give_back_join() noexcept;

  heddle::join stand_in;
  heddle::join* waiter = nullptr;  ///< the join that waits for the function
  heddle::join::done_function waiters_own = nullptr;
  frame coming_home{};            ///< runs in the color that the visit came from
  frame canceling{};              ///< runs in the color visited, and then, as an answer, back home
  context* own = nullptr;         ///< the context of the function while it is away
  link function = no_link;        ///< the function that called enter()
  std::uint32_t outer_low = 0;    ///< the context that the function came from
  std::uint32_t home = 0;         ///< the color that it came from: a place in the table
  std::uint32_t next = no_color;  ///< the color to enter from home, if it only passes through
  bool stands_in = false;
  bool ended = false;       ///< the function has ended; if false, it comes home itself
  bool cancel_out = false;  ///< a request to cancel is on its way, or its answer
  bool over = false;
};

namespace detail {
/// Whether a visit has taken over the join.
[[nodiscard]] bool is_taken_over(const join& j) noexcept;
/// Moves the function to the color at this place, below its present context.
void leave_again(link function, std::uint32_t place);
}  // namespace detail

/// Cancel: a function in a cancelled context stays, and sees operation_canceled. If it is cancelled
///   on its way, it sees that at its next wait.
class [[nodiscard("co_await it")]] enter_awaiter {
 public:
  explicit enter_awaiter(color to) noexcept : to_(to) {}

  [[nodiscard]] bool await_ready() noexcept {
    const worker& w = worker::running();
    place_ = w.place_of(to_.number);
    return w.color == place_;
  }
  template <frame_promise P>
  void await_suspend(std::coroutine_handle<P> h) {
    leave(link_of(h), place_);
  }
  static void await_resume() noexcept {}

 private:
  static void leave(link function, std::uint32_t place);
  color to_;
  std::uint32_t place_ = 0;
};

[[nodiscard]] inline enter_awaiter enter(color to) noexcept { return enter_awaiter(to); }

}  // namespace heddle
