// SPDX-License-Identifier: MIT
// Hashes as profiles and plans write them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace heddle {

/// Sixteen digits.
[[nodiscard]] inline std::string hex(std::uint64_t value) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(value));
  return digits;
}

}  // namespace heddle
