// SPDX-License-Identifier: MIT
// Which handlers of which topics a build merges. Without a plan (the usual build) nothing here
// costs anything. `heddle optimize` writes a plan: a header of integer constants, which the build
// names in HEDDLE_BUS_PLAN.
#pragma once

#include <cstdint>

namespace heddle::detail {

/// A build without a plan.
struct no_plan {
  [[nodiscard]] static consteval int topic_of(std::uint64_t) { return -1; }
  [[nodiscard]] static consteval int number_of(std::uint64_t, int) { return -1; }
};

}  // namespace heddle::detail

#if defined(HEDDLE_BUS_PLAN)
#include HEDDLE_BUS_PLAN
#else
namespace heddle::detail {
using plan = no_plan;
}  // namespace heddle::detail
#endif
