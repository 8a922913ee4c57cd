// SPDX-License-Identifier: MIT
// One header line, checked and appended to those before it.
#pragma once

#include <string>
#include <string_view>

#include "heddle/http/headers.hh"

namespace heddle::http {

/// The server says these itself, from what it sends and does with the connection.
[[nodiscard]] inline bool says_itself(std::string_view name) noexcept {
  for (const std::string_view own : {"Connection", "Content-Length", "Transfer-Encoding"})
    if (equal_ignoring_case(own, name)) return true;
  return false;
}

/// False, and nothing appended, when the name is no token or the value could end its line.
[[nodiscard]] inline bool append_line(std::string& lines, std::string_view name,
                                      std::string_view value) {
  if (!token_valid(name) || !value_valid(value)) return false;
  lines.reserve(lines.size() + name.size() + value.size() + 4);
  lines.append(name).append(": ", 2).append(value).append("\r\n", 2);
  return true;
}

}  // namespace heddle::http
