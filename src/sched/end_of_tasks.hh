// SPDX-License-Identifier: MIT
// All tasks of a runtime are cancelled and get drain_timeout to end: by drain(), and when a program
// can never go on.
#pragma once

#include "heddle/sched/runtime.hh"
#include "sched/runtime_parts.hh"

namespace heddle {

/// Made between two turns, while the workers stand still; finish() too.
class runtime::end_of_tasks {
 public:
  explicit end_of_tasks(runtime& rt)
      : rt_(rt), end_(add_saturated(rt.io().now(), rt.options_.drain_timeout)) {
    rt.cancel_roots();
    rt.arm(rt.main_worker(), alarm_, end_);
  }
  /// Whether a task of any color has not ended.
  [[nodiscard]] bool has_tasks() const noexcept {
    seat& first = rt_.parts_->workers.first();
    // A color that stays held between two turns is counted only when it is left.
    if (first.held != nullptr) rt_.parts_->colors.count_root(*first.held);
    const worker& w = first.w;
    return rt_.parts_->colors.live_roots() != 0 ||
           (w.root_scope != nullptr && w.color != no_color && w.root_scope->live() != 0);
  }
  [[nodiscard]] bool in_time() const noexcept { return rt_.parts_->workers.first().w.now < end_; }
  /// Gives how many tasks are left. If none are, the runtime can be used again.
  std::size_t finish() {
    rt_.parts_->colors.draining = false;
    return rt_.reopen_roots();
  }

 private:
  /// Ends a sleep when the time is over.
  struct alarm : timer_node {
    alarm() noexcept : timer_node([](timer_node&, worker&) noexcept {}) { for_worker = true; }
  };
  runtime& rt_;
  time_point end_;
  alarm alarm_;
};

}  // namespace heddle
