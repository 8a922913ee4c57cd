// SPDX-License-Identifier: MIT
// barrier: a fixed number of functions meet again and again; all go on when the last has come.
//
//   const bool last = co_await b.arrive();    // the last of them to come gets true
#pragma once

#include "heddle/sync/condition.hh"

namespace heddle {

/// Thread: one color, the first that uses it; a use in another is reported (wrong-color).
/// Resumes: the waiters later, from the queue; the last to arrive goes on at once.
/// Owns: nothing; it must outlive its waiters.
/// Cancel: a waiter leaves, and its arrival is taken back; the others wait for another arrival.
class barrier {
 public:
  explicit barrier(std::size_t parties,
                   std::source_location made = std::source_location::current()) noexcept
      : parties_(parties), all_here_(kind, made) {
    HEDDLE_ASSERT(parties > 0, "a barrier needs at least one party");
  }

  class [[nodiscard("co_await it")]] awaiter : public condition::awaiter {
   public:
    explicit awaiter(barrier& home) noexcept : condition::awaiter(home.all_here_), home_(home) {}
    [[nodiscard]] bool await_ready() noexcept {
      if (refused(worker::running())) return true;
      condition& here = home_.all_here_;
      if (here.waiting() + 1 < home_.parties_ || here.waiting_open() + 1 < home_.parties_)
        return false;
      last_ = commit();
      home_.next_phase();
      return true;
    }
    /// Whether this function was the last to arrive.
    [[nodiscard]] bool await_resume() {
      if (!last_) condition::awaiter::await_resume();
      return last_;
    }
    [[nodiscard]] result<bool> await_result() noexcept {
      if (last_) return true;
      if (auto woken = condition::awaiter::await_result(); !woken)
        return std::unexpected(woken.error());
      return false;
    }

   private:
    barrier& home_;
    bool last_ = false;
  };
  [[nodiscard]] awaiter arrive(
      std::source_location where = std::source_location::current()) noexcept {
    all_here_.check_color(where);
    return awaiter(*this);
  }

  /// Takes one party away; waiters may go on because of it.
  void leave(std::source_location where = std::source_location::current()) noexcept {
    all_here_.check_color(where);
    HEDDLE_ASSERT(parties_ > 0, "more parties leave a barrier than there were");
    --parties_;
    const std::size_t here = all_here_.waiting_open();
    if (here > 0 && here >= parties_) next_phase();
  }
  [[nodiscard]] std::size_t phase() const noexcept { return phase_; }

 private:
  static constexpr detail::one_color_kind kind{"a barrier", detail::enter_or_transaction};
  void next_phase() noexcept {
    ++phase_;
    all_here_.notify_all();
  }
  std::size_t parties_;
  std::size_t phase_ = 0;
  condition all_here_;
};

}  // namespace heddle
