// SPDX-License-Identifier: MIT
// What the ciphers share: OpenSSL's contexts, keys of their own, and nonces made of the packet's
// number, which no key sees twice.
#pragma once

#include <openssl/evp.h>

#include <memory>

#include "channel.hh"

namespace seccomm {

struct context_deleter {
  void operator()(EVP_CIPHER_CTX* c) const noexcept { EVP_CIPHER_CTX_free(c); }
};
using cipher_context = std::unique_ptr<EVP_CIPHER_CTX, context_deleter>;

/// The key for one cipher and one direction. Fails with std::runtime_error.
[[nodiscard]] shared_key derive_key(const shared_key& from, const char* cipher, side sender);

/// A context with this key for encrypting or decrypting; the nonce comes with each packet.
[[nodiscard]] cipher_context make_context(const EVP_CIPHER* cipher, const shared_key& key,
                                          bool encrypts);

/// The packet's number in the last 8 bytes of a nonce of N.
template <std::size_t N>
[[nodiscard]] std::array<unsigned char, N> nonce_of(std::uint64_t number) noexcept {
  std::array<unsigned char, N> nonce{};
  for (std::size_t i = 0; i < 8; ++i)
    nonce[N - 8 + i] = static_cast<unsigned char>(number >> (8 * i));
  return nonce;
}

[[nodiscard]] inline unsigned char* plain(std::byte* at) noexcept {
  return reinterpret_cast<unsigned char*>(at);
}

/// Throws when OpenSSL says no where it never does.
void must(int answer, const char* what);

}  // namespace seccomm
