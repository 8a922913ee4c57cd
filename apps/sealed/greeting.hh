// SPDX-License-Identifier: MIT
// The greeting: one message each way, before the first record. Each side sends a fresh X25519 key;
// what both compute from them, mixed with the shared key and with both messages, gives the keys of
// the two directions. Whoever lacks the shared key cannot make a record that the other side opens.
// docs/reference/sealed.md specifies the bytes.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "record.hh"

struct evp_pkey_st;

namespace sealed {

inline constexpr std::size_t client_greeting_bytes = 8 + 32;
inline constexpr std::size_t server_greeting_bytes = 8 + 1 + 3 + 32;
using client_greeting = std::array<char, client_greeting_bytes>;
using server_greeting = std::array<char, server_greeting_bytes>;

/// What the server has chosen for the connection.
struct agreement {
  cipher algorithm = cipher::aes_256_gcm;
  std::size_t record_bytes = 16 * 1024;  ///< content of a full data record
};

/// The keys of one connection.
struct session_secrets {
  direction_secret from_client;
  direction_secret from_server;
};

/// One side's X25519 key, used for one connection. Thread: one color at a time.
class key_pair {
 public:
  key_pair();
  key_pair(const key_pair&) = delete;
  key_pair& operator=(const key_pair&) = delete;
  ~key_pair();

  [[nodiscard]] std::array<unsigned char, 32> public_key() const;
  /// Fails with trouble when the other side's key is none that X25519 can use.
  [[nodiscard]] secret_bytes<32> agree(const unsigned char* other_public) const;

 private:
  evp_pkey_st* key_;
};

[[nodiscard]] client_greeting greet_server(const key_pair& own);
/// Fails with trouble when this is no client of ours.
void check_greeting(const client_greeting& theirs);
[[nodiscard]] server_greeting greet_client(const key_pair& own, const agreement& chosen);
/// Fails with trouble when this is no server of ours, or chose what we do not know.
[[nodiscard]] agreement read_agreement(const server_greeting& theirs);

/// The same secrets on both sides. Fails as key_pair::agree().
[[nodiscard]] session_secrets secrets_of_server(const key_pair& own, const shared_key& key,
                                                const client_greeting& theirs,
                                                const server_greeting& ours);
[[nodiscard]] session_secrets secrets_of_client(const key_pair& own, const shared_key& key,
                                                const client_greeting& ours,
                                                const server_greeting& theirs);

}  // namespace sealed
