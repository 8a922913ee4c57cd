// SPDX-License-Identifier: MIT
// Options for a certificate authority and for keeping certificates. Every limit has a default that
// public authorities accept.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/client/options.hh"

namespace heddle::acme {

/// The directory of Let's Encrypt, whose certificates browsers accept.
inline constexpr const char* default_directory = "https://acme-v02.api.letsencrypt.org/directory";

/// How a name is proved. http_01: the authority asks http://NAME/ at port 80 (RFC 8555 section
/// 8.3). tls_alpn_01: it opens a TLS connection to port 443 (RFC 8737).
enum class challenge : std::uint8_t { http_01, tls_alpn_01 };

struct authority_options {
  std::string directory = default_directory;  ///< https; http is for loopback addresses only
  std::vector<std::string> contacts = {};     ///< addresses of e-mail
  /// The user has read the terms of service and agrees to them. Without it an authority that has
  /// terms is not used, and the error names their address.
  bool agree_to_terms = false;
  /// An account that the authority knows from elsewhere (RFC 8555 section 7.3.4): its id, and its
  /// key in base64 for URLs. Empty: none.
  std::string external_id = {};
  std::string external_key = {};
  http::client_options web = {};  ///< secure: with the roots of a private authority

  std::size_t answer_bytes_max = 1024 * 1024;
  std::uint32_t bad_nonces_max = 5;  ///< refused nonces in a row; the next nonce is tried each time
  std::uint32_t names_max = 100;     ///< names of one certificate
  nanoseconds poll_first = std::chrono::seconds(1);      ///< the first pause; doubled each time
  nanoseconds poll_max = std::chrono::seconds(15);       ///< the longest pause, also by Retry-After
  nanoseconds order_timeout = std::chrono::minutes(10);  ///< time of a whole order
  nanoseconds retry_after_max = std::chrono::hours(24) * 7;  ///< a longer Retry-After is cut
};

/// One step of a keeper, for logs.
struct keeper_report {
  enum class kind : std::uint8_t { obtained, loaded, failed };
  kind what = kind::failed;
  std::vector<std::string> names = {};
  /// The end of the certificate's life, in seconds since 1970; 0 if there is no certificate.
  std::int64_t not_after = 0;
  std::string trouble = {};  ///< the failure: what, where and what to do
  nanoseconds retry_in{};    ///< after a failure: time until the next attempt
};

struct keeper_options {
  /// The kinds of challenge that the server can answer, the favorite first. After a failure the
  /// next one is tried.
  std::vector<challenge> challenges = {challenge::tls_alpn_01};
  nanoseconds retry_first = std::chrono::minutes(2);  ///< after a failure; doubled each time
  nanoseconds retry_max = std::chrono::hours(12);
  std::uint32_t retry_jitter_percent = 25;  ///< a wait is longer by 0 to this percentage
  /// Time between two questions for the authority's renewal window (RFC 9773), if it names no
  /// other. It is also the least time between two renewals, unless half of the life is shorter.
  nanoseconds renewal_check = std::chrono::hours(6);
  /// If another process has the claim, the wait before the store is checked for its certificate.
  nanoseconds claim_retry = std::chrono::seconds(30);
  /// The longest sleep, because the system's clock may be set meanwhile.
  nanoseconds look_max = std::chrono::hours(1);
  std::function<void(const keeper_report&)> log = {};
};

}  // namespace heddle::acme
