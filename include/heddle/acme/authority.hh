// SPDX-License-Identifier: MIT
// A certificate authority by the ACME protocol (RFC 8555): orders certificates and asks when to
// renew them (RFC 9773). One object has one account, whose key is in the store. Most programs use
// a keeper, which calls this at the right times.
//
//   acme::authority issuer(options, store, answers);
//   const tls::pem_pair site =
//       co_await issuer.order({"www.example.org"}, acme::challenge::http_01);
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/acme/challenges.hh"
#include "heddle/acme/options.hh"
#include "heddle/acme/store.hh"
#include "heddle/core/detail/closure.hh"
#include "heddle/core/task.hh"
#include "heddle/tls/authority.hh"

namespace heddle::acme {

namespace detail {
class authority_core;
}

/// When an authority wants a certificate to be renewed: seconds since 1970.
struct renewal_window {
  std::int64_t start = 0;
  std::int64_t end = 0;
  nanoseconds ask_again{};  ///< zero if the authority did not say
};

/// The form in which a name is ordered: lower case, without a dot at its end.
/// Fails: invalid_argument for addresses, wildcards (which only dns-01 could prove), and texts that
///   are no names of hosts.
[[nodiscard]] std::string checked_name(std::string_view name);

/// Thread: one color. One order runs at a time; others wait for it.
/// Cancel: the order is left as it is, and its answers to challenges are withdrawn.
/// Fails: throws refusal if the authority refuses; timed_out beyond order_timeout; bad_message if
///   the authority breaks the protocol; permission_denied if terms have to be agreed to;
///   otherwise as http::client and the store.
class authority {
 public:
  authority(authority_options options, std::shared_ptr<certificate_store> store,
            std::shared_ptr<challenge_answers> answers);
  authority(const authority&) = delete;
  ~authority();

  /// A certificate for these names with a new P-256 key: its chain and the key. `replaces` is the
  /// certificate that it renews, if there is one.
  [[nodiscard]] task<tls::pem_pair> order(std::vector<std::string> names, challenge by,
                                          std::optional<tls::pem_pair> replaces = std::nullopt);
  /// When the authority wants the certificate renewed; nothing if it does not say.
  template <class Certificate = tls::pem_pair>
    requires std::same_as<std::remove_cvref_t<Certificate>, tls::pem_pair>
  [[nodiscard]] task<std::optional<renewal_window>> renewal_of(Certificate&& certificate) {
    heddle::detail::check_options<Certificate>();
    return renewal_of_pair(std::forward<Certificate>(certificate));
  }

  /// The folder of the store for this authority's keys and certificates, made of its address.
  [[nodiscard]] const std::string& place() const noexcept;
  [[nodiscard]] const authority_options& options() const noexcept;

 private:
  [[nodiscard]] task<std::optional<renewal_window>> renewal_of_pair(tls::pem_pair certificate);

  std::unique_ptr<detail::authority_core> core_;
};

}  // namespace heddle::acme
