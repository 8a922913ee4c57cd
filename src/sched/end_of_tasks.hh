// SPDX-License-Identifier: MIT
// All tasks of a runtime are cancelled and get drain_timeout to end: by drain(), and when a program
// can never go on.
#pragma once

#include "heddle/sched/runtime.hh"
#include "sched/runtime_parts.hh"

namespace heddle {

/// Construct it between two turns, while the other workers are stopped; call finish() so, too.
class runtime::end_of_tasks {
 public:
  explicit end_of_tasks(runtime& rt);
  /// Whether the loop must go on: a task of any color has not ended, or something is under way that
  /// may make another one, a message between two colors perhaps.
  [[nodiscard]] bool is_busy() noexcept;
  [[nodiscard]] bool in_time() const noexcept { return rt_.parts_->workers.first().w.now < end_; }
  /// Gives how many tasks are left. If none are, the runtime can be used again.
  std::size_t finish() {
    rt_.parts_->colors.draining = false;
    return rt_.reopen_roots();
  }

 private:
  [[nodiscard]] bool has_tasks() const noexcept;

  /// Ends a sleep when the time is over.
  struct alarm : timer_node {
    alarm() noexcept : timer_node([](timer_node&, worker&) noexcept {}) { for_worker = true; }
  };
  runtime& rt_;
  time_point end_;
  alarm alarm_;
  // The calls that were posted, and the preblock events that were fired, when the last task had
  // ended. Later ones do not count, because a call that posts itself again must not delay the end.
  bool tasks_ended_ = false;
  std::uint64_t calls_ = 0;
  std::uint64_t preblocks_ = 0;
};

}  // namespace heddle
