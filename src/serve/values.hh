// SPDX-License-Identifier: MIT
// Parses the values of settings, and writes them. A function that parses throws bad_setting, whose
// text tells the valid values.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/clock.hh"

namespace heddle::serve {

/// An invalid value of a setting; what() tells the valid ones.
struct bad_setting : std::invalid_argument {
  using invalid_argument::invalid_argument;
};

/// An address of IPv6 with the number of its interface in place of the name: fe80::1%2 for
/// fe80::1%eth0. Other texts stay as they are.
[[nodiscard]] std::string with_zone_number(std::string_view text);
/// Reads a switch: on, true, yes, 1 or an empty text; off, false, no, 0.
[[nodiscard]] bool truth_of(std::string_view text);
/// The words of a text, which blanks separate.
[[nodiscard]] std::vector<std::string_view> words_of(std::string_view text);
/// A whole number; `unit` names the expected kind of number in the error message.
[[nodiscard]] std::uint64_t number(std::string_view text, std::string_view unit);
/// As number(), with bounds from `least` to `most`.
[[nodiscard]] std::uint64_t number_within(std::string_view text, std::string_view unit,
                                          std::uint64_t least, std::uint64_t most);
/// A port from 0 to 65535.
[[nodiscard]] int port_of(std::string_view text);
/// Reads a size: 512, 16K, 64M, 2G.
[[nodiscard]] std::uint64_t size_of(std::string_view text);
/// As size_of(), with bounds from `least` to `most`.
[[nodiscard]] std::uint64_t size_within(std::string_view text, std::uint64_t least,
                                        std::uint64_t most);
/// Reads a span of time: 500ms, 10s, 5m, 12h, 30d; a bare number counts seconds.
[[nodiscard]] nanoseconds time_of(std::string_view text);
/// As time_of(), without zero.
[[nodiscard]] nanoseconds span_of(std::string_view text);

/// A size and a span of time as the functions above read them, in the largest unit that gives a
/// small whole number: 16K, 75s, 60m.
[[nodiscard]] std::string size_text(std::uint64_t size);
[[nodiscard]] std::string time_text(nanoseconds span);

}  // namespace heddle::serve
