// SPDX-License-Identifier: MIT
// Waits with a bound: with_timeout, with_deadline, with_cancel, shield. Each opens a context around
// any awaitable (operation, task, rendezvous, another adapter), so that every wait inside is
// reached. The wait that loses is cancelled and waited for; if it had succeeded already, its result
// is what you get. A timeout around one wait (an operation, a lock, a rendezvous) needs no context,
// and its timer is armed only when the function is really suspended.
//
//   auto n = co_await with_timeout(conn.read(buf), 5s);          // throws failure(timed_out)
//   auto r = co_await as_expected(with_timeout(conn.read(buf), 5s));
#pragma once

#include "heddle/core/awaitable.hh"
#include "heddle/core/detail/choice.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/promise.hh"

namespace heddle {

namespace detail {

/// An awaitable inside a context of its own. Bound opens and closes it: see below.
template <class A, class Bound>
class [[nodiscard("co_await it")]] bounded_awaiter {
  using inner_awaiter = std::remove_reference_t<awaiter_t<A&&>>;
  /// Whether the wait needs no context, unless the bound is reached before the wait begins.
  static constexpr bool alone = Bound::asks_alone && waits_alone<inner_awaiter>;

 public:
  using value_type = await_value_t<A&&>;

  bounded_awaiter(A&& a, typename Bound::limit at) : opened_(at), inner_(static_cast<A&&>(a)) {}

  /// The inner awaiter commits a branch of the choice before it takes a value or a lock.
  template <class Inner = A>
    requires joins_choice<std::remove_reference_t<awaiter_t<Inner&&>>>
  void join_choice(choice& c, std::size_t branch) {
    inner_.get().join_choice(c, branch);
  }
  void ask_to_end(worker& w) noexcept
    requires alone
  {
    if (opened_.own != nullptr) {
      opened_.own->cancel(w);
    } else {
      inner_.get().ask_to_end(w);
    }
  }

  [[nodiscard]] bool await_ready() {
    worker& w = worker::running();
    if constexpr (alone) {
      if (!opened_.bound.lies_ahead(w)) [[unlikely]]
        opened_.open(w);
    } else {
      opened_.open(w);
    }
    return inner_.get().await_ready();
  }
  template <frame_promise P>
  [[nodiscard]] auto await_suspend(std::coroutine_handle<P> h) {
    if (!alone || opened_.own != nullptr)
      opened_.own->opened_at = static_cast<promise_base&>(h.promise()).at;
    if constexpr (alone) {
      const bool suspended = suspended_by(inner_.get(), h);
      if (suspended && opened_.own == nullptr)
        opened_.bound.arm_for(inner_.get(), worker::running());
      return suspended;
    } else {
      return suspend_with(inner_.get(), h);
    }
  }
  value_type await_resume() {
    const closer at_end{opened_};  // closes after the inner awaiter, whose context is below
    if constexpr (is_result<value_type>) {
      value_type r = inner_.get().await_resume();
      if (!r) r.error() = opened_.bound.translate(r.error());
      return r;
    } else {
      if (!opened_.bound.hit()) [[likely]]
        return inner_.get().await_resume();
      try {
        return inner_.get().await_resume();
      } catch (const std::system_error& e) {
        if (opened_.bound.translate(e.code()) == e.code()) throw;
        throw_failure(opened_.bound.translate(e.code()));
      }
    }
  }
  [[nodiscard]] result<value_type> await_result()
    requires(!is_result<value_type>)
  {
    const closer at_end{opened_};
    auto r = result_of<value_type>(inner_.get());
    if (!r) r.error() = opened_.bound.translate(r.error());
    return r;
  }

 private:
  /// The context, open while the wait goes on.
  struct opened {
    explicit opened(typename Bound::limit at) noexcept : bound(at) {}
    opened(const opened&) = delete;
    ~opened() {
      if (own != nullptr) close();
    }

    void open(worker& w) {
      outer = w.context_now;
      own = &context::open(w, &w.current_context());
      w.context_now = *own;
      bound.open(*own, w);
    }
    void close() noexcept {
      bound.close();
      if (own == nullptr) return;
      worker& w = worker::running();
      w.context_now = w.context_at(outer);
      context::close(w, *std::exchange(own, nullptr));
    }

    context* own = nullptr;
    std::uint32_t outer = 0;
    Bound bound;
  };
  struct closer {
    opened& at;
    ~closer() { at.close(); }
  };

