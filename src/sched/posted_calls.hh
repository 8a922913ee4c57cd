// SPDX-License-Identifier: MIT
// Calls that are posted to a color: runtime::post(), try_post() and trigger(). A thread that is no
// worker may post; while runtime_options::posted_max calls wait, it waits too.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>

#include "sched/color_runner.hh"

namespace heddle {

/// Thread: any, except where a member says otherwise.
/// Owns: the calls that have not run.
class posted_calls {
 public:
  posted_calls(worker_set& all, color_runner& colors) noexcept : all_(all), colors_(colors) {}

  void post(std::uint32_t place, std::move_only_function<void()> f);
  /// As post(), but never waits: false if there is no room; then f was not taken.
  [[nodiscard]] bool try_post(std::uint32_t place, std::move_only_function<void()>& f);
  /// Makes the first worker check again whether anything can still come. Async-signal-safe.
  void look_again() noexcept;
  /// Whether something was posted, or look_again() was called, since the last run().
  [[nodiscard]] bool has_any() const noexcept { return has_any_.load(std::memory_order_acquire); }
  /// The number of calls that have been posted so far. Thread: any.
  [[nodiscard]] std::uint64_t posted() noexcept {
    const std::lock_guard hold(lock_);
    return posted_;
  }
  /// Whether the first `number` calls are in their colors, or have run. Thread: any.
  [[nodiscard]] bool brought(std::uint64_t number) noexcept {
    const std::lock_guard hold(lock_);
    return brought_ >= number;
  }
  /// Brings the calls to their colors. Thread: the first worker's, or of one that serves for it.
  void run();
  /// Drops the calls that drain() left: they are never made. Thread: the first worker's.
  void drop() noexcept;

 private:
  struct call_frame;
  [[nodiscard]] bool take_room(bool may_wait) noexcept;
  void queue(std::uint32_t place, std::move_only_function<void()>&& f);

  worker_set& all_;
  color_runner& colors_;
  std::atomic<bool> has_any_{false};
  std::atomic<std::size_t> waiting_{0};
  std::mutex lock_;
  frame_list calls_;  ///< guarded by lock_: call_frames
  std::uint64_t posted_ = 0;
  std::uint64_t brought_ = 0;
};

}  // namespace heddle
