// SPDX-License-Identifier: MIT
// Time as the runtime sees it: nanoseconds on a steady clock that the driver supplies, so that it
// is virtual under simulation. clock::now() is the current worker's time; it is defined by room
// core.
#pragma once

#include <chrono>
#include <cstdint>

namespace heddle {

using nanoseconds = std::chrono::nanoseconds;

/// The runtime's clock. Thread: workers (elsewhere it reads the machine's steady clock).
struct clock {
  using duration = nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<clock, duration>;
  static constexpr bool is_steady = true;

  /// The time at which the current turn of the worker began, or a fresh reading outside of a turn.
  static time_point now() noexcept;
};

using time_point = clock::time_point;

/// Later than every time that is ever reached.
inline constexpr time_point never = time_point::max();

/// now + span without overflow: a span too long to represent is `never`.
[[nodiscard]] constexpr time_point add_saturated(time_point from, nanoseconds span) noexcept {
  if (span > never - from) return never;
  return from + span;
}

}  // namespace heddle
