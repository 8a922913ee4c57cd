// SPDX-License-Identifier: MIT
// Making and signing certificates: version 3, ECDSA with P-256 and SHA-256, random serial numbers.
#include "heddle/tls/authority.hh"

#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include <algorithm>

#include "heddle/base/error.hh"
#include "heddle/tls/challenge.hh"
#include "tls/pem_blocks.hh"
#include "tls/pem_files.hh"
#include "tls/trouble.hh"
#include "tls/world.hh"

namespace heddle::tls {
namespace {

using namespace detail;

// A clock that is a little slow must not refuse a certificate that was made just now.
constexpr long backdated_s = 3600;
constexpr int serial_bits = 127;  // positive, and at most 20 bytes (RFC 5280)
constexpr std::size_t common_name_max = 64;
constexpr std::size_t digest_bytes = 32;                       // SHA-256
constexpr const char* acme_identifier = "1.3.6.1.5.5.7.1.31";  // RFC 8737 section 6.1
constexpr std::chrono::days challenge_life(7);

struct free_extensions {
  void operator()(STACK_OF(X509_EXTENSION) * list) const noexcept {
    sk_X509_EXTENSION_pop_free(list, X509_EXTENSION_free);
  }
};

void check(bool good, const char* what) {
  if (!good) throw_errors(what, "");
}

std::string text_in(BIO* bio) {
  char* at = nullptr;
  const long size = BIO_get_mem_data(bio, &at);
  return {at, static_cast<std::size_t>(size)};
}

pem_pair as_text(X509* certificate, EVP_PKEY* key) {
  const bio_handle of_certificate(BIO_new(BIO_s_mem()));
  const bio_handle of_key(BIO_new(BIO_s_secmem()));
  check(of_certificate && of_key && PEM_write_bio_X509(of_certificate.get(), certificate) == 1 &&
            PEM_write_bio_PrivateKey(of_key.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1,
        "a certificate cannot be written");
  return {text_in(of_certificate.get()), text_in(of_key.get())};
}

template <class T>
T parsed(T (*read)(BIO*), std::string_view text, const char* what) {
  drop_errors();
  const bio_handle bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (!bio) throw std::bad_alloc();
  T made = read(bio.get());
  if (!made) throw_errors(what, "it wants PEM text");
  return made;
}

x509_handle certificate_in(std::string_view text) {
  return parsed<x509_handle>(
      [](BIO* b) { return x509_handle(PEM_read_bio_X509(b, nullptr, nullptr, nullptr)); }, text,
      "this text holds no certificate");
}

key_handle key_in(std::string_view text) {
  return parsed<key_handle>(
      [](BIO* b) { return key_handle(PEM_read_bio_PrivateKey(b, nullptr, nullptr, nullptr)); },
      text, "this text holds no key");
}

bool is_name(std::string_view name) {
  const std::string_view host = name.starts_with("*.") ? name.substr(2) : name;
  return !host.empty() && name.size() <= 253 && std::ranges::all_of(host, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  });
}

/// The names in OpenSSL's form, "DNS:localhost,IP:127.0.0.1". No valid name holds a comma.
std::string alternative_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    unsigned char bytes[16];
    const bool address = ::inet_pton(AF_INET, name.c_str(), bytes) == 1 ||
                         ::inet_pton(AF_INET6, name.c_str(), bytes) == 1;
    if (!address && !is_name(name))
      throw failure(std::make_error_code(std::errc::invalid_argument),
                    "'" + name + "' is no name of a host and no address");
    if (!text.empty()) text += ',';
    (text += address ? "IP:" : "DNS:") += name;
  }
  return text;
}

void extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  using extension_handle = std::unique_ptr<X509_EXTENSION, freed_by<&X509_EXTENSION_free>>;
  const extension_handle made(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  check(made && X509_add_ext(certificate, made.get(), -1) == 1, "a certificate cannot be extended");
}

