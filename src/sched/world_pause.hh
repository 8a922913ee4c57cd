// SPDX-License-Identifier: MIT
// How several workers are made to stop between two frames, so that one of them can look at
// everything, and how they are held at the end of a program.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "heddle/base/clock.hh"

namespace heddle {

/// Makes workers wait between two turns. Thread: any worker's, one at a time.
class world_pause {
 public:
  /// Whether a pause was asked for. seq_cst: see quiet_colors.hh
  [[nodiscard]] bool asked() const noexcept { return asked_.load(std::memory_order_seq_cst); }
  /// Returns when `count` workers have stopped; calls wake() until then. At a program's end no
  /// worker may stop in the middle of a frame. False: `patience` is over, and some workers still
  /// run.
  template <class Wake>
  bool begin(std::size_t count, bool at_end, nanoseconds patience, Wake&& wake) {
    const auto began = std::chrono::steady_clock::now();
    std::unique_lock hold(lock_);
    asked_.store(true, std::memory_order_seq_cst);
    at_end_ = at_end;
    if (at_end) changed_.notify_all();
    while (still_ + (at_end ? 0 : in_frame_) != count) {
      if (std::chrono::steady_clock::now() - began > patience) return false;
      wake();
      changed_.wait_for(hold, std::chrono::milliseconds(1));
    }
    return true;
  }
  void end() noexcept {
    const std::lock_guard hold(lock_);
    asked_.store(false, std::memory_order_relaxed);
    changed_.notify_all();
  }
  /// For a worker that is asked to stop: returns true after end(), or false if it must leave.
  bool wait(bool& still) noexcept {
    std::unique_lock hold(lock_);
    ++still_;
    still = true;
    changed_.notify_all();
    changed_.wait(hold, [this] { return !asked() || leaving_; });
    --still_;
    still = false;
    return !leaving_;
  }
  /// For a worker in the middle of a frame that wants to inspect all colors after the worker that
  /// does so now: returns true after end(), or false if the program ends.
  bool wait_in_frame(bool& still) noexcept {
    std::unique_lock hold(lock_);
    if (!asked()) return true;
    ++in_frame_;
    still = true;
    changed_.notify_all();
    changed_.wait(hold, [this] { return !asked() || at_end_; });
    --in_frame_;
    still = false;
    return !asked();
  }
  /// Calls look() while no worker can stop or go on.
  template <class Look>
  void look_who_is_still(Look&& look) {
    const std::lock_guard hold(lock_);
    look();
  }
  void leave() noexcept {
    const std::lock_guard hold(lock_);
    leaving_ = true;
    changed_.notify_all();
  }

  std::mutex one_at_a_time;

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::atomic<bool> asked_{true};  // workers begin stopped
  bool at_end_ = false;
  std::size_t still_ = 0;
  std::size_t in_frame_ = 0;  // workers that stopped in the middle of a frame
  bool leaving_ = false;
};

}  // namespace heddle
