// SPDX-License-Identifier: MIT
// Time and chance of a program that came from Draft.
#pragma once

#include <cstdint>

#include "heddle/draft/number.hh"

namespace heddle::from_draft {

/// Time since the machine started; virtual under the simulation.
[[nodiscard]] inline nanoseconds now() { return nanoseconds(heddle_time_now(this_worker())); }

/// A number from 0 to limit - 1; a limit below 1 is a fault. Under the simulation the seed decides.
[[nodiscard]] inline std::int64_t random_below(
    std::int64_t limit, std::source_location where = std::source_location::current()) {
  std::uint32_t bad = 0;
  const std::int64_t n = heddle_random_below(this_worker(), limit, &bad);
  if (bad != 0) fail_with(detail::bounds, where);
  return n;
}

}  // namespace heddle::from_draft
