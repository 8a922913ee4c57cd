// SPDX-License-Identifier: MIT
// Proving to a certificate authority that a server answers for a name, within TLS (tls-alpn-01,
// RFC 8737). A client that offers the protocol "acme-tls/1" alone gets the certificate that the
// table holds for the name it asks for, and the connection then ends. Room `acme` fills the table.
//
//   auto table = std::make_shared<tls::challenge_table>();
//   tls::server_context site({.challenges = table});    // serves once it has certificates
//   table->set("www.example.org", tls::challenge_certificate("www.example.org", digest));
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/tls/authority.hh"

namespace heddle::tls {

/// The protocol that an authority offers by ALPN.
inline constexpr std::string_view challenge_protocol = "acme-tls/1";

/// Certificates by name, in lower case. Thread: any. Owns: copies of them.
class challenge_table {
 public:
  void set(std::string name, pem_pair answer);
  void drop(std::string_view name) noexcept;
  [[nodiscard]] std::optional<pem_pair> find(std::string_view name) const;
  [[nodiscard]] bool empty() const noexcept;

 private:
  mutable std::mutex lock_;
  std::map<std::string, pem_pair, std::less<>> answers_;
};

/// A certificate for this one name that signs itself and holds the SHA-256 digest (32 bytes) of the
/// key authorization in its critical extension acmeIdentifier (RFC 8737 section 3).
/// Fails: invalid_argument for a text that is no name, and for a digest of another size.
[[nodiscard]] pem_pair challenge_certificate(const std::string& name, std::string_view digest);

}  // namespace heddle::tls
