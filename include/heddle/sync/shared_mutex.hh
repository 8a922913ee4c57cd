// SPDX-License-Identifier: MIT
// shared_mutex: many readers or one writer, strictly in the order of asking: a writer that waits
// holds back later readers, and readers that stand next to each other enter together.
#pragma once

#include "heddle/sync/gate.hh"

namespace heddle {

/// Thread: one color.
/// Resumes: those next in line later, from the queue, never inside the release.
/// Owns: nothing; it must outlive its holds and those who wait.
/// Cancel: a waiter leaves the line and takes nothing; readers behind a writer that left enter.
///
///   auto reading = co_await table_lock.lock_shared();
///   auto writing = co_await table_lock.lock();
class shared_mutex : public gate {
 public:
  /// More readers than a program can have.
  static constexpr std::uint32_t readers_max = std::uint32_t{1} << 31;

  shared_mutex() noexcept : gate(readers_max) {}

  [[nodiscard]] awaiter lock() noexcept { return acquire_units(readers_max); }
  [[nodiscard]] awaiter lock_shared() noexcept { return acquire_units(1); }
  /// The event gets the hold; when it ends before, its place in line goes.
  void lock(event<hold> done) { acquire_units(readers_max, std::move(done)); }
  void lock_shared(event<hold> done) { acquire_units(1, std::move(done)); }
  /// An empty hold when that would mean waiting.
  [[nodiscard]] hold try_lock() noexcept { return try_acquire_units(readers_max); }
  [[nodiscard]] hold try_lock_shared() noexcept { return try_acquire_units(1); }

  [[nodiscard]] bool locked() const noexcept { return free_units() == 0; }
  [[nodiscard]] std::uint32_t readers() const noexcept {
    return locked() ? 0 : readers_max - free_units();
  }
};

}  // namespace heddle
