// SPDX-License-Identifier: MIT
// A message on its way through the micro-protocols, in one buffer: a header before it, and room for
// what ciphers add behind it. On the wire: number (8 bytes, little-endian), then what the ciphers
// made of the message.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace seccomm {

inline constexpr std::size_t message_max = 2048;
inline constexpr std::size_t header_bytes = 8;
inline constexpr std::size_t tags_max = 32;  ///< what all ciphers add at most

struct packet {
  std::uint64_t number = 0;
  std::size_t size = 0;  ///< of the body: the message, and what ciphers added
  std::array<std::byte, header_bytes + message_max + tags_max> bytes;

  [[nodiscard]] std::byte* body() noexcept { return bytes.data() + header_bytes; }
  [[nodiscard]] std::span<const std::byte> message() const noexcept {
    return std::span(bytes).subspan(header_bytes, size);
  }
  [[nodiscard]] std::span<const std::byte> wire() const noexcept {
    return std::span(bytes).first(header_bytes + size);
  }
};

}  // namespace seccomm