void name_subject(X509* certificate, std::string_view name) {
  X509_NAME* const subject = X509_get_subject_name(certificate);
  const std::string_view text = name.substr(0, common_name_max);
  check(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()), -1, 0) == 1,
        "a certificate cannot be named");
}

x509_handle begin_certificate(std::string_view name, EVP_PKEY* key, std::chrono::days life) {
  x509_handle made(X509_new());
  if (!made) throw std::bad_alloc();
  X509* const x = made.get();
  using number_handle = std::unique_ptr<BIGNUM, freed_by<&BN_free>>;
  const number_handle serial(BN_new());
  const long seconds = static_cast<long>(std::chrono::seconds(life).count());
  check(X509_set_version(x, X509_VERSION_3) == 1 && serial &&
            BN_rand(serial.get(), serial_bits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
            BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(x)) != nullptr &&
            X509_gmtime_adj(X509_getm_notBefore(x), -backdated_s) != nullptr &&
            X509_gmtime_adj(X509_getm_notAfter(x), seconds) != nullptr &&
            X509_set_pubkey(x, key) == 1,
        "a certificate cannot be made");
  name_subject(x, name);
  return made;
}

key_handle make_key() {
  drop_errors();
  use_random_numbers_of_world();
  key_handle key(EVP_EC_gen("P-256"));
  check(key != nullptr, "a key cannot be made");
  return key;
}

}  // namespace

pem_pair make_authority(std::string_view name, std::chrono::days life) {
  const key_handle key = make_key();
  const x509_handle made = begin_certificate(name, key.get(), life);
  X509* const x = made.get();
  check(X509_set_issuer_name(x, X509_get_subject_name(x)) == 1, "an authority cannot be made");
  // The authority signs certificates of servers and clients, and no further authorities.
  extend(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  extend(x, x, NID_key_usage, "critical,keyCertSign,cRLSign");
  extend(x, x, NID_subject_key_identifier, "hash");
  check(X509_sign(x, key.get(), EVP_sha256()) > 0, "an authority cannot be signed");
  return as_text(x, key.get());
}

pem_pair issue(const pem_pair& authority, const certificate_request& asked) {
  if (asked.names.empty())
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "a certificate needs a name, localhost for one");
  const std::string names = alternative_names(asked.names);
  const x509_handle issuer = certificate_in(authority.certificate);
  const key_handle issuer_key = key_in(authority.key);
  const key_handle key = make_key();
  const x509_handle made = begin_certificate(asked.names.front(), key.get(), asked.life);
  X509* const x = made.get();
  check(X509_set_issuer_name(x, X509_get_subject_name(issuer.get())) == 1,
        "a certificate cannot be made");
  extend(x, issuer.get(), NID_basic_constraints, "critical,CA:FALSE");
  extend(x, issuer.get(), NID_key_usage, "critical,digitalSignature");
  extend(x, issuer.get(), NID_ext_key_usage, asked.for_client ? "clientAuth" : "serverAuth");
  extend(x, issuer.get(), NID_subject_alt_name, names);
  extend(x, issuer.get(), NID_subject_key_identifier, "hash");
  extend(x, issuer.get(), NID_authority_key_identifier, "keyid");
  check(X509_sign(x, issuer_key.get(), EVP_sha256()) > 0, "a certificate cannot be signed");
  return as_text(x, key.get());
}

