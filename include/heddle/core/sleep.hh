// SPDX-License-Identifier: MIT
// Waiting for time, both ways: co_await sleep_for(10ms), and timer(10ms, event). asap(event) fires
// the event from the queue, behind everything that is ready.
#pragma once

#include "heddle/core/event.hh"
#include "heddle/core/promise.hh"

namespace heddle {

/// Cancel: ends at once with operation_canceled.
class [[nodiscard("co_await it")]] sleep_awaiter : wait {
 public:
  explicit sleep_awaiter(time_point due) noexcept : wait(kind_of_wait), alarm_(*this), due_(due) {}
  explicit sleep_awaiter(nanoseconds span) noexcept : sleep_awaiter(time_point(span)) {
    is_span_ = true;
  }
  /// Copies an awaiter that has not begun to wait.
  sleep_awaiter(const sleep_awaiter& other) noexcept : sleep_awaiter(other.due_) {
    is_span_ = other.is_span_;
  }

  using wait::ask_to_end;
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  template <frame_promise P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) noexcept {
    worker& w = worker::running();
    if (w.current_context().canceled()) {
      canceled_ = true;
      return false;
    }
    park(*this, link_of(h), w);
    if (is_span_) {
      w.sched.arm_after(w, alarm_, due_.time_since_epoch());
    } else {
      w.sched.arm(w, alarm_, due_);
    }
    return true;
  }
  void await_resume() const {
    if (canceled_) detail::throw_failure(canceled_error());
  }
  [[nodiscard]] result<void> await_result() const noexcept {
    if (canceled_) return std::unexpected(canceled_error());
    return {};
  }

 private:
  struct alarm : timer_node {
    explicit alarm(sleep_awaiter& s) noexcept : timer_node(&fire), owner(s) {}
    static void fire(timer_node& t, worker& w) noexcept;
    sleep_awaiter& owner;
  };
  static const wait_kind kind_of_wait;

  alarm alarm_;
  time_point due_;  // or the span, from time 0
  bool is_span_ = false;
  bool canceled_ = false;
};

[[nodiscard("co_await it")]] inline sleep_awaiter sleep_until(time_point when) noexcept {
  return sleep_awaiter(when);
}
/// The sleep never ends before the span has passed since it began, also after a long computation.
[[nodiscard("co_await it")]] inline sleep_awaiter sleep_for(nanoseconds span) noexcept {
  return sleep_awaiter(span);
}
template <other_unit Span>
[[nodiscard("co_await it")]] sleep_awaiter sleep_for(Span span) noexcept {
  return sleep_awaiter(to_span(span));
}

/// Fires `done` when this span has passed since the call, never earlier. If the span is not
/// positive, `done` fires from the queue at once. If the event becomes empty first, the timer is
/// freed.
void timer(nanoseconds span, event<> done);
template <other_unit Span>
void timer(Span span, event<> done) {
  timer(to_span(span), std::move(done));
}
/// Fires `done` at this time or later. Of two times the earlier fires first.
void timer_until(time_point when, event<> done);
namespace detail {
struct asap_function {
  void operator()(event<> done) const;
};
}  // namespace detail
/// asap(done) fires `done` at the end of this turn or in the next, first come first served.
/// It is an object, so that a program's own asap(event<>) is not ambiguous with it: the type of an
/// event does not make the compiler look for objects in namespace heddle.
inline constexpr detail::asap_function asap{};

}  // namespace heddle
