// SPDX-License-Identifier: MIT
// Timers of colors: armed in the wheel of the worker that runs the color, fired in the color
// wherever it is by then.
#pragma once

#include "heddle/sched/detail/timer_wheel.hh"
#include "sched/color_runner.hh"

namespace heddle {

/// Thread: any worker's.
class color_timers {
 public:
  color_timers(worker_set& all, color_runner& colors) noexcept : all_(all), colors_(colors) {}

  void arm(worker& w, timer_node& node, time_point due) noexcept {
    seat& s = all_.of(w);
    node.color = node.for_worker ? no_color : w.color;
    if (all_.shared) return arm_shared(s, node, due);
    s.wheel.arm(node, due);
  }
  /// scheduler::arm_after(): the span counts from a reading of the clock before the next poll.
  void arm_after(worker& w, timer_node& node, nanoseconds span) noexcept {
    seat& s = all_.of(w);
    node.color = node.for_worker ? no_color : w.color;
    if (all_.shared) return arm_shared_after(s, node, span);
    s.wheel.arm_after(node, span);
  }
  /// Starts the spans that were armed since the last reading: they count from `now`. For one
  /// worker.
  static void settle(seat& s, time_point now) noexcept {
    if (s.wheel.has_unsettled()) [[unlikely]]
      s.wheel.settle(now);
  }
  /// For several workers. The node's color is running on this one.
  void disarm_shared(timer_node& node) noexcept;
  /// Fires the timers that are due in this worker's wheel.
  void expire(seat& s) noexcept;
  [[gnu::noinline]] void expire_shared(seat& of, seat& by) noexcept;
  /// When the next timer of this worker is due; never if none.
  [[nodiscard]] time_point next_due(seat& s) noexcept;

 private:
  [[gnu::noinline]] void arm_shared(seat& s, timer_node& node, time_point due) noexcept;
  [[gnu::noinline]] void arm_shared_after(seat& s, timer_node& node, nanoseconds span) noexcept;
  template <class Arm>
  void arm_shared_by(seat& s, timer_node& node, Arm arm) noexcept;
  void fire(timer_node& node, worker& w) noexcept;

  worker_set& all_;
  color_runner& colors_;
};

}  // namespace heddle