pem_pair challenge_certificate(const std::string& name, std::string_view digest) {
  if (digest.size() != digest_bytes)
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "the digest of a key authorization has 32 bytes: it is one of SHA-256");
  const std::string names = alternative_names({name});
  const key_handle key = make_key();
  const x509_handle made = begin_certificate(name, key.get(), challenge_life);
  X509* const x = made.get();
  check(X509_set_issuer_name(x, X509_get_subject_name(x)) == 1, "a certificate cannot be made");
  extend(x, x, NID_subject_alt_name, names);
  // The value is an OCTET STRING (RFC 8737 section 3) inside the extension's OCTET STRING.
  std::string value = {'\x04', static_cast<char>(digest_bytes)};
  value += digest;
  using text_handle = std::unique_ptr<ASN1_OCTET_STRING, freed_by<&ASN1_OCTET_STRING_free>>;
  using object_handle = std::unique_ptr<ASN1_OBJECT, freed_by<&ASN1_OBJECT_free>>;
  using extension_handle = std::unique_ptr<X509_EXTENSION, freed_by<&X509_EXTENSION_free>>;
  const text_handle text(ASN1_OCTET_STRING_new());
  const object_handle kind(OBJ_txt2obj(acme_identifier, 1));
  check(text && kind &&
            ASN1_OCTET_STRING_set(text.get(), reinterpret_cast<const unsigned char*>(value.data()),
                                  static_cast<int>(value.size())) == 1,
        "a certificate cannot be extended");
  const extension_handle extension(
      X509_EXTENSION_create_by_OBJ(nullptr, kind.get(), 1, text.get()));
  check(extension && X509_add_ext(x, extension.get(), -1) == 1, "a certificate cannot be extended");
  check(X509_sign(x, key.get(), EVP_sha256()) > 0, "a certificate cannot be signed");
  return as_text(x, key.get());
}

pem_pair signing_request(const std::vector<std::string>& names) {
  if (names.empty())
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "a request for a certificate needs a name");
  const std::string text = alternative_names(names);
  const key_handle key = make_key();
  using request_handle = std::unique_ptr<X509_REQ, freed_by<&X509_REQ_free>>;
  const request_handle made(X509_REQ_new());
  if (!made) throw std::bad_alloc();
  // The subject stays empty: names are in the extension, and the common name is obsolete.
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, nullptr, nullptr, made.get(), nullptr, 0);
  using list_handle = std::unique_ptr<STACK_OF(X509_EXTENSION), free_extensions>;
  list_handle list(sk_X509_EXTENSION_new_null());
  X509_EXTENSION* const of_names =
      X509V3_EXT_conf_nid(nullptr, &context, NID_subject_alt_name, text.c_str());
  check(list && of_names != nullptr && sk_X509_EXTENSION_push(list.get(), of_names) > 0,
        "a request for a certificate cannot be extended");
  check(X509_REQ_add_extensions(made.get(), list.get()) == 1 &&
            X509_REQ_set_pubkey(made.get(), key.get()) == 1 &&
            X509_REQ_sign(made.get(), key.get(), EVP_sha256()) > 0,
        "a request for a certificate cannot be made");
  const bio_handle of_request(BIO_new(BIO_s_mem()));
  const bio_handle of_key(BIO_new(BIO_s_secmem()));
  check(of_request && of_key && PEM_write_bio_X509_REQ(of_request.get(), made.get()) == 1 &&
            PEM_write_bio_PrivateKey(of_key.get(), key.get(), nullptr, nullptr, 0, nullptr,
                                     nullptr) == 1,
        "a request for a certificate cannot be written");
  return {text_in(of_request.get()), text_in(of_key.get())};
}

std::chrono::sys_seconds expiry_of(std::string_view certificate) {
  const x509_handle x = certificate_in(certificate);
  int days = 0;
  int seconds = 0;
  using time_handle = std::unique_ptr<ASN1_TIME, freed_by<&ASN1_STRING_free>>;
  const time_handle epoch(ASN1_TIME_set(nullptr, 0));
  check(epoch && ASN1_TIME_diff(&days, &seconds, epoch.get(), X509_get0_notAfter(x.get())) == 1,
        "the end of a certificate cannot be read");
  return std::chrono::sys_seconds(std::chrono::days(days) + std::chrono::seconds(seconds));
}

std::vector<std::string> names_of(std::string_view certificate) {
  return names_in(certificate_in(certificate).get());
}

void check_chain(std::string_view chain, const std::string& where) {
  if (certificates_of(chain, where).empty())
    throw failure(
        std::make_error_code(std::errc::invalid_argument),
        "'" + where + "' holds no certificate; it wants text with -----BEGIN CERTIFICATE-----");
}

}  // namespace heddle::tls
