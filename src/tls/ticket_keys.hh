// SPDX-License-Identifier: MIT
// The keys that seal session tickets. The newest seals; it and the two before it open. They live in
// memory only, so that a copy of the disk opens no recorded session.
#pragma once

#include <openssl/ssl.h>

#include <array>
#include <mutex>

#include "heddle/base/clock.hh"

namespace heddle::tls::detail {

/// Seals and opens session tickets, and rotates the keys. Thread: any.
class ticket_keys {
 public:
  explicit ticket_keys(nanoseconds life) noexcept : life_(life) {}
  ticket_keys(const ticket_keys&) = delete;
  ~ticket_keys();

  /// Prepares to seal or to open a ticket. Gives 1 if it can; 2 if an old key opens the ticket and
  /// the newest should seal it again; 0 if no key opens it; -1 on failure. For
  /// SSL_CTX_set_tlsext_ticket_key_evp_cb.
  int prepare(unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac,
              bool seal) noexcept;

 private:
  static constexpr std::size_t name_bytes = 16;
  struct key {
    unsigned char name[name_bytes] = {};
    unsigned char cipher[32] = {};
    unsigned char mac[32] = {};
    bool made = false;
  };
  [[nodiscard]] bool renew(time_point now) noexcept;
  [[nodiscard]] static bool use(const key& k, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                                EVP_MAC_CTX* mac, bool seal) noexcept;

  std::mutex lock_;
  std::array<key, 3> keys_;  // the newest first
  time_point made_at_{};
  nanoseconds life_;
};

}  // namespace heddle::tls::detail
