// SPDX-License-Identifier: MIT
// mutex: one holder at a time, in the order of asking. Functions of one color need it only across
// waits: between two waits no other function of the color runs.
//
//   auto held = co_await m.lock();                        // given back at the end of the block
//   auto late = co_await as_expected(with_timeout(m.lock(), 1s));
#pragma once

#include "heddle/sync/gate.hh"

namespace heddle {

/// Thread: one color.
/// Resumes: the next in line later, from the queue, never inside the release.
/// Owns: nothing; it must outlive its holds and waiters.
/// Cancel: a waiter leaves the line and takes nothing; a hold that was given already is yours.
class mutex : public gate {
 public:
  explicit mutex(std::source_location made = std::source_location::current()) noexcept
      : gate(1, kind, made) {}

  [[nodiscard("co_await it")]] awaiter lock(
      std::source_location where = std::source_location::current()) noexcept {
    return acquire_units(1, where);
  }
  /// Locks for an event, which gets the hold. If the event ends before, it leaves the line.
  void lock(event<hold> done, std::source_location where = std::source_location::current()) {
    acquire_units(1, std::move(done), where);
  }
  /// As lock(), but never waits: an empty hold if another function has the lock or waits for it.
  [[nodiscard]] hold try_lock(
      std::source_location where = std::source_location::current()) noexcept {
    return try_acquire_units(1, where);
  }
  [[nodiscard]] bool locked() const noexcept { return free_units() == 0; }

 private:
  static constexpr detail::one_color_kind kind{"a mutex", detail::enter_or_transaction};
};

}  // namespace heddle
