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
  std::vector<x509_handle> between;  // certificates between the leaf and a root
  key_handle key;
  std::string ocsp;
  std::vector<std::string> names;  // lower case; "*.example.org" as it is
};

[[nodiscard]] loaded_certificate load_certificate(const certificate_files& files);
/// As load_certificate(), from texts and without an OCSP answer. `names` are used in messages only.
[[nodiscard]] loaded_certificate parse_certificate(const pem_pair& texts,
                                                   const certificate_files& names);
/// Throws failure when the key is not this certificate's.
void use_certificate(SSL_CTX* ctx, const loaded_certificate& c, const certificate_files& files);
/// The hosts and addresses of a certificate; its subject's common name if it lists none.
[[nodiscard]] std::vector<std::string> names_in(X509* certificate);

/// A context with the options and modes of every connection, of a server or a client.
[[nodiscard]] ctx_handle make_ctx(const SSL_METHOD* method, version oldest, version newest);
/// The names of protocols in ALPN's form, each behind its length. Throws failure for a name of a
/// wrong size.
[[nodiscard]] std::string alpn_wire(const std::vector<std::string>& protocols);

}  // namespace heddle::tls::detail
