// SPDX-License-Identifier: MIT
// Writes text as a JSON string, for dumps and reports.
#pragma once

#include <string>
#include <string_view>

namespace heddle {

/// The text in quotes with the necessary escapes. Other bytes are copied, so UTF-8 stays UTF-8.
[[nodiscard]] std::string json_quoted(std::string_view text);

}  // namespace heddle
