// SPDX-License-Identifier: MIT
// semaphore: a number of permits, handed out in the order of asking. Who asks for many is not
// passed by those who ask for few.
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
  explicit semaphore(std::uint32_t permits) noexcept : gate(permits) {}

  [[nodiscard]] awaiter acquire(std::uint32_t permits = 1) noexcept {
    return acquire_units(permits);
  }
  /// The event gets the permits; when it ends before, its place in line goes.
  void acquire(event<hold> done, std::uint32_t permits = 1) {
    acquire_units(permits, std::move(done));
  }
  /// An empty hold when that would mean waiting.
  [[nodiscard]] hold try_acquire(std::uint32_t permits = 1) noexcept {
    return try_acquire_units(permits);
  }
  /// Makes more permits than there were.
  void add(std::uint32_t permits) noexcept { add_units(permits); }
};

}  // namespace heddle
