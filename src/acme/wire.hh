// SPDX-License-Identifier: MIT
// Requests to an authority: its directory, nonces, signed posts, and problem documents as errors.
#pragma once

#include <optional>
#include <string>

#include "acme/keys.hh"
#include "heddle/acme/options.hh"
#include "heddle/client/client.hh"
#include "heddle/http/detail/json.hh"

namespace heddle::acme::detail {

using http::detail::json;

/// An answer that is no error.
struct reply {
  int status = 0;
  json body = {};  // null if the answer is no JSON
  std::string text = {};
  std::string location = {};
  nanoseconds retry_after{};  // zero: none
};

/// An authority's text as messages show it: without control characters, and not too long.
[[nodiscard]] std::string printable(std::string_view text);
/// "DETAIL (TYPE); ADVICE" of a problem document (RFC 7807, RFC 8555 section 6.7).
[[nodiscard]] std::string problem_text(const json& problem);
/// The last part of an ACME problem's type; empty for others.
[[nodiscard]] std::string problem_type(const json& problem);

/// Thread: one color; one request at a time. Owns: the client's connections.
class wire {
 public:
  explicit wire(const authority_options& o);

  /// Reads the directory, once. In get() and post(), `about` names the request in errors: "the
  /// order of www.example.org".
  [[nodiscard]] task<> read_directory();
  /// An address in the directory. Fails: bad_message if there is none.
  [[nodiscard]] std::string address_of(std::string_view resource) const;
  [[nodiscard]] const json& directory() const noexcept { return directory_; }

  [[nodiscard]] task<reply> get(std::string url, std::string about);
  /// Posts signed text, which names the account's address, or the key if there is no account yet.
  [[nodiscard]] task<reply> post(std::string url, std::string payload, std::string about);

  /// Set before the first post.
  std::optional<account_key> key;
  std::string account;

  [[nodiscard]] const std::string& host() const noexcept { return host_; }

 private:
  [[nodiscard]] task<std::string> take_nonce();
  [[nodiscard]] task<http::fetched> send_signed(std::string url, std::string payload);
  [[nodiscard]] std::string checked(std::string_view url) const;
  [[nodiscard]] reply reply_of(const http::fetched& got) const;
  [[noreturn]] void refuse(const http::fetched& got, const std::string& about) const;

  const authority_options& options_;
  http::client web_;
  std::string host_;
  bool secure_ = true;
  json directory_;
  std::string nonce_;  // the latest answer's; empty if it was used
};

}  // namespace heddle::acme::detail
