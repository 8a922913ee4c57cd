// SPDX-License-Identifier: MIT
// Integers as decimal text: written two digits at a time, and read strictly.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "heddle/http/detail/charset.hh"

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

// Writes at `out`, which has room for decimal_bytes_max bytes; returns the number of bytes written.
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

// Reads decimal digits only. False for anything else; sets `overflow` for more than 64 bits.
inline bool read_decimal(std::string_view text, std::uint64_t& number, bool& overflow) {
  number = 0;
  overflow = false;
  if (text.empty()) return false;
  for (char c : text) {
    if (!is_digit(c)) return false;
    overflow |= __builtin_mul_overflow(number, std::uint64_t{10}, &number);
    overflow |= __builtin_add_overflow(number, static_cast<std::uint64_t>(c - '0'), &number);
  }
  // A length beyond a signed 64-bit number could overflow in a program's arithmetic.
  overflow |= number > static_cast<std::uint64_t>(INT64_MAX);
  return true;
}

}  // namespace heddle::http::detail
