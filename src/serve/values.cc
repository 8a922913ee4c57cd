// SPDX-License-Identifier: MIT
// Parses and writes numbers, sizes, times and switches as users write them.
#include "serve/values.hh"

#include <net/if.h>

#include <charconv>
#include <limits>

#include "heddle/sched/detail/world_here.hh"

namespace heddle::serve {

std::vector<std::string_view> words_of(std::string_view text) {
  constexpr std::string_view blank = " \t";
  std::vector<std::string_view> words;
  for (std::size_t at = text.find_first_not_of(blank); at != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(blank, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(blank, end);
  }
  return words;
}

std::string with_zone_number(std::string_view text) {
  const std::size_t percent = text.find('%');
  if (percent == text.npos) return std::string(text);
  const std::size_t end = std::min(text.find(']', percent), text.size());
  const std::string zone(text.substr(percent + 1, end - percent - 1));
  if (!zone.empty() && zone.find_first_not_of("0123456789") == zone.npos) return std::string(text);
  if (heddle::detail::simulated_here())
    throw bad_setting("'" + std::string(text) + "': a simulated world has no interfaces");
  const unsigned number = ::if_nametoindex(zone.c_str());
  if (number == 0)
    throw bad_setting("'" + std::string(text) + "': this machine has no interface '" + zone +
                      "'; `ip link` lists them");
  return std::string(text.substr(0, percent + 1)) + std::to_string(number) +
         std::string(text.substr(end));
}

bool truth_of(std::string_view text) {
  if (text.empty() || text == "on" || text == "true" || text == "yes" || text == "1") return true;
  if (text == "off" || text == "false" || text == "no" || text == "0") return false;
  throw bad_setting("'" + std::string(text) + "' is neither on nor off");
}

namespace {

/// Reads a number. `whole` is the text as it was given.
std::uint64_t number_in(std::string_view text, std::string_view whole, std::string_view unit) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw bad_setting("'" + std::string(whole) + "' is no " + std::string(unit));
  return value;
}

}  // namespace

std::uint64_t number(std::string_view text, std::string_view unit) {
  return number_in(text, text, unit);
}

namespace {

std::uint64_t within(std::uint64_t value, std::string_view text, std::uint64_t least,
                     std::uint64_t most) {
  if (value < least || value > most)
    throw bad_setting("'" + std::string(text) + "' is not from " + std::to_string(least) + " to " +
                      std::to_string(most));
  return value;
}

}  // namespace

std::uint64_t number_within(std::string_view text, std::string_view unit, std::uint64_t least,
                            std::uint64_t most) {
  return within(number(text, unit), text, least, most);
}

int port_of(std::string_view text) {
  const std::uint64_t value = number(text, "port; write a number from 0 to 65535");
  if (value > 65535) throw bad_setting("a port is at most 65535");
  return static_cast<int>(value);
}

std::uint64_t size_within(std::string_view text, std::uint64_t least, std::uint64_t most) {
  return within(size_of(text), text, least, most);
}

std::uint64_t size_of(std::string_view text) {
  constexpr std::string_view example = "size; write 512, 16K, 64M or 2G";
  const std::string_view whole = text;
  unsigned shift = 0;
  if (!text.empty()) {
    constexpr std::string_view letters = "KMG";
    const std::size_t at = letters.find(static_cast<char>(text.back() & ~0x20));
    if (at != letters.npos) {
      shift = static_cast<unsigned>(at + 1) * 10;
      text.remove_suffix(1);
    }
  }
  const std::uint64_t value = number_in(text, whole, example);
  if (value > (std::numeric_limits<std::uint64_t>::max() >> 1 >> shift))
    throw bad_setting("'" + std::string(whole) + "' is too large a size");
  return value << shift;
}

nanoseconds time_of(std::string_view text) {
  constexpr std::string_view example = "time; write 500ms, 10s, 5m, 12h or 30d";
  constexpr nanoseconds time_max = std::chrono::days(3650);
  const std::string_view whole = text;
  nanoseconds unit = std::chrono::seconds(1);
  if (text.ends_with("ms")) {
    unit = std::chrono::milliseconds(1);
    text.remove_suffix(2);
  } else if (text.ends_with('s')) {
    text.remove_suffix(1);
  } else if (text.ends_with('m')) {
    unit = std::chrono::minutes(1);
    text.remove_suffix(1);
  } else if (text.ends_with('h')) {
    unit = std::chrono::hours(1);
    text.remove_suffix(1);
  } else if (text.ends_with('d')) {
    unit = std::chrono::days(1);
    text.remove_suffix(1);
  }
  const std::uint64_t value = number_in(text, whole, example);
  if (value > static_cast<std::uint64_t>(time_max / unit))
    throw bad_setting("'" + std::string(whole) + "' is too long a time; 3650d is the most");
  return static_cast<std::int64_t>(value) * unit;
}

nanoseconds span_of(std::string_view text) {
  const nanoseconds span = time_of(text);
  if (span == nanoseconds::zero())
    throw bad_setting("no time at all; write 500ms, 10s, 5m, 12h or 30d");
  return span;
}

std::string size_text(std::uint64_t size) {
  std::size_t unit = 0;
  for (; unit != 3 && size != 0 && size % 1024 == 0; ++unit) size /= 1024;
  constexpr const char* units[] = {"", "K", "M", "G"};
  return std::to_string(size) + units[unit];
}

std::string time_text(nanoseconds span) {
  struct unit {
    nanoseconds each;
    const char* name;
  };
  constexpr unit units[] = {{std::chrono::days(1), "d"},
                            {std::chrono::hours(1), "h"},
                            {std::chrono::minutes(1), "m"},
                            {std::chrono::seconds(1), "s"}};
  if (span == nanoseconds::zero()) return "0";
  for (const unit& u : units)
    // 60s and 60m, as people write them; a second is no thousand milliseconds.
    if (span % u.each == nanoseconds::zero() && (span > u.each || u.name[0] == 's'))
      return std::to_string(span / u.each) + u.name;
  return std::to_string(span / std::chrono::milliseconds(1)) + "ms";
}

}  // namespace heddle::serve
