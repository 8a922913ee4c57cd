// SPDX-License-Identifier: MIT
// The driver of the runtime that runs this thread.
#pragma once

#include "heddle/sched/driver.hh"
#include "heddle/sched/runtime.hh"

namespace heddle {

[[nodiscard]] inline driver& driver_here() noexcept { return runtime::here().io(); }

}  // namespace heddle
