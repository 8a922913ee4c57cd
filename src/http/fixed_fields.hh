// SPDX-License-Identifier: MIT
// Fields that a program wants in many answers: checked once, and then kept as whole header lines.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace heddle::http {

/// "Name: value\r\n" for each. Throws failure (invalid_argument) where one cannot be sent, and says
/// which.
[[nodiscard]] std::string checked_lines(
    const std::vector<std::pair<std::string, std::string>>& fields);

}  // namespace heddle::http
