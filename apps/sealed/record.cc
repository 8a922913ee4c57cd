// SPDX-License-Identifier: MIT
// Sealing and opening records with OpenSSL.
#include "record.hh"

#include <openssl/evp.h>

#include <algorithm>
#include <utility>

namespace sealed {
namespace {

// Far below where AES-GCM's margins end (2^32 records of 16 KiB are 64 TiB on one connection).
constexpr std::uint64_t records_max = std::uint64_t{1} << 32;

unsigned char* bytes_of(std::byte* at) noexcept { return reinterpret_cast<unsigned char*>(at); }
const unsigned char* bytes_of(const std::byte* at) noexcept {
  return reinterpret_cast<const unsigned char*>(at);
}

const EVP_CIPHER* algorithm_of(cipher c) noexcept {
  return c == cipher::aes_256_gcm ? EVP_aes_256_gcm() : EVP_chacha20_poly1305();
}

void must(int outcome) {
  if (outcome != 1) throw trouble("OpenSSL could not encrypt or decrypt: is memory short?");
}

}  // namespace

std::string_view name_of(cipher c) noexcept {
  return c == cipher::aes_256_gcm ? "aes-256-gcm" : "chacha20-poly1305";
}

std::optional<cipher> cipher_of(std::string_view name) noexcept {
  for (const cipher c : {cipher::aes_256_gcm, cipher::chacha20_poly1305})
    if (name == name_of(c)) return c;
  return {};
}

std::optional<record_header> parse_header(heddle::byte_view bytes) noexcept {
  const auto at = [&](std::size_t i) { return std::to_integer<std::uint32_t>(bytes[i]); };
  if (at(0) < 1 || at(0) > 4) return {};
  return record_header{static_cast<record_type>(at(0)), at(1) << 16 | at(2) << 8 | at(3)};
}

record_state::record_state(cipher c, const direction_secret& s, bool seals)
    : state_(EVP_CIPHER_CTX_new()), start_(s.nonce) {
  if (state_ == nullptr) throw trouble("OpenSSL has no memory for a connection");
  if (EVP_CipherInit_ex(state_, algorithm_of(c), nullptr, s.key.data(), nullptr, seals) == 1)
    return;
  EVP_CIPHER_CTX_free(state_);
  throw trouble("OpenSSL does not know " + std::string(name_of(c)) + ": choose another --cipher");
}

record_state::~record_state() { EVP_CIPHER_CTX_free(state_); }

record_state::record_state(record_state&& other) noexcept
    : state_(std::exchange(other.state_, nullptr)), start_(other.start_), number_(other.number_) {}

void record_state::next_nonce() {
  if (number_ == records_max)
    throw trouble("4294967296 records on one connection: connect again, for fresh keys");
  secret_bytes<12> nonce = start_;
  for (std::size_t i = 0; i < 8; ++i)
    nonce[4 + i] ^= static_cast<unsigned char>(number_ >> (56 - 8 * i));
  ++number_;
  must(EVP_CipherInit_ex(state_, nullptr, nullptr, nullptr, nonce.data(), -1));
}

std::size_t record_sealer::seal(record_type type, heddle::byte_view plain, heddle::byte_span out) {
  HEDDLE_ASSERT(plain.size() <= record_bytes_max, "a record's size has 3 bytes: seal less");
  HEDDLE_ASSERT(out.size() >= plain.size() + record_overhead, "give room for header and tag");
  next_nonce();
  unsigned char* at = bytes_of(out.data());
  at[0] = static_cast<unsigned char>(type);
  at[1] = static_cast<unsigned char>(plain.size() >> 16);
  at[2] = static_cast<unsigned char>(plain.size() >> 8);
  at[3] = static_cast<unsigned char>(plain.size());
  const int size = static_cast<int>(plain.size());
  int done = 0;
  must(EVP_EncryptUpdate(state_, nullptr, &done, at, header_bytes));
  at += header_bytes;
  must(EVP_EncryptUpdate(state_, at, &done, bytes_of(plain.data()), size));
  at += size;
  must(EVP_EncryptFinal_ex(state_, at, &done));
  must(EVP_CIPHER_CTX_ctrl(state_, EVP_CTRL_AEAD_GET_TAG, tag_bytes, at));
  return plain.size() + record_overhead;
}

std::size_t record_sealer::seal_data(heddle::byte_view plain, std::size_t record_bytes,
                                     heddle::byte_span out) {
  std::size_t filled = 0;
  for (std::size_t at = 0; at < plain.size(); at += record_bytes) {
    const std::size_t part = std::min(record_bytes, plain.size() - at);
    filled += seal(record_type::data, {plain.data() + at, part},
                   {out.data() + filled, out.size() - filled});
  }
  return filled;
}

bool record_opener::open(heddle::byte_view header, heddle::byte_span body) {
  if (body.size() < tag_bytes) return false;
  next_nonce();
  unsigned char* at = bytes_of(body.data());
  const int size = static_cast<int>(body.size() - tag_bytes);
  int done = 0;
  must(EVP_DecryptUpdate(state_, nullptr, &done, bytes_of(header.data()), header_bytes));
  must(EVP_DecryptUpdate(state_, at, &done, at, size));
  must(EVP_CIPHER_CTX_ctrl(state_, EVP_CTRL_AEAD_SET_TAG, tag_bytes, at + size));
  return EVP_DecryptFinal_ex(state_, at + size, &done) == 1;
}

}  // namespace sealed
