// SPDX-License-Identifier: MIT
// Notices when calls pile up in the blocking pool: a timer, armed only while calls wait for a
// thread, that reports the one that has waited longest. It reports again each time that this wait
// has doubled, so a pool that is stuck for an hour costs twelve reports.
#pragma once

#include "heddle/core/timer.hh"
#include "io/blocking_pool.hh"

namespace heddle {

/// Thread: the worker's.
class pool_watch : timer_node {
 public:
  explicit pool_watch(nanoseconds limit) noexcept
      : timer_node(&look), limit_(limit), next_limit_(limit) {
    for_worker = true;
  }

  /// Called when a call of this worker was queued in its pool.
  void queued(worker& w, blocking_pool& pool) noexcept;
  /// Called when calls have finished or were taken back: if none waits, stops the timer.
  void settle(worker& w) noexcept;

 private:
  static void look(timer_node& t, worker& w) noexcept;

  blocking_pool* pool_ = nullptr;
  nanoseconds limit_;
  nanoseconds next_limit_;
  // Not armed(): that looks at links, which another worker that takes timers from this worker's
  // wheel may change meanwhile.
  bool watching_ = false;
};

}  // namespace heddle
