// SPDX-License-Identifier: MIT
// Brings the tasks of the running color into the order of a task_policy. Frames become ready in
// worker::ready, as always. Before a frame runs, this class moves the tasks from there into the
// policy, and puts the policy's next one back. A marker in worker::ready divides frames that run
// next without asking the policy (a frame that another one handed over to) from those that became
// ready since. Messages from other colors are no tasks and run before the next task.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "heddle/core/worker.hh"
#include "heddle/sched/task_policy.hh"

namespace heddle::detail {

/// Thread: its worker's, or any other one while the worker is stopped. Between two colors it is
/// empty.
class task_order final : public ready_order {
 public:
  explicit task_order(std::unique_ptr<task_policy> p) noexcept : policy_(std::move(p)) {}

  /// Brings the frame that runs next to the front. False: there is none, and no marker is left.
  [[nodiscard]] bool choose(ready_queue& ready) noexcept;
  /// After the last frame of a batch: takes out a marker that has no tasks behind it.
  void tidy(ready_queue& ready) noexcept;
  /// Gives all frames back, the tasks in the policy's order, and takes out the marker.
  void give_back(ready_queue& ready) noexcept;
  /// Gives the policy's tasks back in front of those that became ready since, for code that looks
  /// for a frame in the queue while another frame runs.
  void settle(ready_queue& ready) noexcept override;

 private:
  [[nodiscard]] link marker() noexcept { return link_of(marker_); }
  /// Moves the frames behind the marker into the policy; messages go to `first`.
  void take(ready_queue& ready, frame_list& first) noexcept;
  /// Moves the frames in front of the marker to a list, and takes out the marker.
  void take_front(ready_queue& ready, frame_list& to) noexcept;
  /// Moves all tasks of the policy to a list, in its order.
  void pop_all(frame_list& to) noexcept;

  std::unique_ptr<task_policy> policy_;
  std::size_t left_ = 0;  ///< tasks in the policy
  frame marker_{};
  bool marked_ = false;  ///< the marker is in the queue
};

}  // namespace heddle::detail
