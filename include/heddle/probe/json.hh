// SPDX-License-Identifier: MIT
// Text as a JSON string; what dumps and reports need of JSON besides punctuation.
#pragma once

#include <string>
#include <string_view>

namespace heddle {

/// In quotes, with what must be escaped escaped. Bytes are passed as they are: UTF-8 stays UTF-8.
[[nodiscard]] std::string json_quoted(std::string_view text);

}  // namespace heddle
