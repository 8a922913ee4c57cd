// SPDX-License-Identifier: MIT
// Which colors can be looked at while some workers still run. Exact, without stopping them:
//
// - A color that is idle is held here, as a worker would hold it, until the look is over.
// - A color that is queued stays queued: a worker that takes it needs the lock of its queue, and
// all
//   those locks are held here. A worker that needs one spins meanwhile.
// - A color in the hands of a worker that runs is left out. Each worker names the color that it is
//   about to enter (seat::taken) before it has it, and the one that it has entered (seat::in_hand)
//   until it has left it.
//
// A color could pass from one hand through idle to another between two looks at the hands. But a
// worker that takes an idle color asks afterwards whether anybody looks (color_runner::hold_idle),
// and gives it back: by the one order of seq_cst its question comes after world_pause::begin().
#pragma once

#include <vector>

#include "sched/color_runner.hh"

namespace heddle {

/// Thread: one worker's, after world_pause::begin() has said that some run.
class quiet_colors {
 public:
  quiet_colors(worker_set& all, color_runner& colors);
  quiet_colors(const quiet_colors&) = delete;
  ~quiet_colors();

  /// By place; for wait_walk.
  [[nodiscard]] const std::vector<bool>& by_place() const noexcept { return quiet_; }
  /// Workers that run, but for the caller's.
  [[nodiscard]] const std::vector<seat*>& moving() const noexcept { return moving_; }

 private:
  [[nodiscard]] bool make_quiet(color_record& r) noexcept;
  [[nodiscard]] bool in_a_hand(const color_record& r) const noexcept;

  worker_set& all_;
  color_runner& colors_;
  std::vector<seat*> moving_;
  std::vector<bool> quiet_;
  color_list held_;
};

}  // namespace heddle
