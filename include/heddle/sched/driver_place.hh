// SPDX-License-Identifier: MIT
// The worker for which a driver is made, and the limits of the driver.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "heddle/base/clock.hh"

namespace heddle {

class driver;
struct driver_common;

/// Limits of a driver; each has its option in runtime_options.
struct driver_options {
  std::uint32_t block_bytes = 4096;      ///< size of one receive block
  std::uint32_t block_count = 1024;      ///< blocks a worker; memory is touched as they are used
  std::uint32_t queue_entries = 1024;    ///< io_uring submission entries
  std::uint32_t pool_threads_max = 8;    ///< threads for calls that block (files under epoll)
  std::uint32_t lookup_threads_max = 8;  ///< threads for look-ups of names by the system's resolver
  std::uint32_t pool_queue_max = 65536;  ///< calls that may wait for one; more fail with EAGAIN
  nanoseconds pool_idle = std::chrono::seconds(10);  ///< an idle thread of the pool ends after it
  /// A call that waits for a thread longer than this is reported (blocking-calls-pile-up).
  nanoseconds pool_wait_report = std::chrono::seconds(1);
};

/// The worker that a driver is made for. A runtime makes one record, and gives it to the factory
/// once for each worker in turn.
struct driver_place {
  unsigned worker = 0;   ///< the worker's number, from 0
  unsigned workers = 1;  ///< how many the runtime has
  driver_options options = {};
  /// Shared by the kernel drivers of one runtime (the pool of threads for calls that block). The
  /// first of them makes it.
  std::shared_ptr<driver_common> common = {};
};

/// Makes the driver of one worker. A runtime whose first driver is simulated asks only once: its
/// workers share that driver. Thread: the one that builds the runtime.
using driver_factory = std::function<std::unique_ptr<driver>(driver_place&)>;

}  // namespace heddle
