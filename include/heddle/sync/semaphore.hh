// SPDX-License-Identifier: MIT
// semaphore: a number of permits, handed out in the order of the requests. A request for
// many is not overtaken by requests for few.
//
//   semaphore downloads(8);
//   auto permit = co_await downloads.acquire();       // given back at the end of the block
#pragma once

#include "heddle/sync/gate.hh"

namespace heddle {

/// Thread: one color.
/// Resumes: the next waiters in line later, from the queue, never inside the release.
/// Owns: nothing; it must outlive its holds and waiters.
/// Cancel: a waiter leaves the line and takes nothing.
class semaphore : public gate {
 public:
  explicit semaphore(std::uint32_t permits,
                     std::source_location made = std::source_location::current()) noexcept
      : gate(permits, kind, made) {}

  [[nodiscard("co_await it")]] awaiter acquire(
      std::uint32_t permits = 1,
      std::source_location where = std::source_location::current()) noexcept {
    check_units(permits);
    return acquire_units(permits, where);
  }
  /// Acquires for an event, which gets the permits. If the event ends before, it leaves the line.
  void acquire(event<hold> done, std::uint32_t permits = 1,
               std::source_location where = std::source_location::current()) {
    acquire_units(permits, std::move(done), where);
  }
  /// As acquire(), but never waits: an empty hold if it would have to.
  [[nodiscard]] hold try_acquire(
      std::uint32_t permits = 1,
      std::source_location where = std::source_location::current()) noexcept {
    return try_acquire_units(permits, where);
  }
  /// Raises the number of permits.
  void add(std::uint32_t permits,
           std::source_location where = std::source_location::current()) noexcept {
    add_units(permits, where);
  }

 private:
  static constexpr detail::one_color_kind kind{"a semaphore", detail::enter_or_transaction};
};

}  // namespace heddle
