// SPDX-License-Identifier: MIT
// Keys by HKDF (RFC 5869) with SHA-256, and contexts that keep them.
#include "cipher.hh"

#include <openssl/core_names.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <stdexcept>
#include <string>

namespace seccomm {

void must(int answer, const char* what) {
  if (answer != 1) throw std::runtime_error(std::string("OpenSSL cannot ") + what);
}

shared_key make_key() {
  shared_key key;
  must(RAND_bytes(plain(key.data()), static_cast<int>(key.size())), "make a random key");
  return key;
}

shared_key derive_key(const shared_key& from, const char* cipher, side sender) {
  struct free_kdf {
    void operator()(EVP_KDF* k) const noexcept { EVP_KDF_free(k); }
    void operator()(EVP_KDF_CTX* c) const noexcept { EVP_KDF_CTX_free(c); }
  };
  const std::unique_ptr<EVP_KDF, free_kdf> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  must(kdf != nullptr, "find HKDF");
  const std::unique_ptr<EVP_KDF_CTX, free_kdf> context(EVP_KDF_CTX_new(kdf.get()));
  must(context != nullptr, "use HKDF");
  std::string digest = "SHA256";
  std::string info =
      std::string("seccomm ") + cipher + (sender == side::first ? " first" : " second");
  shared_key secret = from;
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), digest.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret.data(), secret.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
      OSSL_PARAM_construct_end()};
  shared_key key;
  must(EVP_KDF_derive(context.get(), plain(key.data()), key.size(), parameters), "derive a key");
  return key;
}

cipher_context make_context(const EVP_CIPHER* cipher, const shared_key& key, bool encrypts) {
  cipher_context made(EVP_CIPHER_CTX_new());
  must(made != nullptr, "make a context");
  must(EVP_CipherInit_ex(made.get(), cipher, nullptr,
                         reinterpret_cast<const unsigned char*>(key.data()), nullptr,
                         encrypts ? 1 : 0),
       "take a key");
  return made;
}

}  // namespace seccomm
