// SPDX-License-Identifier: MIT
// The driver of the worker that runs this thread, and of an operation.
#pragma once

#include "heddle/sched/driver.hh"
#include "heddle/sched/runtime.hh"

namespace heddle {

[[nodiscard]] inline driver& driver_here() noexcept { return *worker::here().io; }

/// The driver that has an operation, or had it last.
[[nodiscard]] inline driver& driver_of(const operation& op) noexcept {
  return runtime::here().driver_at(op.home);
}

}  // namespace heddle
