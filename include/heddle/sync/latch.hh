// SPDX-License-Identifier: MIT
// latch: a count that goes down once; all waiting functions go on when it is zero.
//
//   latch ready(3);
//   s.spawn(warm_up(ready));          // calls ready.count_down()
//   co_await ready.wait();
#pragma once

#include "heddle/sync/condition.hh"

namespace heddle {

/// Thread: one color, the first that uses it; a use in another is reported (wrong-color).
/// Resumes: waiters later, from the queue, in the order in which they came.
/// Owns: nothing; it must outlive its waiters.
/// Cancel: a waiter leaves, and the count stays.
class latch {
 public:
  explicit latch(std::size_t count,
                 std::source_location made = std::source_location::current()) noexcept
      : count_(count), zero_(kind, made) {}

  void count_down(std::size_t by = 1,
                  std::source_location where = std::source_location::current()) noexcept {
    zero_.check_color(where);
    HEDDLE_ASSERT(by <= count_, "a latch is counted down below zero");
    count_ -= by;
    if (count_ == 0) zero_.notify_all(where);
  }
  [[nodiscard]] bool done() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  class [[nodiscard("co_await it")]] awaiter : public condition::awaiter {
   public:
    explicit awaiter(latch& home) noexcept : condition::awaiter(home.zero_), home_(home) {}
    [[nodiscard]] bool await_ready() noexcept {
      if (refused(worker::running())) return true;
      passed_ = home_.done() && commit();
      return passed_;
    }
    void await_resume() {
      if (!passed_) condition::awaiter::await_resume();
    }
    [[nodiscard]] result<void> await_result() noexcept {
      return passed_ ? result<void>() : condition::awaiter::await_result();
    }

   private:
    latch& home_;
    bool passed_ = false;
  };
  /// Waits until the count is zero; goes on at once if it is.
  [[nodiscard("co_await it")]] awaiter wait(
      std::source_location where = std::source_location::current()) noexcept {
    zero_.check_color(where);
    return awaiter(*this);
  }
  [[nodiscard]] awaiter arrive_and_wait(
      std::source_location where = std::source_location::current()) noexcept {
    count_down(1, where);
    return wait(where);
  }

 private:
  static constexpr detail::one_color_kind kind{"a latch", detail::enter_or_transaction};
  std::size_t count_;
  condition zero_;
};

}  // namespace heddle
