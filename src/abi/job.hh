// SPDX-License-Identifier: MIT
// heddle_job: the end of a thread, and its result until it is taken.
#pragma once

#include <atomic>

#include "abi/waiters.hh"

/// Thread: any. Owns: the result, until it is joined. Counted: the thread and the holder.
struct heddle_job {
  heddle_job(bool several, std::size_t bytes, heddle_drop drop_it) noexcept
      : queue(several), size(bytes), drop_result(drop_it) {}

  [[nodiscard]] static heddle_job* make(heddle::worker& w, std::size_t size,
                                        heddle_drop drop) noexcept;
  /// Notes that the thread runs; gives its context, below `outer`. Thread: the thread's color.
  [[nodiscard]] heddle::context& begin(heddle::worker& w, heddle::context& outer) noexcept;
  /// Notes that the thread has ended. Thread: its color.
  void finish(heddle::worker& w, heddle_frame* f, std::int64_t status,
              std::size_t result_at) noexcept;
  /// Notes that there is no thread.
  void fail(std::int64_t status) noexcept {
    outcome = status;
    ended = true;
    count = 1;
  }
  void unref(heddle::worker& w) noexcept;
  [[nodiscard]] bool joined_later() const noexcept {
    return count.load(std::memory_order_relaxed) == 2;
  }
  [[nodiscard]] void* result() noexcept { return this + 1; }

  heddle::abi::waiters queue;
  std::size_t size;
  heddle_drop drop_result;
  heddle_scope* scope = nullptr;
  heddle::context* own = nullptr;  // the thread's context while it runs; only its color uses it
  std::uint32_t color = 0;
  std::atomic<std::uint32_t> count{2};
  std::int64_t outcome = 0;
  bool ended = false;
  bool has_result = false;
  bool cancel_asked = false;  // asked before the thread began
};
