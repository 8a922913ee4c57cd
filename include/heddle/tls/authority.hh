// SPDX-License-Identifier: MIT
// Certificates for development and tests: an authority of one's own, and what it signs. Keys are
// ECDSA with P-256. A public site wants a certificate of a public authority instead.
//
//   const tls::pem_pair ca = tls::make_authority("Heddle development");
//   const tls::pem_pair site = tls::issue(ca, {.names = {"localhost", "127.0.0.1"}});
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tls {

/// A certificate and its private key, as text.
struct pem_pair {
  std::string certificate;
  std::string key;
};

struct certificate_request {
  std::vector<std::string> names = {};  ///< hosts or addresses; the first is the subject, too
  std::chrono::days life = std::chrono::days(397);  ///< the most that browsers accept
  bool for_client = false;                          ///< for a client, not for a server
};

/// Makes an authority: its key, and a certificate signed with that key.
/// Thread: any. Fails: throws failure; std::bad_alloc.
[[nodiscard]] pem_pair make_authority(std::string_view name,
                                      std::chrono::days life = std::chrono::days(3650));
/// A certificate signed by the authority. The text holds no other certificate.
/// Fails: invalid_argument for a text that is no name and no address.
[[nodiscard]] pem_pair issue(const pem_pair& authority, const certificate_request& asked);

/// A new key and a request for a certificate of these names (PKCS #10, RFC 2986), to be sent to an
/// authority. `certificate` is the request, in PEM.
/// Fails: as issue().
[[nodiscard]] pem_pair signing_request(const std::vector<std::string>& names);

/// The last moment at which a certificate is valid. Fails: invalid_argument when the text holds
/// none.
[[nodiscard]] std::chrono::sys_seconds expiry_of(std::string_view certificate);
/// The names that a certificate is for.
[[nodiscard]] std::vector<std::string> names_of(std::string_view certificate);
/// Reads every certificate of a text; blocks of other kinds, such as the key, are skipped.
/// Fails: invalid_argument, if one of them is damaged or cut off, or if there is none. The message
///   names `where`, for example a file, and the line.
void check_chain(std::string_view chain, const std::string& where);

}  // namespace heddle::tls
