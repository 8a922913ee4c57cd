// SPDX-License-Identifier: MIT
// Time and randomness as a driver gives them: the kernel's, or a simulated world's.
#pragma once

#include <cstdint>

#include "heddle/base/clock.hh"

namespace heddle {

/// Thread: the worker's.
class driver_clock {
 public:
  [[nodiscard]] virtual time_point now() noexcept = 0;
  /// Wall-clock seconds and nanoseconds since 1970 (Date headers, file times).
  [[nodiscard]] virtual nanoseconds wall_time() noexcept = 0;
  [[nodiscard]] virtual std::uint64_t random() noexcept = 0;

 protected:
  ~driver_clock() = default;
};

}  // namespace heddle
