// SPDX-License-Identifier: MIT
// The parking of workers: when one goes to sleep in its driver, which is woken when work comes, and
// when all of them sleep with nothing that could still come. parking.hh has the states and the
// legal moves; this is the part of the runtime that makes the moves, under the lock of a worker's
// queue.
#pragma once

#include "sched/parking.hh"
#include "sched/worker_set.hh"

namespace heddle {

/// Thread: any worker's; the caller holds no lock of a queue, except for call().
class worker_parking {
 public:
  explicit worker_parking(worker_set& all) noexcept : all_(all) {}

  [[nodiscard]] bool park(seat& s, bool no_timer, bool looks_again) noexcept;
  void unpark(seat& s) noexcept;
  /// The caller holds the lock of the worker's queue. True: the worker was parked, and the caller
  /// must wake its driver.
  [[nodiscard]] bool call(seat& s, bool pushed = false) noexcept {
    return places_.call(s.queue.spot, pushed);
  }
  void wake_one(seat& from) noexcept;
  [[nodiscard]] bool spin_for_work(seat& s) noexcept;
  [[nodiscard]] static std::uint64_t sleep_of(seat& s) noexcept;
  /// Whether all workers sleep, and none has a timer. Then `pending` is the number of operations
  /// that their drivers hold together.
  [[nodiscard]] bool all_at_rest(std::size_t& pending) const noexcept;
  /// How many workers are not running.
  [[nodiscard]] std::size_t away() const noexcept { return places_.away(); }
  /// How many workers look for work only when they are woken.
  [[nodiscard]] std::size_t asleep() const noexcept { return places_.asleep(); }

 private:
  worker_set& all_;
  parking places_;
};

}  // namespace heddle
