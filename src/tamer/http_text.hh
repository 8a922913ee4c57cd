// SPDX-License-Identifier: MIT
// Text of HTTP heads that messages and their parser share: the names of methods, and line ends.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "tamer/http.hh"

namespace tamer::detail {

inline constexpr struct http_methods_row {
  http_method method;
  std::string_view name;
} http_methods[] = {
    {HTTP_DELETE, "DELETE"},   {HTTP_GET, "GET"},     {HTTP_HEAD, "HEAD"},
    {HTTP_POST, "POST"},       {HTTP_PUT, "PUT"},     {HTTP_CONNECT, "CONNECT"},
    {HTTP_OPTIONS, "OPTIONS"}, {HTTP_TRACE, "TRACE"}, {HTTP_PATCH, "PATCH"},
};

/// The row of a method; null if it has no number.
inline const http_methods_row* method_named(std::string_view name) noexcept {
  for (const http_methods_row& row : http_methods)
    if (row.name == name) return &row;
  return nullptr;
}

/// Replaces line ends, which inside of a name or value would begin another header.
inline std::string one_line(std::string s) {
  std::replace_if(
      s.begin(), s.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; }, ' ');
  return s;
}

}  // namespace tamer::detail
