// SPDX-License-Identifier: MIT
// Header fields that many answers share: checked once and kept as whole header lines.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace heddle::http {

/// Writes each field as "Name: value\r
/// ". Throws failure(invalid_argument), which names the field, if one must not be sent.
[[nodiscard]] std::string checked_lines(
    const std::vector<std::pair<std::string, std::string>>& fields);

}  // namespace heddle::http
