// SPDX-License-Identifier: MIT
// Time and chance of a program that came from Draft.
#pragma once

#include <cstdint>

#include "heddle/draft/number.hh"
#include "heddle/sched/here.hh"

namespace heddle::from_draft {

/// Time since the machine started; virtual under the simulation.
[[nodiscard]] inline nanoseconds now() { return clock::now().time_since_epoch(); }

/// A number from 0 to limit - 1; a limit below 1 is a fault. Under the simulation the seed decides.
[[nodiscard]] inline std::int64_t random_below(
    std::int64_t limit, std::source_location where = std::source_location::current()) {
  if (limit < 1) fail_with(detail::bounds, where);
  return static_cast<std::int64_t>(driver_here().random() % static_cast<std::uint64_t>(limit));
}

}  // namespace heddle::from_draft
