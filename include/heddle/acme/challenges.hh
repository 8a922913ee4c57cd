// SPDX-License-Identifier: MIT
// The answers that a server gives while an authority checks its names. An order fills them; the
// server's plain listener and its TLS context read them.
//
//   if (auto answer = answers->answer(r.head())) co_return std::move(*answer);   // http-01
//   tls::server_context site({.challenges = answers->over_tls()});               // tls-alpn-01
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/http/request.hh"
#include "heddle/http/response.hh"
#include "heddle/tls/challenge.hh"

namespace heddle::acme {

/// The paths that belong to http-01 (RFC 8555 section 8.3).
inline constexpr std::string_view challenge_path = "/.well-known/acme-challenge/";

/// Thread: any. Owns: the answers.
class challenge_answers {
 public:
  challenge_answers() : over_tls_(std::make_shared<tls::challenge_table>()) {}

  void set(std::string token, std::string authorization);
  void drop(std::string_view token) noexcept;
  /// The answer to a request for one of these paths, which is 404 for an unknown token; nothing
  /// for all other requests.
  [[nodiscard]] std::optional<http::response> answer(const http::request_head& head) const;
  [[nodiscard]] const std::shared_ptr<tls::challenge_table>& over_tls() const noexcept {
    return over_tls_;
  }

 private:
  mutable std::mutex lock_;
  std::map<std::string, std::string, std::less<>> by_token_;
  std::shared_ptr<tls::challenge_table> over_tls_;
};

}  // namespace heddle::acme
