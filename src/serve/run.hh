// SPDX-License-Identifier: MIT
// Runs the service of `heddle serve` and `heddle proxy` until it is stopped.
#pragma once

#include "serve/setting.hh"
#include "serve/setting_flags.hh"

namespace heddle::serve {

/// Runs the service and returns the exit code. The flags outlive the call; SIGHUP reads the other
/// sources again.
[[nodiscard]] int run_service(const setting_table& table, const setting_requests& flags);

}  // namespace heddle::serve
