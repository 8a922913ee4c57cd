// SPDX-License-Identifier: MIT
// The runtime's time: nanoseconds on a steady clock that the driver supplies, so that time is
// virtual under simulation. Room core defines clock::now(), the current worker's time.
#pragma once

#include <chrono>
#include <cstdint>

namespace heddle {

using nanoseconds = std::chrono::nanoseconds;

/// The runtime's clock. Thread: workers; other threads read the machine's steady clock.
struct clock {
  using duration = nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<clock, duration>;
  static constexpr bool is_steady = true;

  /// The time at which the worker's current turn began, or a fresh reading outside of a turn.
  static time_point now() noexcept;
};

using time_point = clock::time_point;

/// A time that is never reached.
inline constexpr time_point never = time_point::max();

/// from + span without overflow; a span that is too long gives `never`.
[[nodiscard]] constexpr time_point add_saturated(time_point from, nanoseconds span) noexcept {
  if (span > never - from) return never;
  return from + span;
}

}  // namespace heddle
