// SPDX-License-Identifier: MIT
// Keys and digests by OpenSSL. Each failure of OpenSSL's is reported as one of ours, with its
// reason.
#include "acme/keys.hh"

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>

#include <algorithm>

#include "acme/handles.hh"
#include "heddle/base/error.hh"
#include "heddle/http/base64.hh"
#include "heddle/probe/json.hh"
#include "heddle/tls/detail/random_numbers.hh"

namespace heddle::acme::detail {
namespace {

constexpr int coordinate_bytes = 32;  // on P-256

using digest_handle = std::unique_ptr<EVP_MD_CTX, freed_by<&EVP_MD_CTX_free>>;
using signature_handle = std::unique_ptr<ECDSA_SIG, freed_by<&ECDSA_SIG_free>>;
using number_handle = std::unique_ptr<BIGNUM, freed_by<&BN_free>>;

/// Throws failure with OpenSSL's reason if `good` is false.
void demand_good(bool good, const char* what) {
  if (good) return;
  const char* const reason = ERR_reason_error_string(ERR_peek_error());
  std::string text(what);
  if (reason != nullptr) (text += ": ") += reason;
  ERR_clear_error();
  throw failure(std::make_error_code(std::errc::invalid_argument), text);
}

const unsigned char* bytes_of(std::string_view text) noexcept {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string as_coordinate(const BIGNUM* number) {
  unsigned char bytes[coordinate_bytes];
  demand_good(BN_bn2binpad(number, bytes, coordinate_bytes) == coordinate_bytes,
              "a number of an account key is too large");
  return {reinterpret_cast<const char*>(bytes), sizeof bytes};
}

std::string coordinate(const EVP_PKEY* key, const char* name) {
  BIGNUM* number = nullptr;
  demand_good(EVP_PKEY_get_bn_param(key, name, &number) == 1,
              "an account key must be one on the curve P-256");
  const number_handle held(number);
  return to_base64url(as_coordinate(number));
}

}  // namespace

std::string to_base64url(std::string_view bytes) {
  std::string text = http::to_base64(bytes);
  while (text.ends_with('=')) text.pop_back();
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
}

std::optional<std::string> from_base64url(std::string_view text) {
  if (text.find_first_of("+/=") != text.npos) return std::nullopt;
  std::string padded(text);
  std::ranges::replace(padded, '-', '+');
  std::ranges::replace(padded, '_', '/');
  padded.append((4 - padded.size() % 4) % 4, '=');
  return http::from_base64(padded);
}

std::string der_of(std::string_view pem) {
  const std::size_t begin = pem.find("-----BEGIN ");
  const std::size_t from = begin == pem.npos ? begin : pem.find('\n', begin);
  const std::size_t to = from == pem.npos ? from : pem.find("-----END ", from);
  std::string letters;
  if (to != pem.npos) letters = pem.substr(from, to - from);
  std::erase_if(letters, [](char c) { return c == '\n' || c == '\r'; });
  const auto bytes = http::from_base64(letters);
  if (!bytes || bytes->empty())
    throw failure(std::make_error_code(std::errc::bad_message), "this text is no PEM");
  return to_base64url(*bytes);
}

std::string sha256(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  demand_good(EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr) == 1,
              "a digest cannot be made");
  return {reinterpret_cast<const char*>(digest), size};
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  demand_good(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(bytes),
                   bytes.size(), digest, &size) != nullptr,
              "a digest cannot be made");
  return {reinterpret_cast<const char*>(digest), size};
}

struct account_key::held {
  key_handle key;
};

account_key::account_key(std::shared_ptr<const held> key) : key_(std::move(key)) {
  EVP_PKEY* const k = key_->key.get();
  demand_good(EVP_PKEY_is_a(k, "EC") == 1 && EVP_PKEY_get_bits(k) == coordinate_bytes * 8,
              "an account key must be one on the curve P-256");
  jwk_ = R"({"crv":"P-256","kty":"EC","x":")" + coordinate(k, OSSL_PKEY_PARAM_EC_PUB_X) +
         R"(","y":")" + coordinate(k, OSSL_PKEY_PARAM_EC_PUB_Y) + R"("})";
}

account_key account_key::make() {
  ERR_clear_error();
  tls::detail::use_random_numbers_of_world();
  key_handle key(EVP_EC_gen("P-256"));
  demand_good(key != nullptr, "an account key cannot be made");
  return account_key(std::make_shared<const held>(std::move(key)));
}

account_key account_key::parse(std::string_view pem) {
  ERR_clear_error();
  const bio_handle bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  if (!bio) throw std::bad_alloc();
  const auto no_password = [](char*, int, int, void*) { return -1; };
  key_handle key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  demand_good(key != nullptr, "the account's key cannot be read");
  return account_key(std::make_shared<const held>(std::move(key)));
}

std::string account_key::pem() const {
  const bio_handle bio(BIO_new(BIO_s_secmem()));
  demand_good(bio && PEM_write_bio_PrivateKey(bio.get(), key_->key.get(), nullptr, nullptr, 0,
                                              nullptr, nullptr) == 1,
              "an account key cannot be written");
  char* at = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &at);
  return {at, static_cast<std::size_t>(size)};
}

std::string account_key::sign(std::string_view bytes) const {
  ERR_clear_error();
  const digest_handle digest(EVP_MD_CTX_new());
  unsigned char der[128];  // a signature by P-256 has at most 72
  std::size_t size = sizeof der;
  demand_good(
      digest &&
          EVP_DigestSignInit(digest.get(), nullptr, EVP_sha256(), nullptr, key_->key.get()) == 1 &&
          EVP_DigestSign(digest.get(), der, &size, bytes_of(bytes), bytes.size()) == 1,
      "a message cannot be signed");
  const unsigned char* at = der;
  const signature_handle pair(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(size)));
  demand_good(pair != nullptr, "a message cannot be signed");
  return as_coordinate(ECDSA_SIG_get0_r(pair.get())) + as_coordinate(ECDSA_SIG_get0_s(pair.get()));
}

namespace {

std::string flattened(const std::string& header, const std::string& payload,
                      std::string_view signature) {
  return R"({"protected":")" + header + R"(","payload":")" + payload + R"(","signature":")" +
         to_base64url(signature) + R"("})";
}

}  // namespace

std::string signed_message(const account_key& by, std::string_view header,
                           std::string_view payload) {
  const std::string head = to_base64url(header);
  const std::string body = to_base64url(payload);
  return flattened(head, body, by.sign(head + '.' + body));
}

std::string account_binding(std::string_view id, std::string_view key, std::string_view url,
                            const account_key& account) {
  const std::string head = to_base64url(R"({"alg":"HS256","kid":)" + json_quoted(id) +
                                        R"(,"url":)" + json_quoted(url) + '}');
  const std::string body = to_base64url(account.jwk());
  return flattened(head, body, hmac_sha256(key, head + '.' + body));
}

}  // namespace heddle::acme::detail
