// SPDX-License-Identifier: MIT
// Hashes in the form of profiles and plans.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace heddle::detail {

/// Sixteen hexadecimal digits.
[[nodiscard]] inline std::string hex(std::uint64_t value) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(value));
  return digits;
}

}  // namespace heddle::detail
