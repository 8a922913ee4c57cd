// SPDX-License-Identifier: MIT
// Certificates and keys in files, as an SSL_CTX uses them. Each failure names the file.
#pragma once

#include <string>
#include <vector>

#include "heddle/tls/authority.hh"
#include "heddle/tls/options.hh"
#include "tls/handles.hh"

namespace heddle::tls::detail {

struct loaded_certificate {
  x509_handle leaf;
  std::vector<x509_handle> between;  // the leaf and a root
  key_handle key;
  std::string ocsp;
  std::vector<std::string> names;  // lower case; "*.example.org" as it is
};

[[nodiscard]] loaded_certificate load_certificate(const certificate_files& files);
/// The same of texts; `names` tell in messages where they are from.
[[nodiscard]] loaded_certificate parse_certificate(const pem_pair& texts,
                                                   const certificate_files& names);
/// Throws failure when the key is not this certificate's.
void use_certificate(SSL_CTX* ctx, const loaded_certificate& c, const certificate_files& files);
/// Names of hosts and addresses; the subject's where it lists none.
[[nodiscard]] std::vector<std::string> names_in(X509* certificate);

/// Options and modes that every connection has, of a server or a client.
[[nodiscard]] ctx_handle make_ctx(const SSL_METHOD* method, version oldest, version newest);
/// Names of protocols, each behind its length. Throws failure for an impossible one.
[[nodiscard]] std::string alpn_wire(const std::vector<std::string>& protocols);

}  // namespace heddle::tls::detail