  opened opened_;
  own_awaiter<A> inner_;  // destroyed first: its contexts are below
};

/// The result of with_timeout() and the like: the awaitable, an lvalue by reference, and its limit.
template <class A, class Bound>
class [[nodiscard("co_await it")]] bounded {
 public:
  bounded(A&& a, typename Bound::limit at) : awaitable_(static_cast<A&&>(a)), limit_(at) {}
  [[nodiscard]] bounded_awaiter<A, Bound> operator co_await() {
    return {static_cast<A&&>(awaitable_), limit_};
  }

 private:
  A awaitable_;
  typename Bound::limit limit_;
};

/// A timer that cancels a context.
class deadline_bound : timer_node {
 public:
  /// The inner awaitable can read the deadline from its context, so a context is always opened.
  static constexpr bool asks_alone = false;

  using limit = time_point;

  explicit deadline_bound(time_point due) noexcept : timer_node(&reached), due_(due) {}

  void open(context& c, worker& w) noexcept {
    target_ = &c;
    if (due_ >= c.deadline()) return;  // an outer deadline comes first
    c.set_deadline(due_);
    if (due_ <= w.now) {  // a deadline that is due already needs no timer
      reached(*this, w);
    } else {
      w.sched.arm(w, *this, due_);
    }
  }
  void close() noexcept { disarm(); }
  [[nodiscard]] bool hit() const noexcept { return hit_; }
  [[nodiscard]] std::error_code translate(std::error_code code) const noexcept {
    return hit_ && code == std::errc::operation_canceled ? timed_out_error() : code;
  }

 protected:
  /// For a wait that is asked itself, and a span from now.
  template <waits_alone Inner>
  void arm_after_for(Inner& a, worker& w, nanoseconds span) noexcept {
    // w.now is when the turn began, which is before now: the timer is due at this time or later.
    if (add_saturated(w.now, span) >= w.current_context().deadline()) return;
    aim_at(a);
    w.sched.arm_after(w, *this, span);
  }

  time_point due_;

 private:
  template <class Inner>
  void aim_at(Inner& a) noexcept {
    target_ = &a;
    fires(&reached_alone<Inner>);
  }
  static void reached(timer_node& t, worker& w) noexcept {
    auto& self = static_cast<deadline_bound&>(t);
    self.hit_ = true;
    static_cast<context*>(self.target_)->cancel(w);
  }
  template <class Inner>
  static void reached_alone(timer_node& t, worker& w) noexcept {
    auto& self = static_cast<deadline_bound&>(t);
    self.hit_ = true;
    static_cast<Inner*>(self.target_)->ask_to_end(w);
  }
  void* target_ = nullptr;  // the context, or the wait
  bool hit_ = false;
};

/// As deadline_bound, for a span that is counted from the moment of waiting.
class timeout_bound : public deadline_bound {
 public:
  static constexpr bool asks_alone = true;

  using limit = nanoseconds;

  explicit timeout_bound(nanoseconds span) noexcept : deadline_bound(never), span_(span) {}
  /// The context's deadline is a time, so this reads the clock; a wait without a context does not.
  void open(context& c, worker& w) noexcept {
    due_ = span_ > nanoseconds::zero() ? add_saturated(w.sched.read_clock(), span_) : w.now;
    deadline_bound::open(c, w);
  }
  /// Whether the timeout is still to come.
  [[nodiscard]] bool lies_ahead(const worker&) const noexcept {
    return span_ > nanoseconds::zero();
  }
  template <waits_alone Inner>
  void arm_for(Inner& a, worker& w) noexcept {
    arm_after_for(a, w, span_);
  }

 private:
  nanoseconds span_;
};

}  // namespace detail

/// A request to cancel that can be made from elsewhere in the same color.
///
///   cancel_source stop;
///   s.spawn(worker_task(stop));    // co_await with_cancel(stop, queue.pop())
///   stop.cancel();
class cancel_source {
 public:
  cancel_source() noexcept = default;
  cancel_source(const cancel_source&) = delete;
  cancel_source& operator=(const cancel_source&) = delete;

  /// Ends every wait inside a with_cancel on this source, now and later. Needs a worker only if
  /// there is such a wait: an object with a source can be made and destroyed where none runs.
  void cancel() noexcept {
    canceled_ = true;
    while (entry* e = entries_.pop_front()) e->target->cancel(worker::here());
  }
  [[nodiscard]] bool canceled() const noexcept { return canceled_; }

