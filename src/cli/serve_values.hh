// SPDX-License-Identifier: MIT
// What the values of settings mean. Each throws bad_setting, and its text says what would do.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/base/clock.hh"

namespace heddle::cli {

/// on, true, yes, 1, or nothing; off, false, no, 0.
[[nodiscard]] bool truth_of(std::string_view text);
/// A whole number; `unit` is what the message says it should have been.
[[nodiscard]] std::uint64_t number(std::string_view text, std::string_view unit);
/// As number(), and from `least` to `most`.
[[nodiscard]] std::uint64_t number_within(std::string_view text, std::string_view unit,
                                          std::uint64_t least, std::uint64_t most);
/// 512, 16K, 64M, 2G.
[[nodiscard]] std::uint64_t size_of(std::string_view text);
/// As size_of(), and from `least` to `most`.
[[nodiscard]] std::uint64_t size_within(std::string_view text, std::uint64_t least,
                                        std::uint64_t most);
/// 500ms, 10s, 5m; a bare number counts seconds.
[[nodiscard]] nanoseconds time_of(std::string_view text);

}  // namespace heddle::cli
