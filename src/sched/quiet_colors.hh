// SPDX-License-Identifier: MIT
// Finds the colors that can be read while some workers still run, exactly and without stopping
// them:
//
// - A color that is idle is held here, as a worker would hold it, until all are read.
// - A color that is queued stays queued: a worker that takes it needs the lock of its queue, and
//   all those locks are held here. A worker that needs one spins meanwhile.
// - A color in the hands of a worker that runs is left out. Each worker names the color that it is
//   about to enter (seat::taken) before it has it, and the one that it has entered (seat::in_hand)
//   until it has left it.
//
// A color could become idle and pass to another worker between two reads of `taken` and `in_hand`.
// But a worker that takes an idle color asks afterwards whether a pause was asked for
// (color_runner::hold_idle), and then gives the color back: by the one order of seq_cst its
// question comes after world_pause::begin().
#pragma once

#include <vector>

#include "sched/color_runner.hh"

namespace heddle {

/// Thread: one worker's, after world_pause::begin() has said that some workers run.
class quiet_colors {
 public:
  quiet_colors(worker_set& all, color_runner& colors);
  quiet_colors(const quiet_colors&) = delete;
  ~quiet_colors();

  /// For each place, whether its color can be read; for wait_walk.
  [[nodiscard]] const std::vector<bool>& by_place() const noexcept { return quiet_; }
  /// The workers that run, except the caller.
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