  /// A context that cancel() reaches.
  struct entry : list_node {
    context* target = nullptr;
  };

 private:
  friend class cancel_bound;
  list<entry> entries_;
  bool canceled_ = false;
};

class cancel_bound : cancel_source::entry {
 public:
  static constexpr bool asks_alone = false;

  using limit = cancel_source&;

  explicit cancel_bound(cancel_source& s) noexcept : source_(s) {}

  void open(context& c, worker& w) noexcept {
    target = &c;
    if (source_.canceled()) {
      c.cancel(w);
    } else {
      source_.entries_.push_back(*this);
    }
  }
  void close() noexcept { unlink(); }
  [[nodiscard]] bool hit() const noexcept { return false; }
  [[nodiscard]] std::error_code translate(std::error_code code) const noexcept { return code; }

 private:
  cancel_source& source_;
};

namespace detail {

/// A timeout whose context is shielded: waits inside go on although the context around is
/// cancelled.
class shield_bound : public timeout_bound {
 public:
  static constexpr bool asks_alone = false;

  using timeout_bound::timeout_bound;
  void open(context& c, worker& w) noexcept {
    c.shield();
    timeout_bound::open(c, w);
  }
};

}  // namespace detail

namespace detail {

/// A context with a priority of its own.
class priority_bound {
 public:
  static constexpr bool asks_alone = false;

  using limit = std::uint8_t;

  explicit priority_bound(std::uint8_t p) noexcept : priority_(p) {}
  void open(context& c, worker&) const noexcept { c.set_priority(priority_); }
  static void close() noexcept {}
  [[nodiscard]] static bool hit() noexcept { return false; }
  [[nodiscard]] static std::error_code translate(std::error_code code) noexcept { return code; }

 private:
  std::uint8_t priority_;
};

}  // namespace detail

/// Awaits `awaitable` with this priority, from 0 to 255; everything that is awaited or spawned
/// inside inherits it. A task policy reads it (sched/task_policy.hh); without one it has no effect.
template <class A>
[[nodiscard("co_await it")]] auto with_priority(A&& awaitable, std::uint8_t priority) {
  detail::check_awaitable<A>();
  if constexpr (detail::awaitable<A>)
    return detail::bounded<A, detail::priority_bound>(std::forward<A>(awaitable), priority);
}

/// Throws failure(timed_out) if `awaitable` has not finished after `span`, which counts from the
/// moment of waiting.
template <class A>
[[nodiscard("co_await it")]] auto with_timeout(A&& awaitable, nanoseconds span) {
  detail::check_awaitable<A>();
  if constexpr (detail::awaitable<A>)
    return detail::bounded<A, detail::timeout_bound>(std::forward<A>(awaitable), span);
}
template <class A, other_unit Span>
[[nodiscard("co_await it")]] auto with_timeout(A&& awaitable, Span span) {
  return with_timeout(std::forward<A>(awaitable), to_span(span));
}
/// As with_timeout(), for a point in time. Everything awaited inside inherits the deadline.
template <class A>
[[nodiscard("co_await it")]] auto with_deadline(A&& awaitable, time_point due) {
  detail::check_awaitable<A>();
  if constexpr (detail::awaitable<A>)
    return detail::bounded<A, detail::deadline_bound>(std::forward<A>(awaitable), due);
}
/// Awaits `awaitable`, which ends with operation_canceled when the source is cancelled.
template <class A>
[[nodiscard("co_await it")]] auto with_cancel(cancel_source& source, A&& awaitable) {
  detail::check_awaitable<A>();
  if constexpr (detail::awaitable<A>)
    return detail::bounded<A, cancel_bound>(std::forward<A>(awaitable), source);
}
/// For cleanup: `awaitable` goes on in a cancelled context, for at most `bound`.
template <class A>
[[nodiscard("co_await it")]] auto shield(A&& awaitable, nanoseconds bound) {
  detail::check_awaitable<A>();
  if constexpr (detail::awaitable<A>)
    return detail::bounded<A, detail::shield_bound>(std::forward<A>(awaitable), bound);
}
template <class A, other_unit Span>
[[nodiscard("co_await it")]] auto shield(A&& awaitable, Span bound) {
  return shield(std::forward<A>(awaitable), to_span(bound));
}

}  // namespace heddle
