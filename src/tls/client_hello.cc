// SPDX-License-Identifier: MIT
// Reads a client's first message: an authority that checks a name offers acme-tls/1 alone and gets
// its answer. OpenSSL chooses the certificate before it chooses the protocol, so the message is
// read before both choices.
#include <openssl/ssl.h>

#include "tls/server_state.hh"
#include "tls/trouble.hh"

namespace heddle::tls::detail {
namespace {

using bytes_of_hello = std::string_view;

bytes_of_hello extension_of(SSL* ssl, unsigned kind) noexcept {
  const unsigned char* at = nullptr;
  std::size_t size = 0;
  if (SSL_client_hello_get0_ext(ssl, kind, &at, &size) != 1) return {};
  return {reinterpret_cast<const char*>(at), size};
}

/// Takes a part off the text: first its length in `prefix` bytes, then its bytes. Gives nothing if
/// the part is not all there.
bytes_of_hello take_part(bytes_of_hello& from, std::size_t prefix) noexcept {
  if (from.size() < prefix) return {};
  std::size_t size = 0;
  for (std::size_t i = 0; i != prefix; ++i) size = size << 8 | static_cast<unsigned char>(from[i]);
  if (from.size() - prefix < size) return {};
  const bytes_of_hello part = from.substr(prefix, size);
  from.remove_prefix(prefix + size);
  return part;
}

/// Whether the client offers this protocol and no other.
bool offers_challenge(SSL* ssl) noexcept {
  bytes_of_hello extension = extension_of(ssl, TLSEXT_TYPE_application_layer_protocol_negotiation);
  bytes_of_hello list = take_part(extension, 2);
  return take_part(list, 1) == challenge_protocol && list.empty();
}

/// The name that the client asks for (RFC 6066 section 3); empty if there is none.
bytes_of_hello asked_name(SSL* ssl) noexcept {
  bytes_of_hello extension = extension_of(ssl, TLSEXT_TYPE_server_name);
  bytes_of_hello list = take_part(extension, 2);
  if (list.empty() || list.front() != TLSEXT_NAMETYPE_host_name) return {};
  list.remove_prefix(1);
  return take_part(list, 2);
}

int keep_site(SSL*, int*, void*) { return SSL_TLSEXT_ERR_OK; }

int agree_on_challenge(SSL*, const unsigned char** out, unsigned char* size, const unsigned char*,
                       unsigned, void*) {
  *out = reinterpret_cast<const unsigned char*>(challenge_protocol.data());
  *size = static_cast<unsigned char>(challenge_protocol.size());
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

/// A context for one handshake. It is not kept, because authorities ask seldom.
ctx_handle site_table::challenge_ctx(const pem_pair& answer) {
  const certificate_files from{.chain = "the answer to a challenge",
                               .key = "the answer to a challenge"};
  ctx_handle ctx = make_ctx(TLS_server_method(), version::tls12, version::tls13);
  use_certificate(ctx.get(), parse_certificate(answer, from), from);
  SSL_CTX_set_app_data(ctx.get(), this);  // the first site's seal_ticket() reads it
  SSL_CTX_set_tlsext_servername_callback(ctx.get(), &keep_site);
  SSL_CTX_set_alpn_select_cb(ctx.get(), &agree_on_challenge, nullptr);
  return ctx;
}

int site_table::look_at_hello(SSL* ssl, int* alert, void* of_table) {
  auto& table = *static_cast<site_table*>(of_table);
  try {
    if (offers_challenge(ssl)) {
      if (const auto answer = table.challenges_->find(asked_name(ssl))) {
        const ctx_handle ctx = table.challenge_ctx(*answer);
        // The SSL object keeps the context. Its settings, copied from the first site, are undone.
        if (SSL_set_SSL_CTX(ssl, ctx.get()) == nullptr || SSL_set_num_tickets(ssl, 0) != 1) {
          *alert = SSL_AD_INTERNAL_ERROR;
          return SSL_CLIENT_HELLO_ERROR;
        }
        SSL_set_options(ssl, SSL_OP_NO_TICKET);
        SSL_set_verify(ssl, SSL_VERIFY_NONE, nullptr);
        return SSL_CLIENT_HELLO_SUCCESS;
      }
    }
  } catch (const std::exception&) {
    drop_errors();
    *alert = SSL_AD_INTERNAL_ERROR;
    return SSL_CLIENT_HELLO_ERROR;
  }
  if (!table.vacant_) return SSL_CLIENT_HELLO_SUCCESS;
  *alert = SSL_AD_UNRECOGNIZED_NAME;
  return SSL_CLIENT_HELLO_ERROR;
}

}  // namespace heddle::tls::detail
