// SPDX-License-Identifier: MIT
// Sequence numbers of TCP: 32 bits that wrap. Two of them are compared by their distance, which
// must be under 2^31 (RFC 9293 section 3.4).
#pragma once

#include <cstdint>

namespace heddle::tcp {

using sequence = std::uint32_t;

[[nodiscard]] constexpr bool before(sequence a, sequence b) noexcept {
  return static_cast<std::int32_t>(a - b) < 0;
}
[[nodiscard]] constexpr bool at_most(sequence a, sequence b) noexcept { return !before(b, a); }
[[nodiscard]] constexpr sequence later(sequence a, sequence b) noexcept {
  return before(a, b) ? b : a;
}
[[nodiscard]] constexpr sequence earlier(sequence a, sequence b) noexcept {
  return before(a, b) ? a : b;
}

/// Microseconds on a clock that only goes forward. The stack reads no clock: each call that needs
/// the time gets it, so that it is virtual in tests.
using instant = std::int64_t;

inline constexpr instant never_due = INT64_MAX;

}  // namespace heddle::tcp
