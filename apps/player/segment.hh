// SPDX-License-Identifier: MIT
// What travels: a message is one frame of the video, a segment the part of it that fits a datagram.
// In memory both refer to their bytes and do not own them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace player {

enum class segment_kind : std::uint8_t { data = 1, parity, ack, end };

/// What the network sees of a segment. Each field belongs to the micro-protocol named.
struct segment {
  segment_kind kind = segment_kind::data;
  bool last = false;           ///< of the last frame (source)
  bool group_end = false;      ///< completes its parity group (parity)
  std::uint8_t group_len = 0;  ///< of a parity segment: how many it covers
  bool recovered = false;      ///< made from its group, not received (parity); not sent

  std::uint32_t session = 0;   ///< (guard)
  std::uint32_t sequence = 0;  ///< (sequencing); of an ack: all before it have come
  std::uint32_t group = 0;     ///< the group's first sequence (parity)
  std::uint32_t frame = 0;     ///< (fragmentation)
  std::uint32_t offset = 0;    ///< in the frame
  std::uint32_t total = 0;     ///< bytes of the frame
  std::uint32_t check = 0;     ///< (guard)
  /// All segments before it are acknowledged or given up (acknowledgement).
  std::uint32_t settled = 0;
  std::span<const std::byte> payload = {};
};

/// One frame of the video, whose bytes stand in the file.
struct message {
  std::uint32_t number = 0;
  bool last = false;
  std::span<const std::byte> bytes = {};
};
/// One frame of the video as it arrived.
struct whole_message {
  std::uint32_t number = 0;
  bool last = false;
  std::vector<std::byte> bytes = {};
};

inline constexpr std::size_t header_bytes = 40;
inline constexpr std::size_t payload_max = 1400;  ///< with the headers below a usual link's 1500
inline constexpr std::size_t data_max = payload_max - 16;  ///< a parity segment adds 16 bytes
inline constexpr std::size_t datagram_max = header_bytes + payload_max;

/// Writes a segment as a datagram; gives its size.
[[nodiscard]] std::size_t encode(const segment& s, std::span<std::byte, datagram_max> out) noexcept;
/// Reads a datagram; the payload refers to it. Nothing when it is no segment.
[[nodiscard]] std::optional<segment> decode(std::span<const std::byte> datagram) noexcept;

}  // namespace player
