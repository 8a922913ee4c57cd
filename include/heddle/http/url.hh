// SPDX-License-Identifier: MIT
// A URL as a client needs it: where to connect, and what to ask for there. Parsing is strict where
// two programs could read a text differently: user information, backslashes and control characters
// are refused.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "heddle/base/language.hh"

namespace heddle::http {

enum class url_problem : std::uint8_t {
  scheme_missing,   // no "http://" or "https://" at the beginning
  scheme_unknown,   // another scheme
  credentials,      // "user:password@"
  authority_bad,    // no host with an optional port
  target_bad_byte,  // a control character
  too_long,
};

/// One sentence: the error, and what to write instead.
[[nodiscard]] std::string_view describe(url_problem what);

/// Thread: any; it is a value. A fragment is dropped, because clients do not send it.
///
///   auto at = http::url::parse("https://example.com/a?b=c");   // at->port is 443
///   auto next = at->resolve("../d");                           // https://example.com/d
struct url {
  static constexpr std::size_t bytes_max = 8000;  ///< longer texts are refused

  bool secure = false;    ///< https
  std::string host = {};  ///< in lower case; a version 6 address without its brackets
  std::uint16_t port = 80;
  std::string target = "/";  ///< path and query as they are sent

  /// Parses a text. Bytes that a target must not hold, such as spaces and those of UTF-8, are
  /// percent-encoded. Dot segments are removed.
  [[nodiscard]] static std::expected<url, url_problem> parse(std::string_view text);
  /// The URL that a reference (of a Location field, a link) means on a page at this URL.
  [[nodiscard]] std::expected<url, url_problem> resolve(std::string_view reference) const;

  /// The path without the query.
  [[nodiscard]] std::string_view path() const noexcept;
  /// "example.com", "example.com:8080", "[::1]:80": the port is left out if it is the scheme's own.
  [[nodiscard]] std::string authority() const;
  /// "example.com:443": the authority, always with the port.
  [[nodiscard]] std::string host_and_port() const;
  /// "https://example.com": equal for two URLs of the same origin.
  [[nodiscard]] std::string origin() const;
  /// The whole URL.
  [[nodiscard]] std::string text() const { return origin() + target; }

  friend bool operator==(const url&, const url&) = default;
};

}  // namespace heddle::http
