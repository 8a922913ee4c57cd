// SPDX-License-Identifier: MIT
// Texts that are compared without regard to case: names of DNS, words and settings of SQL.
#pragma once

#include <string>

namespace heddle::fakes::detail {

[[nodiscard]] constexpr char small_letter(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// The text with the letters A to Z made small; other bytes stay.
[[nodiscard]] inline std::string small_letters(std::string text) {
  for (char& c : text) c = small_letter(c);
  return text;
}

}  // namespace heddle::fakes::detail
