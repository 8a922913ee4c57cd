// SPDX-License-Identifier: MIT
// The runtime inside another library's loop: one descriptor to watch, one call to make.
//
//   foreign_loop ours(rt);
//   watch(ours.descriptor(), readable, [&] { rearm(ours.step()); });   // functions of that loop
//   on_timer([&] { rearm(ours.step()); });                             // after the time by step()
//
// watched_descriptor.hh is the other direction.
#pragma once

#include "heddle/sched/runtime.hh"

namespace heddle {

/// Thread: the runtime's.
/// Owns: nothing; the runtime must outlive it.
/// Fails: making one throws failure(operation_not_supported) when the driver has no descriptor
///   (poll and the simulation have none: choose io_uring or epoll).
class foreign_loop {
 public:
  explicit foreign_loop(runtime& rt);

  /// Readable while there is something to do. It belongs to the runtime; only watch it.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Runs all ready work, and does not sleep. Gives how long the loop may sleep unless the
  /// descriptor becomes readable: zero if more is ready, nanoseconds::max() without a timer.
  /// Call it once after spawning from outside, so that the spawned tasks start.
  nanoseconds step();

 private:
  /// The most turns in one step, after which the foreign loop serves its other sources.
  static constexpr int turns_max = 16;
  runtime& runtime_;
  driver& driver_;
  int descriptor_;
};

}  // namespace heddle
