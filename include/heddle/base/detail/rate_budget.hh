// SPDX-License-Identifier: MIT
// A bucket of tokens: limits acts of a peer that are fine in short bursts, but not for long.
//
// For the library itself; not for programs: it may change in any version.
#pragma once

#include <algorithm>
#include <cstdint>

#include "heddle/base/clock.hh"

namespace heddle {

/// Thread: one color.
class rate_budget {
 public:
  /// Allows `most` acts at once, and refills `per_second` acts each second.
  rate_budget(std::uint32_t most, std::uint32_t per_second) noexcept
      : left_(most), most_(most), per_second_(per_second) {}

  /// Takes one token; false if there is none.
  [[nodiscard]] bool take(time_point now) noexcept {
    if (left_ != 0) [[likely]] {
      --left_;
      if (left_ + 1 == most_) since_ = now;
      return true;
    }
    const auto seconds = std::chrono::duration<double>(now - since_).count();
    const double earned = std::min(seconds * per_second_, static_cast<double>(most_));
    if (earned < 1) return false;
    left_ = static_cast<std::uint32_t>(earned) - 1;
    since_ = now;
    return true;
  }

 private:
  std::uint32_t left_;
  std::uint32_t most_;
  std::uint32_t per_second_;
  time_point since_{};  // when the tokens were counted last
};

}  // namespace heddle
