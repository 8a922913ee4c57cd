// SPDX-License-Identifier: MIT
// Whether the world is simulated, for code that would ask the machine for what no driver has: the
// time zone, and names of interfaces. A simulation answers in one way on every machine.
#pragma once

#include <ctime>

#include "heddle/core/worker.hh"
#include "heddle/sched/driver.hh"

namespace heddle::detail {

/// Whether this thread's worker is in a simulated world; false without a worker. Thread: any.
[[nodiscard]] inline bool simulated_here() noexcept {
  const worker* const w = worker::current();
  return w != nullptr && w->io != nullptr && w->io->simulated();
}

/// The date and time of day in the time zone of this machine; in a simulated world in UTC.
/// Thread: any.
[[nodiscard]] std::tm local_time(std::time_t seconds) noexcept;

}  // namespace heddle::detail
