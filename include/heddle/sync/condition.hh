// SPDX-License-Identifier: MIT
// condition: functions wait until another one notifies them that a value may have changed.
// Functions of one color may test and wait without a lock, because nothing runs in between; with a
// mutex held across waits, wait(held) gives it up meanwhile.
//
//   while (queue.empty()) co_await not_empty.wait();
//   while (!ready) co_await changed.wait(held);
#pragma once

#include "heddle/core/detail/choice.hh"
#include "heddle/core/promise.hh"
#include "heddle/core/task.hh"
#include "heddle/sync/mutex.hh"

namespace heddle {

/// Thread: one color, the first that uses it; a use in another is reported (wrong-color).
/// Resumes: waiters later, from the queue, in the order in which they came.
/// Owns: nothing; it must outlive its waiters.
/// Cancel: a waiter leaves; a notification that had reached it already counts as a wake.
class condition {
 public:
  explicit condition(std::source_location made = std::source_location::current()) noexcept
      : condition(own_kind, made) {}
  condition(const condition&) = delete;
  condition& operator=(const condition&) = delete;
  ~condition() {
    HEDDLE_ASSERT(line_.empty(), "a condition ends while functions wait on it; end them first");
  }

  class awaiter;
  /// Waits for the next notification that reaches this waiter. There are no spurious wake-ups.
  [[nodiscard("co_await it")]] awaiter wait(
      std::source_location where = std::source_location::current()) noexcept;
  /// As above, but gives up the lock for the time of the wait. It is held again afterwards, however
  /// the wait ends.
  [[nodiscard]] task<> wait(mutex::hold& held,
                            std::source_location where = std::source_location::current());

  /// Wakes the waiter that has waited longest; false when there is none.
  bool notify_one(std::source_location where = std::source_location::current()) noexcept;
  /// Wakes all waiters; returns how many.
  std::size_t notify_all(std::source_location where = std::source_location::current()) noexcept;
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }
  /// As waiting(), without waiters whose choice was made elsewhere. Linear.
  [[nodiscard]] std::size_t waiting_open() noexcept;

 private:
  friend class latch;
  friend class barrier;
  template <class T>
  friend class broadcast;
  /// For a condition inside another object, which reports as an object of its own kind.
  condition(const detail::one_color_kind& kind, std::source_location made) noexcept
      : kind_(kind), color_(made) {}
  void check_color(std::source_location where) noexcept { color_.check(kind_, where); }
  static constexpr detail::one_color_kind own_kind{"a condition", detail::enter_or_transaction};

  struct place : list_node {};
  struct record : heddle::wait, place {
    explicit record(awaiter& a) noexcept : heddle::wait(kind_of_wait), owner(a) {}
    ~record() {
      if (place::linked()) [[unlikely]]
        leave();
    }
    void leave() noexcept;
    static const wait_kind kind_of_wait;
    awaiter& owner;
  };
  /// The receivers of a notification. If it is for one function, and that function is ended before
  /// it runs, the notification is passed on.
  enum class wake_of : std::uint8_t { none, one, all };
  bool notify_first(wake_of how) noexcept;

  list<place> line_;
  std::size_t waiting_ = 0;
  const detail::one_color_kind& kind_;
  detail::one_color color_;
};

class [[nodiscard("co_await it")]] condition::awaiter : public choosable {
 public:
  explicit awaiter(condition& home) noexcept : home_(home) {}
  awaiter(const awaiter& other) noexcept : awaiter(other.home_) {}  // before it waits
  ~awaiter() {
    if (woken_ == wake_of::one) [[unlikely]]
      static_cast<void>(home_.notify_first(wake_of::one));  // the function was ended before it ran
  }

  [[nodiscard]] bool await_ready() const noexcept { return refused(worker::running()); }
  void ask_to_end(worker& w) noexcept { room_.ask_to_end(w); }
  template <frame_promise P>
  void await_suspend(std::coroutine_handle<P> h) noexcept {
    record& r = room_.make(*this);
    park(r, link_of(h), worker::running());
    home_.line_.push_back(r);
    ++home_.waiting_;
  }
  void await_resume() {
    if (std::exchange(woken_, wake_of::none) == wake_of::none) [[unlikely]]
      detail::throw_failure(canceled_error());
  }
  [[nodiscard]] result<void> await_result() noexcept {
    if (std::exchange(woken_, wake_of::none) == wake_of::none)
      return std::unexpected(canceled_error());
    return {};
  }

 private:
  friend class condition;
  condition& home_;
  wake_of woken_ = wake_of::none;
  detail::wait_room<record> room_;
};

inline condition::awaiter condition::wait(std::source_location where) noexcept {
  check_color(where);
  return awaiter(*this);
}

}  // namespace heddle
