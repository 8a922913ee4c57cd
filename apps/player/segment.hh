// SPDX-License-Identifier: MIT
// What travels: a message is one frame of the video, a segment the part of it that fits a datagram.
// In memory a segment refers to its payload and does not own it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "heddle/base/clock.hh"

namespace player {

enum class segment_kind : std::uint8_t { data = 1, parity, ack, end };

/// What the network sees of a segment, and what the micro-protocols of one side note on it. Each
/// field belongs to the micro-protocol named. It fills one cache line: segments are copied much.
struct segment {
  segment_kind kind = segment_kind::data;
  bool last = false;           ///< of the last frame (source)
  bool group_end = false;      ///< completes its parity group (parity)
  std::uint8_t group_len = 0;  ///< of a parity segment: how many it covers
  // Not sent.
  bool held = false;       ///< kept back for now (flow_control)
  bool again = false;      ///< sent before (acknowledgement)
  bool recovered = false;  ///< made from its group, not received (parity)

  std::uint32_t session = 0;   ///< (guard)
  std::uint32_t sequence = 0;  ///< (sequencing); of an ack: all before it have come
  std::uint32_t group = 0;     ///< the group's first sequence (parity)
  std::uint32_t frame = 0;     ///< (fragmentation)
  std::uint32_t offset = 0;    ///< in the frame
  std::uint32_t total = 0;     ///< bytes of the frame
  std::uint32_t check = 0;     ///< (guard)
  /// All segments before it are acknowledged or given up (acknowledgement).
  std::uint32_t settled = 0;
  heddle::time_point sent = {};  ///< (round_trip); not sent
  std::span<const std::byte> payload = {};
};
static_assert(sizeof(segment) == 64);

/// One frame of the video. The sender's bytes stand in the file; a receiver's are its own.
struct message {
  std::uint32_t number = 0;
  bool last = false;
  std::span<const std::byte> bytes = {};
  std::vector<std::byte> storage = {};
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
