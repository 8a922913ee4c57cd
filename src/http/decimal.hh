// SPDX-License-Identifier: MIT
// Whole numbers as decimal text, two digits at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace heddle::http::detail {

inline constexpr std::size_t decimal_bytes_max = 20;

inline constexpr std::array<char, 200> digit_pairs = [] {
  std::array<char, 200> pairs{};
  for (unsigned i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

// Writes at `out`, which has room for decimal_bytes_max bytes; returns how many were written.
inline std::size_t write_decimal(char* out, std::uint64_t number) {
  char text[decimal_bytes_max];
  std::size_t at = decimal_bytes_max;
  while (number >= 100) {
    at -= 2;
    std::memcpy(text + at, digit_pairs.data() + 2 * (number % 100), 2);
    number /= 100;
  }
  if (number >= 10) {
    at -= 2;
    std::memcpy(text + at, digit_pairs.data() + 2 * number, 2);
  } else {
    text[--at] = static_cast<char>('0' + number);
  }
  std::memcpy(out, text + at, decimal_bytes_max - at);
  return decimal_bytes_max - at;
}

}  // namespace heddle::http::detail
