// SPDX-License-Identifier: MIT
// Natural sort order of names: file2 before file10.
#pragma once

#include <string_view>

namespace heddle::http {

/// Compares runs of digits as numbers of any length, and other text byte by byte. Names that differ
/// only in leading zeros ("a1", "a01") compare byte by byte, so that only identical names are
/// equal.
[[nodiscard]] bool natural_less(std::string_view a, std::string_view b) noexcept;

}  // namespace heddle::http
