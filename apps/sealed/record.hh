// SPDX-License-Identifier: MIT
// Records: what travels after the greeting. A record is a header of 4 bytes, the encrypted content,
// and a tag of 16 bytes that authenticates both. docs/reference/sealed.md specifies them.
//
// The nonce of a record is the direction's own starting value, changed by the record's number; keys
// are fresh for each connection and direction, so no nonce is used twice under one key.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "heddle/io/buffer.hh"
#include "secret.hh"

struct evp_cipher_ctx_st;

namespace sealed {

enum class cipher : std::uint8_t { aes_256_gcm = 1, chacha20_poly1305 = 2 };
[[nodiscard]] std::string_view name_of(cipher c) noexcept;
[[nodiscard]] std::optional<cipher> cipher_of(std::string_view name) noexcept;

enum class record_type : std::uint8_t {
  request = 1,  ///< client: the name of a file
  answer = 2,   ///< server: the file's size, 8 bytes, and then data records until it is reached
  refusal = 3,  ///< server: why not, as text
  data = 4,     ///< server: the next part of the file
};

inline constexpr std::size_t header_bytes = 4;
inline constexpr std::size_t tag_bytes = 16;
inline constexpr std::size_t record_overhead = header_bytes + tag_bytes;
inline constexpr std::size_t record_bytes_min = 64;
inline constexpr std::size_t record_bytes_max = std::size_t{1} << 20;
/// Content of records that are no data: names, sizes, reasons.
inline constexpr std::size_t text_bytes_max = 4096;

struct record_header {
  record_type type{};
  std::uint32_t size = 0;  ///< of the content
};
/// Nothing when the type is unknown.
[[nodiscard]] std::optional<record_header> parse_header(heddle::byte_view bytes) noexcept;

/// One direction's key and starting nonce.
struct direction_secret {
  secret_bytes<32> key;
  secret_bytes<12> nonce;
};

/// What sealing and opening share: the cipher's state, and the number of the next record.
class record_state {
 protected:
  record_state(cipher c, const direction_secret& s, bool seals);
  ~record_state();
  record_state(record_state&& other) noexcept;

  /// Sets the nonce of the next record; fails with trouble before a number comes twice.
  void next_nonce();

  evp_cipher_ctx_st* state_;
  secret_bytes<12> start_;
  std::uint64_t number_ = 0;
};

/// Thread: one color at a time. Fails: with trouble, when OpenSSL does or numbers run out.
class record_sealer : record_state {
 public:
  record_sealer(cipher c, const direction_secret& s) : record_state(c, s, true) {}

  /// Writes one record; `out` has room for plain.size() + record_overhead bytes, that many are
  /// filled and their count is returned.
  std::size_t seal(record_type type, heddle::byte_view plain, heddle::byte_span out);
  /// Writes `plain` as data records of record_bytes each, the last one smaller.
  std::size_t seal_data(heddle::byte_view plain, std::size_t record_bytes, heddle::byte_span out);
};

/// Thread: one color at a time.
class record_opener : record_state {
 public:
  record_opener(cipher c, const direction_secret& s) : record_state(c, s, false) {}

  /// Decrypts the content in place; `body` is the encrypted content and its tag. False when it is
  /// not what was sealed: the connection is then of no more use.
  [[nodiscard]] bool open(heddle::byte_view header, heddle::byte_span body);
  /// Goes on `count` records later, for who has seen their sizes and discarded them.
  void skip(std::uint64_t count) noexcept { number_ += count; }
};

/// Bytes that `size` bytes of data take when sealed.
[[nodiscard]] constexpr std::uint64_t sealed_size(std::uint64_t size,
                                                  std::size_t record_bytes) noexcept {
  return size + (size + record_bytes - 1) / record_bytes * record_overhead;
}

}  // namespace sealed
