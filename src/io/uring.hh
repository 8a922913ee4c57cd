// SPDX-License-Identifier: MIT
// The io_uring driver, for those who make one: choose.cc and tests.
#pragma once

#include <memory>

#include "heddle/sched/driver.hh"

namespace heddle {

/// Makes a driver. Throws failure if the kernel refuses.
[[nodiscard]] std::unique_ptr<driver> make_uring_driver(driver_place& place);
/// Tries a small ring and says what works, or why not and what to do.
[[nodiscard]] driver_probe probe_uring();

}  // namespace heddle
