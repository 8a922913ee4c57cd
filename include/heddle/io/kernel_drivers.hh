// SPDX-License-Identifier: MIT
// The drivers that use the kernel: io_uring, epoll and poll.
#pragma once

#include <memory>
#include <string_view>

#include "heddle/sched/driver.hh"

namespace heddle {

/// Makes the kernel's driver of this name for one worker; without a name the first usable one.
/// Fails: throws failure when the named one cannot run here, or when no driver has that name.
[[nodiscard]] std::unique_ptr<driver> make_kernel_driver(std::string_view wanted,
                                                         driver_place& place);

}  // namespace heddle
