// SPDX-License-Identifier: MIT
// Reading and writing cookies.
#include "heddle/http/cookie.hh"

#include <algorithm>

#include "heddle/http/detail/charset.hh"
#include "heddle/http/headers.hh"

namespace heddle::http {
namespace {

// RFC 6265 section 4.1.1: visible ASCII without quote, comma, semicolon and backslash.
bool cookie_text(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return c > 0x20 && c < 0x7f && c != '"' && c != ',' && c != ';' && c != '\\';
  });
}

bool attribute_text(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f && c != ';'; });
}

}  // namespace

bool take_cookie(std::string_view& rest, cookie_pair& pair) {
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    const std::string_view text = detail::trim_ows(rest.substr(0, end));
    rest.remove_prefix(end == rest.size() ? end : end + 1);
    const std::size_t equals = text.find('=');
    if (equals == text.npos || equals == 0) continue;
    pair.name = detail::trim_ows(text.substr(0, equals));
    pair.value = detail::trim_ows(text.substr(equals + 1));
    const bool quoted =
        pair.value.size() >= 2 && pair.value.front() == '"' && pair.value.back() == '"';
    if (quoted) pair.value = pair.value.substr(1, pair.value.size() - 2);
    return true;
  }
  return false;
}

std::optional<std::string> set_cookie::text() const {
  if (!token_valid(name_) || !cookie_text(value_)) return std::nullopt;
  if (!attribute_text(path_) || !attribute_text(domain_)) return std::nullopt;
  if (site_ == same_site::none && !secure_) return std::nullopt;
  std::string line = name_ + '=' + value_;
  if (!path_.empty()) line += "; Path=" + path_;
  if (!domain_.empty()) line += "; Domain=" + domain_;
  if (max_age_) line += "; Max-Age=" + std::to_string(max_age_->count());
  if (http_only_) line += "; HttpOnly";
  if (secure_) line += "; Secure";
  constexpr std::string_view sites[] = {"Strict", "Lax", "None"};
  line += "; SameSite=";
  line += sites[static_cast<std::size_t>(site_)];
  return line;
}

response& response::cookie(const set_cookie& wanted) & {
  const std::optional<std::string> line = wanted.text();
  if (!line) {
    headers_ok_ = false;
    return *this;
  }
  return header("Set-Cookie", *line);
}

}  // namespace heddle::http
