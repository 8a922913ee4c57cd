// SPDX-License-Identifier: MIT
// The keys of one direction of a TLS 1.3 connection after its handshake, and one record sealed or
// opened with them (RFC 8446, 5.2, 5.3, 7.2, 7.3).
//
// A record on the wire: type 23, version 0x0303, length (2 bytes), then the ciphertext of the
// content, of one byte with the content's type and of padding, then a tag of 16 bytes.
#pragma once

#include <openssl/ssl.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "heddle/io/buffer.hh"

namespace heddle::tls::detail {

constexpr std::size_t record_head_bytes = 5;
constexpr std::size_t record_tag_bytes = 16;
constexpr std::size_t content_bytes_max = 16 * 1024;  // RFC 8446, 5.1
/// The most bytes that a record has behind its head (RFC 8446, 5.2).
constexpr std::size_t ciphertext_bytes_max = content_bytes_max + 256;
/// Bytes that a record has more than its content, without padding.
constexpr std::size_t record_extra_bytes = record_head_bytes + 1 + record_tag_bytes;

/// Values of ContentType (RFC 8446, B.1).
enum class content : std::uint8_t {
  change_cipher_spec = 20,
  alert = 21,
  handshake = 22,
  application_data = 23,
};

/// The cipher suites of RFC 8446, B.4 that records are sealed with here.
enum class suite : std::uint8_t { aes128_gcm, aes256_gcm, chacha20 };

/// The suite of OpenSSL's cipher; nothing for another suite, and for null (none agreed on yet).
[[nodiscard]] std::optional<suite> suite_of(const SSL_CIPHER* cipher) noexcept;
[[nodiscard]] std::size_t hash_bytes(suite s) noexcept;

/// Bytes of a traffic secret, wiped at the end.
struct traffic_secret {
  static constexpr std::size_t bytes_max = 48;

  traffic_secret() noexcept = default;
  traffic_secret(const traffic_secret&) = delete;
  ~traffic_secret();
  /// Sets the secret from hexadecimal digits; false for other characters or too many digits.
  [[nodiscard]] bool assign_hex(std::string_view digits) noexcept;

  std::array<unsigned char, bytes_max> bytes{};
  std::size_t size = 0;
};

/// Gives pieces of some texts, one after another.
class text_cursor {
 public:
  explicit text_cursor(std::span<const byte_view> texts) noexcept : texts_(texts) {}

  /// Gives at least one byte and at most `most`; nothing behind the last text.
  [[nodiscard]] byte_view take(std::size_t most) noexcept;

 private:
  std::span<const byte_view> texts_;
  std::size_t within_ = 0;  // bytes of the first text that are taken already
};

/// Thread: one at a time, in any thread. The cipher contexts are the thread's: they are in a cache,
/// and are keyed again if another connection has used them since.
/// Owns: the secret and the key, which are wiped at the end.
class traffic_key {
 public:
  enum class opened : std::uint8_t { good, forged, no_memory };

  /// The secret has hash_bytes(). Throws std::bad_alloc.
  traffic_key(suite s, std::span<const unsigned char> secret);
  traffic_key(const traffic_key&) = delete;
  ~traffic_key();

  /// Seals `size` bytes of the texts, which must hold so many, as one record. `into` has room for
  /// record_extra_bytes more. False without memory.
  [[nodiscard]] bool seal(std::byte* into, content kind, text_cursor& from,
                          std::size_t size) noexcept;
  /// Opens one whole record with its head in its place: the bytes behind the head are then content,
  /// type and padding. `size` counts the head and is at least record_extra_bytes.
  [[nodiscard]] opened open(std::byte* record, std::size_t size) noexcept;

  /// Changes to the next secret of this direction, and its key: a KeyUpdate. False without memory.
  [[nodiscard]] bool advance() noexcept;
  /// Records sealed or opened with this key.
  [[nodiscard]] std::uint64_t sequence() const noexcept { return sequence_; }
  /// Sets the number of records that OpenSSL sealed with this key before this object was made.
  void set_sequence(std::uint64_t n) noexcept { sequence_ = n; }

 private:
  [[nodiscard]] bool derive() noexcept;
  [[nodiscard]] EVP_CIPHER_CTX* begin(const std::byte* head, bool seals) noexcept;

  std::uint64_t sequence_ = 0;
  std::uint64_t stamp_ = 0;  // names this key among all, for the cache of contexts
  suite suite_;
  std::array<unsigned char, traffic_secret::bytes_max> secret_{};
  std::array<unsigned char, 32> key_{};
  std::array<unsigned char, 12> iv_{};
};

}  // namespace heddle::tls::detail
