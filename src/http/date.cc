// SPDX-License-Identifier: MIT
// Integer calendar arithmetic. Years begin in March, so that the leap day is the last day of its
// year; eras are 400 years long and all have the same number of days.
#include "heddle/http/date.hh"

#include <algorithm>
#include <cstring>

#include "heddle/http/detail/charset.hh"

namespace heddle::http {
namespace {

constexpr std::string_view weekdays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                         "Thursday", "Friday", "Saturday"};
constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
constexpr std::int64_t day_seconds = 86400;
constexpr std::int64_t era_days = 146097;
constexpr std::int64_t seconds_min = -62167219200;  // 0000-01-01 00:00:00
constexpr std::int64_t seconds_max = 253402300799;  // 9999-12-31 23:59:59

struct calendar_day {
  int year;
  int month;  // 1 to 12
  int day;
};

// Days from 1970-01-01 to a date.
constexpr std::int64_t days_of(calendar_day date) {
  std::int64_t year = date.month <= 2 ? date.year - 1 : date.year;
  std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  std::int64_t year_of_era = year - era * 400;
  std::int64_t month_from_march = (date.month + 9) % 12;
  std::int64_t day_of_year = (153 * month_from_march + 2) / 5 + date.day - 1;
  std::int64_t leap_days = year_of_era / 4 - year_of_era / 100;
  return era * era_days + year_of_era * 365 + leap_days + day_of_year - 719468;
}

constexpr calendar_day day_of(std::int64_t days) {
  std::int64_t from_march = days + 719468;
  std::int64_t era = (from_march >= 0 ? from_march : from_march - era_days + 1) / era_days;
  std::int64_t day = from_march - era * era_days;
  std::int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
  std::int64_t day_of_year = day - (365 * year + year / 4 - year / 100);
  std::int64_t month = (5 * day_of_year + 2) / 153;
  int month_from_january = static_cast<int>(month < 10 ? month + 3 : month - 9);
  return {static_cast<int>(year + era * 400) + (month_from_january <= 2), month_from_january,
          static_cast<int>(day_of_year - (153 * month + 2) / 5 + 1)};
}

constexpr int weekday_of(std::int64_t days) {
  return static_cast<int>(((days % 7) + 11) % 7);  // 1970-01-01 was a Thursday
}

static_assert(days_of({1970, 1, 1}) == 0 && weekday_of(0) == 4);
static_assert(days_of({1994, 11, 6}) == 9075 && weekday_of(9075) == 0);

void put(char* out, int number, int digits) {
  while (digits-- > 0) {
    out[digits] = static_cast<char>('0' + number % 10);
    number /= 10;
  }
}

// Takes parts off the front of a text. After the first mismatch, all further parts mismatch.
struct reader {
  std::string_view rest;
  bool fits = true;

  void literal(std::string_view text) {
    fits = fits && rest.starts_with(text);
    if (fits) rest.remove_prefix(text.size());
  }
  int number(std::size_t digits) {
    fits = fits && rest.size() >= digits;
    int value = 0;
    for (std::size_t i = 0; fits && i < digits; ++i) {
      fits = detail::is_digit(rest[i]);
      value = value * 10 + (rest[i] - '0');
    }
    if (fits) rest.remove_prefix(digits);
    return value;
  }
  int month() {
    std::size_t at = fits && rest.size() >= 3 ? months.find(rest.substr(0, 3)) : months.npos;
    fits = fits && at != months.npos && at % 3 == 0;
    if (fits) rest.remove_prefix(3);
    return static_cast<int>(at / 3) + 1;
  }
  int weekday(bool whole) {
    for (int i = 0; fits && i < 7; ++i) {
      std::string_view name = whole ? weekdays[i] : weekdays[i].substr(0, 3);
      if (rest.starts_with(name)) {
        rest.remove_prefix(name.size());
        return i;
      }
    }
    fits = false;
    return 0;
  }
  int time() {
    int hour = number(2);
    literal(":");
    int minute = number(2);
    literal(":");
    int second = number(2);
    // A leap second is valid; it counts as the second before it.
    fits = fits && hour < 24 && minute < 60 && second <= 60;
    return hour * 3600 + minute * 60 + std::min(second, 59);
  }
};

}  // namespace

void write_date(std::int64_t seconds, std::span<char, date_bytes> out) {
  seconds = std::clamp(seconds, seconds_min, seconds_max);
  std::int64_t days = seconds / day_seconds;
  int rest = static_cast<int>(seconds % day_seconds);
  if (rest < 0) {
    rest += day_seconds;
    days -= 1;
  }
  calendar_day date = day_of(days);
  char* p = out.data();
  std::memcpy(p, "day, 00 Mon 0000 00:00:00 GMT", date_bytes);
  std::memcpy(p, weekdays[weekday_of(days)].data(), 3);
  put(p + 5, date.day, 2);
  std::memcpy(p + 8, months.data() + 3 * (date.month - 1), 3);
  put(p + 12, date.year, 4);
  put(p + 17, rest / 3600, 2);
  put(p + 20, rest / 60 % 60, 2);
  put(p + 23, rest % 60, 2);
}

std::optional<std::int64_t> parse_date(std::string_view text, std::int64_t now) {
  reader in{text};
  calendar_day date{};
  int time = 0;
  bool two_digits = false;
  bool full_name = text.find(',') != 3 && text.find(',') != text.npos;
  int weekday = in.weekday(full_name);
  if (full_name) {  // Sunday, 06-Nov-94 08:49:37 GMT
    two_digits = true;
    in.literal(", ");
    date.day = in.number(2);
    in.literal("-");
    date.month = in.month();
    in.literal("-");
    date.year = in.number(2);
    in.literal(" ");
    time = in.time();
    in.literal(" GMT");
  } else if (text.size() > 3 && text[3] == ',') {  // Sun, 06 Nov 1994 08:49:37 GMT
    in.literal(", ");
    date.day = in.number(2);
    in.literal(" ");
    date.month = in.month();
    in.literal(" ");
    date.year = in.number(4);
    in.literal(" ");
    time = in.time();
    in.literal(" GMT");
  } else {  // Sun Nov  6 08:49:37 1994
    in.literal(" ");
    date.month = in.month();
    in.literal(" ");
    bool padded = in.fits && in.rest.starts_with(' ');
    if (padded) in.literal(" ");
    date.day = in.number(padded ? 1 : 2);
    in.literal(" ");
    time = in.time();
    in.literal(" ");
    date.year = in.number(4);
  }
  if (!in.fits || !in.rest.empty() || date.day < 1) return std::nullopt;
  if (two_digits) {
    int year_now = day_of(std::clamp(now, seconds_min, seconds_max) / day_seconds).year;
    date.year += year_now - year_now % 100;
    if (date.year > year_now + 50) date.year -= 100;
  }
  std::int64_t days = days_of(date);
  // A day beyond the end of its month converts back to a different day.
  if (day_of(days).day != date.day || weekday_of(days) != weekday) return std::nullopt;
  return days * day_seconds + time;
}

void date_line::format(std::int64_t now) {
  second_ = now;
  std::memcpy(text_.data(), "Date: ", 6);
  write_date(now, std::span<char, date_bytes>(text_.data() + 6, date_bytes));
  std::memcpy(text_.data() + 6 + date_bytes, "\r\n", 2);
}

}  // namespace heddle::http
