// SPDX-License-Identifier: MIT
// The lenient date of cookies: tokens in any order (RFC 6265 section 5.1.1).
#include <chrono>
#include <optional>

#include "heddle/client/cookie_jar.hh"
#include "heddle/http/headers.hh"

namespace heddle::http {
namespace {

bool date_delimiter(char c) {
  const auto b = static_cast<unsigned char>(c);
  return b == 9 || (b >= 0x20 && b <= 0x2f) || (b >= 0x3b && b <= 0x40) ||
         (b >= 0x5b && b <= 0x60) || (b >= 0x7b && b <= 0x7e);
}

/// The number of `least` to `most` digits at the front; no digit may follow.
std::optional<int> number_at_front(std::string_view text, std::size_t least, std::size_t most) {
  std::size_t digits = 0;
  int number = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
    if (++digits > most) return std::nullopt;
    number = number * 10 + (text[digits - 1] - '0');
  }
  if (digits < least) return std::nullopt;
  return number;
}

struct date_fields {
  std::optional<int> day, month, year, second_of_day;
};

bool take_time(std::string_view token, date_fields& to) {
  int parts[3];
  for (int i = 0; i < 3; ++i) {
    const auto part = number_at_front(token, 1, 2);
    if (!part) return false;
    parts[i] = *part;
    token.remove_prefix(
        token[0] != 0 && token.size() > 1 && token[1] >= '0' && token[1] <= '9' ? 2 : 1);
    if (i == 2) break;
    if (token.empty() || token[0] != ':') return false;
    token.remove_prefix(1);
  }
  if (parts[0] > 23 || parts[1] > 59 || parts[2] > 59) return false;
  to.second_of_day = (parts[0] * 60 + parts[1]) * 60 + parts[2];
  return true;
}

bool take_month(std::string_view token, date_fields& to) {
  constexpr std::string_view names = "janfebmaraprmayjunjulaugsepoctnovdec";
  if (token.size() < 3) return false;
  for (int i = 0; i < 12; ++i) {
    if (!equal_ignoring_case(token.substr(0, 3), names.substr(static_cast<std::size_t>(i) * 3, 3)))
      continue;
    to.month = i + 1;
    return true;
  }
  return false;
}

}  // namespace

bool parse_cookie_date(std::string_view text, std::int64_t& seconds) {
  date_fields f;
  while (!text.empty()) {
    std::size_t size = 0;
    while (size < text.size() && !date_delimiter(text[size])) ++size;
    const std::string_view token = text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
    if (token.empty()) continue;
    if (!f.second_of_day && take_time(token, f)) continue;
    if (!f.day && (f.day = number_at_front(token, 1, 2))) continue;
    if (!f.month && take_month(token, f)) continue;
    if (!f.year) f.year = number_at_front(token, 2, 4);
  }
  if (!f.day || !f.month || !f.year || !f.second_of_day) return false;
  int year = *f.year;
  if (year >= 70 && year <= 99) year += 1900;
  if (year <= 69) year += 2000;
  if (year < 1601) return false;
  const std::chrono::year_month_day date(std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(*f.month)),
                                         std::chrono::day(static_cast<unsigned>(*f.day)));
  if (!date.ok()) return false;
  const auto day = std::chrono::sys_days(date).time_since_epoch();
  seconds = std::chrono::duration_cast<std::chrono::seconds>(day).count() + *f.second_of_day;
  return true;
}

}  // namespace heddle::http
