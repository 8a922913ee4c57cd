// SPDX-License-Identifier: MIT
// X25519 and HKDF with OpenSSL, and the bytes of the two greetings.
#include "greeting.hh"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <cstring>

namespace sealed {
namespace {

constexpr std::string_view magic = "sealed 1";
constexpr std::size_t client_key_at = 8;
constexpr std::size_t server_key_at = 12;

template <auto Free>
struct freed_by {
  template <class T>
  void operator()(T* at) const noexcept {
    Free(at);
  }
};
template <class T, auto Free>
using owned = std::unique_ptr<T, freed_by<Free>>;

void must(bool good) {
  if (!good) throw trouble("OpenSSL could not make the keys of a connection: is memory short?");
}

/// HKDF-SHA256 of what both sides agreed on: the shared key as its salt, both greetings as its
/// label, so that a change to any byte of them leaves the sides with different keys.
session_secrets expand(const shared_key& key, const secret_bytes<32>& agreed,
                       const client_greeting& client, const server_greeting& server) {
  std::string label(magic);
  label.append(client.data(), client.size()).append(server.data(), server.size());
  secret_bytes<88> out;
  const owned<EVP_KDF, EVP_KDF_free> method(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  must(method != nullptr);
  const owned<EVP_KDF_CTX, EVP_KDF_CTX_free> state(EVP_KDF_CTX_new(method.get()));
  must(state != nullptr);
  char digest[] = "SHA256";
  const auto octets = [](const char* name, const void* at, std::size_t size) {
    return OSSL_PARAM_construct_octet_string(name, const_cast<void*>(at), size);
  };
  const OSSL_PARAM settings[] = {OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
                                 octets(OSSL_KDF_PARAM_SALT, key.data(), key.size()),
                                 octets(OSSL_KDF_PARAM_KEY, agreed.data(), agreed.size()),
                                 octets(OSSL_KDF_PARAM_INFO, label.data(), label.size()),
                                 OSSL_PARAM_construct_end()};
  must(EVP_KDF_derive(state.get(), out.data(), out.size(), settings) == 1);
  session_secrets made;
  const unsigned char* from = out.data();
  for (direction_secret* d : {&made.from_client, &made.from_server}) {
    std::memcpy(d->key.data(), from, d->key.size());
    std::memcpy(d->nonce.data(), from + d->key.size(), d->nonce.size());
    from += d->key.size() + d->nonce.size();
  }
  return made;
}

const unsigned char* key_in(const char* greeting, std::size_t at) noexcept {
  return reinterpret_cast<const unsigned char*>(greeting) + at;
}

}  // namespace

key_pair::key_pair() {
  secret_bytes<32> fresh;
  fill_random(fresh.data(), fresh.size());
  key_ = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, fresh.data(), fresh.size());
  must(key_ != nullptr);
}

key_pair::~key_pair() { EVP_PKEY_free(key_); }

std::array<unsigned char, 32> key_pair::public_key() const {
  std::array<unsigned char, 32> out;
  std::size_t size = out.size();
  must(EVP_PKEY_get_raw_public_key(key_, out.data(), &size) == 1);
  return out;
}

secret_bytes<32> key_pair::agree(const unsigned char* other_public) const {
  const owned<EVP_PKEY, EVP_PKEY_free> other(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, other_public, 32));
  must(other != nullptr);
  const owned<EVP_PKEY_CTX, EVP_PKEY_CTX_free> state(EVP_PKEY_CTX_new(key_, nullptr));
  must(state != nullptr && EVP_PKEY_derive_init(state.get()) == 1);
  secret_bytes<32> out;
  std::size_t size = out.size();
  // OpenSSL refuses points of small order, with which a stranger would know the outcome.
  if (EVP_PKEY_derive_set_peer(state.get(), other.get()) != 1 ||
      EVP_PKEY_derive(state.get(), out.data(), &size) != 1)
    throw trouble("the greeting holds a key that is good for nothing");
  return out;
}

client_greeting greet_server(const key_pair& own) {
  client_greeting out;
  std::memcpy(out.data(), magic.data(), magic.size());
  std::memcpy(out.data() + client_key_at, own.public_key().data(), 32);
  return out;
}

void check_greeting(const client_greeting& theirs) {
  if (std::string_view(theirs.data(), magic.size()) != magic)
    throw trouble("the greeting is not that of `sealed`, version 1");
}

server_greeting greet_client(const key_pair& own, const agreement& chosen) {
  server_greeting out;
  std::memcpy(out.data(), magic.data(), magic.size());
  out[8] = static_cast<char>(chosen.algorithm);
  for (std::size_t i = 0; i < 3; ++i)
    out[9 + i] = static_cast<char>(chosen.record_bytes >> (16 - 8 * i));
  std::memcpy(out.data() + server_key_at, own.public_key().data(), 32);
  return out;
}

agreement read_agreement(const server_greeting& theirs) {
  if (std::string_view(theirs.data(), magic.size()) != magic)
    throw trouble("the greeting is not that of `sealed serve`, version 1: is it another server?");
  const unsigned char* at = key_in(theirs.data(), 8);
  const agreement chosen{static_cast<cipher>(at[0]),
                         std::size_t{at[1]} << 16 | std::size_t{at[2]} << 8 | at[3]};
  if (at[0] < 1 || at[0] > 2) throw trouble("the server chose a cipher that is not known here");
  if (chosen.record_bytes < record_bytes_min || chosen.record_bytes > record_bytes_max)
    throw trouble("the server chose records of " + std::to_string(chosen.record_bytes) + " bytes");
  return chosen;
}

session_secrets secrets_of_server(const key_pair& own, const shared_key& key,
                                  const client_greeting& theirs, const server_greeting& ours) {
  return expand(key, own.agree(key_in(theirs.data(), client_key_at)), theirs, ours);
}

session_secrets secrets_of_client(const key_pair& own, const shared_key& key,
                                  const client_greeting& ours, const server_greeting& theirs) {
  return expand(key, own.agree(key_in(theirs.data(), server_key_at)), ours, theirs);
}

}  // namespace sealed
