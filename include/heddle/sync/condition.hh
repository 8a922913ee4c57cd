// SPDX-License-Identifier: MIT
// condition: functions wait until somebody says that it is worth looking again. Functions of one
// color may test and wait without a lock, because nothing runs in between; with a mutex held across
// waits, wait(held) gives it up meanwhile.
//
//   while (queue.empty()) co_await not_empty.wait();
//   while (!ready) co_await changed.wait(held);
#pragma once

#include "heddle/core/choice.hh"
#include "heddle/core/promise.hh"
#include "heddle/core/task.hh"
#include "heddle/sync/mutex.hh"

namespace heddle {

/// Thread: one color.
/// Resumes: waiters later, from the queue, in the order in which they came.
/// Owns: nothing; it must outlive those who wait.
/// Cancel: a waiter leaves; a notification that had reached it already counts as a wake.
class condition {
 public:
  condition() noexcept = default;
  condition(const condition&) = delete;
  condition& operator=(const condition&) = delete;
  ~condition() {
    HEDDLE_ASSERT(line_.empty(), "a condition ends while functions wait on it; end them first");
  }

  class awaiter;
  /// Waits for the next notification that is for this one. Nobody is woken without one.
  [[nodiscard]] awaiter wait() noexcept;
  /// The same, with the lock given up meanwhile. It is held again afterwards, however the wait
  /// ends.
  [[nodiscard]] task<> wait(mutex::hold& held);

  /// Wakes the one that waits longest; false when nobody does.
  bool notify_one() noexcept;
  /// Wakes all that wait now; returns how many.
  std::size_t notify_all() noexcept;
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }
  /// The same without those whose choice was made elsewhere. Linear.
  [[nodiscard]] std::size_t waiting_open() noexcept;

 private:
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
  /// Whom a notification was meant for. One that was for a single function is passed on where that
  /// function is ended before it runs.
  enum class wake_of : std::uint8_t { none, one, all };
  bool notify_first(wake_of how) noexcept;

  list<place> line_;
  std::size_t waiting_ = 0;
};

class [[nodiscard("co_await it")]] condition::awaiter : public choosable {
 public:
  explicit awaiter(condition& home) noexcept : home_(home) {}
  awaiter(const awaiter& other) noexcept : awaiter(other.home_) {}  // before it waits
  ~awaiter() {
    if (woken_ == wake_of::one) [[unlikely]]
      home_.notify_one();  // its function was ended between the wake and the run
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

inline condition::awaiter condition::wait() noexcept { return awaiter(*this); }

}  // namespace heddle
