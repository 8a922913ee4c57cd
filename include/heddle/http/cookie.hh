// SPDX-License-Identifier: MIT
// Cookies (RFC 6265): reads the pairs of a Cookie field, and writes Set-Cookie lines with safe
// defaults.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "heddle/base/clock.hh"
#include "heddle/http/response.hh"

namespace heddle::http {

/// One name=value pair, without quotes around the value.
struct cookie_pair {
  std::string_view name;
  std::string_view value;
};

/// Takes the next pair off a Cookie field's value and skips malformed ones. False at the end.
[[nodiscard]] bool take_cookie(std::string_view& rest, cookie_pair& pair);

enum class same_site : std::uint8_t { strict, lax, none };

/// A cookie to set. By default scripts cannot read it and the browser sends it over TLS only.
///
///   co_return response(204).cookie(set_cookie("session", id).max_age(std::chrono::hours(8)));
class set_cookie {
 public:
  set_cookie(std::string_view name, std::string_view value) : name_(name), value_(value) {}

  set_cookie& path(std::string_view p) & { return path_ = p, *this; }
  set_cookie& domain(std::string_view d) & { return domain_ = d, *this; }
  /// Zero or less removes the cookie. If it is never called, the cookie ends with the browser.
  set_cookie& max_age(std::chrono::seconds s) & { return max_age_ = s, *this; }
  set_cookie& http_only(bool on) & { return http_only_ = on, *this; }
  set_cookie& secure(bool on) & { return secure_ = on, *this; }
  set_cookie& site(same_site s) & { return site_ = s, *this; }

  set_cookie&& path(std::string_view p) && { return std::move(path(p)); }
  set_cookie&& domain(std::string_view d) && { return std::move(domain(d)); }
  set_cookie&& max_age(std::chrono::seconds s) && { return std::move(max_age(s)); }
  set_cookie&& http_only(bool on) && { return std::move(http_only(on)); }
  set_cookie&& secure(bool on) && { return std::move(secure(on)); }
  set_cookie&& site(same_site s) && { return std::move(site(s)); }

  /// The field's value. Nothing if the name is not a token, if a text holds a byte that cookies
  /// cannot hold (encode it first), or for SameSite=None without Secure, which browsers drop.
  [[nodiscard]] std::optional<std::string> text() const;

 private:
  std::string name_;
  std::string value_;
  std::string path_ = "/";
  std::string domain_;
  std::optional<std::chrono::seconds> max_age_;
  bool http_only_ = true;
  bool secure_ = true;
  same_site site_ = same_site::lax;
};

}  // namespace heddle::http
