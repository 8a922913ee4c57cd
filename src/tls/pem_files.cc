// SPDX-License-Identifier: MIT
// Reading certificates and keys, and the settings of every SSL_CTX.
#include "tls/pem_files.hh"

#include <arpa/inet.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <cstring>

#include "heddle/base/error.hh"
#include "tls/pem_blocks.hh"
#include "tls/trouble.hh"
#include "tls/world.hh"

namespace heddle::tls::detail {
namespace {

// A key with a password is refused: a server has no terminal to ask for it.
int no_password(char*, int, int, void*) { return -1; }

bio_handle over(const std::string& text) {
  bio_handle bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (!bio) throw std::bad_alloc();
  return bio;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string text_of(const ASN1_STRING* s) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(s)),
          static_cast<std::size_t>(ASN1_STRING_length(s))};
}

std::string address_text(const ASN1_OCTET_STRING* bytes) {
  const std::string raw = text_of(bytes);
  const int family = raw.size() == 4 ? AF_INET : AF_INET6;
  char text[64];
  if (raw.size() != 4 && raw.size() != 16) return {};
  return ::inet_ntop(family, raw.data(), text, sizeof text) != nullptr ? text : "";
}

int number_of(version v) noexcept { return v == version::tls13 ? TLS1_3_VERSION : TLS1_2_VERSION; }

std::string read_ocsp(const std::string& path) {
  std::string der = read_whole(path, "OCSP answer");
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  using answer_handle = std::unique_ptr<OCSP_RESPONSE, freed_by<&OCSP_RESPONSE_free>>;
  const answer_handle answer(d2i_OCSP_RESPONSE(nullptr, &at, static_cast<long>(der.size())));
  if (!answer || OCSP_response_status(answer.get()) != OCSP_RESPONSE_STATUS_SUCCESSFUL)
    throw_errors("'" + path + "' is no good OCSP answer",
                 "`openssl ocsp -respout FILE` writes one, in DER");
  return der;
}

}  // namespace

std::vector<std::string> names_in(X509* certificate) {
  std::vector<std::string> names;
  using names_handle = std::unique_ptr<GENERAL_NAMES, freed_by<&GENERAL_NAMES_free>>;
  const names_handle list(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; list && i < sk_GENERAL_NAME_num(list.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(list.get(), i);
    if (name->type == GEN_DNS) names.push_back(lower(text_of(name->d.dNSName)));
    if (name->type == GEN_IPADD) names.push_back(address_text(name->d.iPAddress));
  }
  if (names.empty()) {
    X509_NAME* subject = X509_get_subject_name(certificate);
    const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (at >= 0)
      names.push_back(lower(text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)))));
  }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

loaded_certificate load_certificate(const certificate_files& files) {
  const std::string chain = read_whole(files.chain, "certificate");
  loaded_certificate c = parse_certificate({chain, read_whole(files.key, "key")}, files);
  if (!files.ocsp.empty()) c.ocsp = read_ocsp(files.ocsp);
  return c;
}

loaded_certificate parse_certificate(const pem_pair& texts, const certificate_files& files) {
  loaded_certificate c;
  std::vector<x509_handle> chain = certificates_of(texts.certificate, files.chain);
  if (chain.empty())
    throw_errors("'" + files.chain + "' holds no certificate",
                 "it wants text with -----BEGIN CERTIFICATE-----");
  c.leaf = std::move(chain.front());
  chain.erase(chain.begin());
  c.between = std::move(chain);
  static_cast<void>(pem_blocks(texts.key, files.key));
  drop_errors();
  c.key.reset(PEM_read_bio_PrivateKey(over(texts.key).get(), nullptr, &no_password, nullptr));
  if (!c.key)
    throw_errors("'" + files.key + "' holds no key",
                 "it wants text with -----BEGIN PRIVATE KEY-----, without a password");
  c.names = names_in(c.leaf.get());
  return c;
}

void use_certificate(SSL_CTX* ctx, const loaded_certificate& c, const certificate_files& files) {
  drop_errors();
  if (SSL_CTX_use_certificate(ctx, c.leaf.get()) != 1)
    throw_errors("the certificate in '" + files.chain + "' cannot be used", "");
  for (const x509_handle& each : c.between)
    if (SSL_CTX_add1_chain_cert(ctx, each.get()) != 1)
      throw_errors("the chain in '" + files.chain + "' cannot be used", "");
  if (SSL_CTX_use_PrivateKey(ctx, c.key.get()) != 1 || SSL_CTX_check_private_key(ctx) != 1)
    throw_errors(
        "the key in '" + files.key + "' is not that of the certificate in '" + files.chain + "'",
        "give the two files that were made together");
}

ctx_handle make_ctx(const SSL_METHOD* method, version oldest, version newest) {
  drop_errors();
  use_random_numbers_of_world();
  ctx_handle ctx(SSL_CTX_new(method));
  if (!ctx) throw_errors("OpenSSL does not start", "is its configuration file in order?");
  if (SSL_CTX_set_min_proto_version(ctx.get(), number_of(oldest)) != 1 ||
      SSL_CTX_set_max_proto_version(ctx.get(), number_of(newest)) != 1 ||
      // For TLS 1.2, only ciphers with forward secrecy: a leaked key opens no recorded traffic.
      SSL_CTX_set_cipher_list(ctx.get(), "ECDHE+AESGCM:ECDHE+CHACHA20") != 1)
    throw_errors("OpenSSL does not speak TLS 1.2 or 1.3 here", "look at its configuration file");
  SSL_CTX_set_options(ctx.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_mode(ctx.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // With read-ahead, further records would lie in OpenSSL's buffer instead of ours.
  SSL_CTX_set_read_ahead(ctx.get(), 0);
  SSL_CTX_set_max_early_data(ctx.get(), 0);
  SSL_CTX_set_recv_max_early_data(ctx.get(), 0);
  return ctx;
}

std::string alpn_wire(const std::vector<std::string>& protocols) {
  std::string wire;
  for (const std::string& p : protocols) {
    if (p.empty() || p.size() > 255)
      throw failure(std::make_error_code(std::errc::invalid_argument),
                    "a protocol of ALPN has a name of 1 to 255 bytes");
    wire += static_cast<char>(p.size());
    wire += p;
  }
  return wire;
}

}  // namespace heddle::tls::detail
