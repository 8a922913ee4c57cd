// SPDX-License-Identifier: MIT
// Threads for calls that block: file calls where the driver has no better way, names, and
// op_code::call. Threads start when work waits and none is idle, at most pool_threads_max, and end
// after ten idle seconds. A queued call can be taken back; a running one is waited for.
//
// State of an operation here: queued -> running -> finished (-> collected by the worker). The lock
// guards both lists and the counts; `finished_any_` lets the worker look without it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "heddle/sched/driver.hh"

namespace heddle {

class blocking_pool {
 public:
  /// `wake_fd` is an eventfd that ends the worker's sleep.
  blocking_pool(std::uint32_t threads_max, std::uint32_t queue_max, const int& wake_fd) noexcept
      : threads_max_(threads_max), queue_max_(queue_max), wake_fd_(wake_fd) {}
  ~blocking_pool() { end(); }

  /// Waits for the calls that run; queued ones are forgotten (their owners have been told).
  void end() noexcept;

  /// Queues the call. 0, or -EAGAIN when the queue is full or no thread can be made.
  [[nodiscard]] int submit(operation& op) noexcept;
  /// Takes a queued call back; false when it runs or has run.
  [[nodiscard]] bool take_back(operation& op) noexcept;
  /// Takes one queued call on a descriptor back; null when there is none.
  [[nodiscard]] operation* take_back_one(int fd) noexcept;
  /// A list, through driver_next, of what has finished.
  [[nodiscard]] operation* collect() noexcept;
  /// The result of a finished call.
  [[nodiscard]] static std::int64_t result_of(const operation& op) noexcept;

 private:
  void run() noexcept;
  void unlink(operation& op) noexcept;

  std::uint32_t threads_max_;
  std::uint32_t queue_max_;
  const int& wake_fd_;
  std::mutex lock_;
  std::condition_variable work_;
  operation* first_ = nullptr;
  operation* last_ = nullptr;
  std::uint32_t queued_ = 0;
  std::uint32_t threads_ = 0;
  std::uint32_t idle_ = 0;
  bool ending_ = false;
  operation* finished_ = nullptr;
  operation** finished_end_ = &finished_;
  std::atomic<bool> finished_any_{false};
  std::condition_variable gone_;
};

/// Makes the call that an operation describes, blocking; the result or -errno.
[[nodiscard]] std::int64_t perform_blocking(operation& op) noexcept;

}  // namespace heddle
