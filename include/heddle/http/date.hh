// SPDX-License-Identifier: MIT
// HTTP dates: between text and seconds since 1970 in UTC. These functions read no clock; the caller
// passes the current time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace heddle::http {

inline constexpr std::size_t date_bytes = 29;

// Writes "Sun, 06 Nov 1994 08:49:37 GMT". Seconds outside the years 0 to 9999 are clamped to them.
void write_date(std::int64_t seconds, std::span<char, date_bytes> out);

// Reads the preferred form and both obsolete ones (RFC 9110 section 5.6.7). Gives nothing for other
// text or for a date that does not exist; the weekday must be right too. `now` resolves the
// two-digit years of the second form, which are never more than 50 years in the future.
std::optional<std::int64_t> parse_date(std::string_view text, std::int64_t now);

// The Date field of every answer, formatted once a second.
//
// Thread: one at a time (each worker has its own).  Owns: its text.
class date_line {
 public:
  // "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n" for the second `now`.
  std::string_view at(std::int64_t now) {
    if (now != second_) format(now);
    return {text_.data(), text_.size()};
  }

 private:
  void format(std::int64_t now);

  std::int64_t second_ = INT64_MIN;
  std::array<char, 6 + date_bytes + 2> text_{};
};

}  // namespace heddle::http
