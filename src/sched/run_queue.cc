// SPDX-License-Identifier: MIT
// Waiting for the short lock.
#include "sched/run_queue.hh"

#include <sched.h>

namespace heddle {

void short_lock::wait() noexcept {
  // The holder of the lock is nearly done, unless the kernel took its core away.
  for (int i = 0; i < 128; ++i) {
    if (!locked_.load(std::memory_order_relaxed)) return;
    pause();
  }
  ::sched_yield();
}

}  // namespace heddle
