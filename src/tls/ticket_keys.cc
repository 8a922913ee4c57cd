// SPDX-License-Identifier: MIT
// Making, rotating and using ticket keys: AES-256-CBC and HMAC-SHA256, as OpenSSL lays tickets out.
#include "tls/ticket_keys.hh"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstring>

namespace heddle::tls::detail {

ticket_keys::~ticket_keys() { OPENSSL_cleanse(keys_.data(), sizeof keys_); }

bool ticket_keys::renew(time_point now) noexcept {
  key fresh;
  const bool made = RAND_bytes(fresh.name, sizeof fresh.name) == 1 &&
                    RAND_priv_bytes(fresh.cipher, sizeof fresh.cipher) == 1 &&
                    RAND_priv_bytes(fresh.mac, sizeof fresh.mac) == 1;
  if (made) {
    fresh.made = true;
    std::shift_right(keys_.begin(), keys_.end(), 1);
    keys_[0] = fresh;
    made_at_ = now;
  }
  OPENSSL_cleanse(&fresh, sizeof fresh);
  return made;
}

bool ticket_keys::use(const key& k, unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac,
                      bool seal) noexcept {
  char digest[] = "SHA256";
  const OSSL_PARAM params[] = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, const_cast<unsigned char*>(k.mac),
                                        sizeof k.mac),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_end(),
  };
  return EVP_MAC_CTX_set_params(mac, params) == 1 &&
         EVP_CipherInit_ex2(cipher, EVP_aes_256_cbc(), k.cipher, iv, seal ? 1 : 0, nullptr) == 1;
}

int ticket_keys::prepare(unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                         EVP_MAC_CTX* mac, bool seal) noexcept {
  const std::scoped_lock held(lock_);
  const time_point now = clock::now();
  if (!keys_[0].made || now - made_at_ >= life_) {
    if (!renew(now)) return -1;
  }
  if (seal) {
    const int iv_bytes = EVP_CIPHER_get_iv_length(EVP_aes_256_cbc());
    if (RAND_bytes(iv, iv_bytes) != 1) return -1;
    std::memcpy(name, keys_[0].name, name_bytes);
    return use(keys_[0], iv, cipher, mac, true) ? 1 : -1;
  }
  for (const key& k : keys_) {
    if (!k.made || std::memcmp(k.name, name, name_bytes) != 0) continue;
    if (!use(k, iv, cipher, mac, false)) return -1;
    return &k == keys_.data() ? 1 : 2;
  }
  return 0;
}

}  // namespace heddle::tls::detail
