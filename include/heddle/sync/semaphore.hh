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
/// Resumes: those next in line later, from the queue, never inside the release.
/// Owns: nothing; it must outlive its holds and those who wait.
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
  /// The event gets the permits; when it ends before, its place in line goes.
  void acquire(event<hold> done, std::uint32_t permits = 1,
               std::source_location where = std::source_location::current()) {
    acquire_units(permits, std::move(done), where);
  }
  /// An empty hold when that would mean waiting.
  [[nodiscard]] hold try_acquire(
      std::uint32_t permits = 1,
      std::source_location where = std::source_location::current()) noexcept {
    return try_acquire_units(permits, where);
  }
  /// Makes more permits than there were.
  void add(std::uint32_t permits,
           std::source_location where = std::source_location::current()) noexcept {
    add_units(permits, where);
  }

 private:
  static constexpr detail::one_color_kind kind{"a semaphore", detail::enter_or_transaction};
};

}  // namespace heddle
