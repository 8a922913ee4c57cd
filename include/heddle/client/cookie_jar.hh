// SPDX-License-Identifier: MIT
// Cookies that servers set and a client sends back (RFC 6265). Several clients of one color may
// share a jar.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/http/url.hh"

namespace heddle::http {

struct cookie_limits {
  std::size_t bytes_max = 4096;     ///< name, value and attributes of one; larger ones are dropped
  std::size_t per_domain_max = 50;  ///< the ones unused for longest go first
  std::size_t count_max = 3000;
  /// True for names under which strangers register, such as "co.uk": no cookie may be set for all
  /// of them. Without it, the jar refuses names of one label, and those of two labels that end in
  /// a country's code and begin with at most three letters.
  std::function<bool(std::string_view)> is_public_suffix = {};
};

/// Thread: one color. Owns: the cookies. Times are seconds since 1970, the system's clock.
///
/// Rules: a cookie is sent to the host that set it, and to hosts below its Domain; never to others.
/// A Secure cookie is set and sent by https only. The prefixes __Host- and __Secure- are checked.
class cookie_jar {
 public:
  explicit cookie_jar(cookie_limits bounds = cookie_limits()) : bounds_(std::move(bounds)) {}

  /// Takes one Set-Cookie field of an answer from this URL. False if the rules refuse it.
  bool take(const url& from, std::string_view set_cookie, std::int64_t now);
  /// The Cookie field for a request to this URL; "" if no cookie fits.
  [[nodiscard]] std::string field(const url& to, std::int64_t now);

  [[nodiscard]] std::size_t size() const noexcept { return cookies_.size(); }
  void clear() noexcept { cookies_.clear(); }

 private:
  struct cookie {
    std::string name, value, domain, path;
    std::int64_t expires;    // INT64_MAX: with the jar
    std::uint64_t made = 0;  // in order
    std::uint64_t used = 0;  // in order
    bool host_only = true;
    bool secure = false;
  };
  struct attributes;

  [[nodiscard]] bool is_suffix(std::string_view domain) const;
  [[nodiscard]] bool accept(const url& from, cookie& made, attributes& asked) const;
  void store(cookie made, std::int64_t now);

  cookie_limits bounds_;
  std::vector<cookie> cookies_;
  std::uint64_t order_ = 0;
};

/// Reads the date of an Expires attribute as RFC 6265 section 5.1.1 asks: in almost any form. False
/// if the text is no date.
[[nodiscard]] bool parse_cookie_date(std::string_view text, std::int64_t& seconds);

}  // namespace heddle::http
