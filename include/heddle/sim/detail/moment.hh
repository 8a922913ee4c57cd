// SPDX-License-Identifier: MIT
// The moment at which a test records something, on the clock of the simulation that runs.
#pragma once

#include <optional>
#include <string_view>

#include "heddle/base/clock.hh"

namespace heddle::sim::detail {

/// Puts the text into the trace of the running simulation and gives the time since its start; zero
/// outside of one. Nothing if the process that calls was killed, because its code has no effect.
[[nodiscard]] std::optional<nanoseconds> moment_of(std::string_view text);

}  // namespace heddle::sim::detail
