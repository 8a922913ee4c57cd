// SPDX-License-Identifier: MIT
// Compares two names step by step: a run of digits or one byte at a time.
#include "web/natural_order.hh"

#include <algorithm>
#include <compare>

namespace heddle::http {
namespace {

bool digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// Takes the digits off the front of `text`, without leading zeros.
std::string_view take_number(std::string_view& text) noexcept {
  const auto end = std::find_if_not(text.begin(), text.end(), &digit);
  std::string_view number(text.begin(), end);
  text.remove_prefix(number.size());
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

std::strong_ordering compare_numbers(std::string_view a, std::string_view b) noexcept {
  return a.size() != b.size() ? a.size() <=> b.size() : a <=> b;
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) noexcept {
  std::string_view x = a;
  std::string_view y = b;
  while (!x.empty() && !y.empty()) {
    if (digit(x.front()) && digit(y.front())) {
      const std::string_view left = take_number(x);
      if (const auto order = compare_numbers(left, take_number(y)); order != 0) return order < 0;
      continue;
    }
    const auto left = static_cast<unsigned char>(x.front());
    const auto right = static_cast<unsigned char>(y.front());
    if (left != right) return left < right;
    x.remove_prefix(1);
    y.remove_prefix(1);
  }
  if (x.empty() && y.empty()) return a < b;
  return x.empty();
}

}  // namespace heddle::http
