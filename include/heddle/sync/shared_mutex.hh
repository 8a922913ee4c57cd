// SPDX-License-Identifier: MIT
// shared_mutex: many readers or one writer, strictly in the order of asking: a writer that waits
// holds back later readers, and readers that are neighbors in the line enter together.
#pragma once

#include "heddle/sync/gate.hh"

namespace heddle {

/// Thread: one color.
/// Resumes: the next waiters in line later, from the queue, never inside the release.
/// Owns: nothing; it must outlive its holds and waiters.
/// Cancel: a waiter leaves the line and takes nothing; readers behind a writer that left enter.
///
///   auto reading = co_await table_lock.lock_shared();
///   auto writing = co_await table_lock.lock();
class shared_mutex : public gate {
 public:
  /// More readers than a program can have.
  static constexpr std::uint32_t readers_max = std::uint32_t{1} << 31;

  explicit shared_mutex(std::source_location made = std::source_location::current()) noexcept
      : gate(readers_max, kind, made) {}

  [[nodiscard("co_await it")]] awaiter lock(
      std::source_location where = std::source_location::current()) noexcept {
    return acquire_units(readers_max, where);
  }
  [[nodiscard]] awaiter lock_shared(
      std::source_location where = std::source_location::current()) noexcept {
    return acquire_units(1, where);
  }
  /// Locks for an event, which gets the hold. If the event ends before, it leaves the line.
  void lock(event<hold> done, std::source_location where = std::source_location::current()) {
    acquire_units(readers_max, std::move(done), where);
  }
  void lock_shared(event<hold> done, std::source_location where = std::source_location::current()) {
    acquire_units(1, std::move(done), where);
  }
  /// As lock(), but never waits: an empty hold if it would have to.
  [[nodiscard]] hold try_lock(
      std::source_location where = std::source_location::current()) noexcept {
    return try_acquire_units(readers_max, where);
  }
  [[nodiscard]] hold try_lock_shared(
      std::source_location where = std::source_location::current()) noexcept {
    return try_acquire_units(1, where);
  }

  [[nodiscard]] bool locked() const noexcept { return free_units() == 0; }
  [[nodiscard]] std::uint32_t readers() const noexcept {
    return locked() ? 0 : readers_max - free_units();
  }

 private:
  static constexpr detail::one_color_kind kind{"a shared mutex", detail::enter_or_transaction};
};

}  // namespace heddle
