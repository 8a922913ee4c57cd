// SPDX-License-Identifier: MIT
// Text of HTTP heads that messages and their parser share: names without case, lists, numbers.
#pragma once

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>
#include <string_view>

#include "tamer/http.hh"

namespace tamer::detail {

inline bool equal_names(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return std::tolower(static_cast<unsigned char>(x)) ==
                  std::tolower(static_cast<unsigned char>(y));
         });
}

inline constexpr struct {
  http_method method;
  std::string_view name;
} http_methods[] = {
    {HTTP_DELETE, "DELETE"},   {HTTP_GET, "GET"},     {HTTP_HEAD, "HEAD"},
    {HTTP_POST, "POST"},       {HTTP_PUT, "PUT"},     {HTTP_CONNECT, "CONNECT"},
    {HTTP_OPTIONS, "OPTIONS"}, {HTTP_TRACE, "TRACE"}, {HTTP_PATCH, "PATCH"},
};

inline std::string_view trimmed(std::string_view s) noexcept {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() &&
         (s.back() == ' ' || s.back() == '\t' || s.back() == '\r' || s.back() == '\n'))
    s.remove_suffix(1);
  return s;
}

template <class Number>
inline bool read_number(std::string_view s, Number& out, int base = 10) noexcept {
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), out, base);
  return error == std::errc() && end == s.data() + s.size() && !s.empty();
}

/// Replaces line ends, which inside of a name or value would begin another header.
inline std::string one_line(std::string s) {
  std::replace_if(
      s.begin(), s.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; }, ' ');
  return s;
}

inline bool has_token(std::string_view list, std::string_view token) noexcept {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (equal_names(trimmed(list.substr(0, comma)), token)) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

}  // namespace tamer::detail
