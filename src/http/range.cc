// SPDX-License-Identifier: MIT
// Range fields. A range that begins after the end is dropped; if none is left, the answer is 416. A
// field that asks for the same bytes again and again gets the whole file once.
#include "heddle/http/range.hh"

#include <algorithm>

#include "heddle/http/detail/charset.hh"
#include "heddle/http/headers.hh"
#include "http/decimal.hh"

namespace heddle::http {
namespace {

// Reads digits only. A number above 64 bits becomes the largest one, which is after any end.
bool number_of(std::string_view text, std::uint64_t& number) {
  number = 0;
  if (text.empty()) return false;
  bool overflow = false;
  for (char c : text) {
    if (!detail::is_digit(c)) return false;
    overflow |= __builtin_mul_overflow(number, std::uint64_t{10}, &number);
    overflow |= __builtin_add_overflow(number, static_cast<std::uint64_t>(c - '0'), &number);
  }
  if (overflow) number = UINT64_MAX;
  return true;
}

enum class verdict { malformed, outside, inside };

verdict read(std::string_view text, std::uint64_t size, byte_range& range) {
  std::size_t dash = text.find('-');
  if (dash == text.npos) return verdict::malformed;
  std::string_view from = text.substr(0, dash);
  std::string_view to = text.substr(dash + 1);
  std::uint64_t first = 0;
  std::uint64_t last = UINT64_MAX;
  if (from.empty()) {  // a suffix: the last so many bytes
    std::uint64_t length;
    if (!number_of(to, length)) return verdict::malformed;
    if (length == 0 || size == 0) return verdict::outside;
    range = {size - std::min(length, size), size - 1};
    return verdict::inside;
  }
  if (!number_of(from, first)) return verdict::malformed;
  if (!to.empty() && (!number_of(to, last) || last < first)) return verdict::malformed;
  if (first >= size) return verdict::outside;
  range = {first, std::min(last, size - 1)};
  return verdict::inside;
}

}  // namespace

range_set parse_ranges(std::string_view value, std::uint64_t size) {
  range_set set;
  std::size_t equals = value.find('=');
  if (equals == value.npos || !equal_ignoring_case(value.substr(0, equals), "bytes")) return set;
  std::string_view rest = value.substr(equals + 1);
  std::string_view element;
  std::size_t asked = 0;
  std::size_t inside = 0;
  while (take_list_element(rest, element)) {
    byte_range range;
    verdict what = read(element, size, range);
    if (what == verdict::malformed || ++asked > range_count_max) return set;
    if (what == verdict::inside) set.ranges_[inside++] = range;
  }
  if (asked == 0) return set;
  // Two overlaps occur in honest requests, where a download is resumed. More do not (RFC 9110
  // section 14.2 lets a server ignore such a field).
  std::size_t overlaps = 0;
  for (std::size_t i = 0; i < inside; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const byte_range& a = set.ranges_[i];
      const byte_range& b = set.ranges_[j];
      overlaps += a.first <= b.last && b.first <= a.last;
    }
  }
  if (overlaps > 2) return set;
  set.count_ = inside;
  set.answer_ = inside == 0   ? range_answer::unsatisfiable
                : inside == 1 ? range_answer::single
                              : range_answer::multiple;
  return set;
}

void content_range::add(std::string_view text) {
  std::memcpy(text_.data() + length_, text.data(), text.size());
  length_ = static_cast<std::uint8_t>(length_ + text.size());
}

void content_range::add(std::uint64_t number) {
  length_ =
      static_cast<std::uint8_t>(length_ + detail::write_decimal(text_.data() + length_, number));
}

content_range::content_range(byte_range range, std::uint64_t size) {
  add("bytes ");
  add(range.first);
  add("-");
  add(range.last);
  add("/");
  add(size);
}

content_range content_range::unsatisfied(std::uint64_t size) {
  content_range result;
  result.add("bytes */");
  result.add(size);
  return result;
}

}  // namespace heddle::http
