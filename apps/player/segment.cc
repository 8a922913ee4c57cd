// SPDX-License-Identifier: MIT
// The form of a datagram: 40 bytes of header, little-endian, then the payload.
//
//   0 mark (2)  2 kind (1)  3 flags (1)  4 session  8 sequence  12 group  16 frame  20 offset
//   24 total  28 check  32 settled  36 size (2)  38 group length (1)  39 zero (1)
#include "segment.hh"

#include <algorithm>

namespace player {

namespace {

constexpr std::uint16_t mark = 0x6850;
constexpr std::uint8_t flag_last = 1;
constexpr std::uint8_t flag_group_end = 2;

template <class T>
void put(std::byte* at, T value) noexcept {
  for (std::size_t i = 0; i < sizeof(T); ++i) at[i] = static_cast<std::byte>(value >> (8 * i));
}

template <class T>
T take(const std::byte* at) noexcept {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(value | static_cast<T>(static_cast<T>(at[i]) << (8 * i)));
  return value;
}

}  // namespace

std::size_t encode(const segment& s, std::span<std::byte, datagram_max> out) noexcept {
  std::byte* const at = out.data();
  put<std::uint16_t>(at, mark);
  put(at + 2, static_cast<std::uint8_t>(s.kind));
  put(at + 3,
      static_cast<std::uint8_t>((s.last ? flag_last : 0) | (s.group_end ? flag_group_end : 0)));
  put(at + 4, s.session);
  put(at + 8, s.sequence);
  put(at + 12, s.group);
  put(at + 16, s.frame);
  put(at + 20, s.offset);
  put(at + 24, s.total);
  put(at + 28, s.check);
  put(at + 32, s.settled);
  const std::size_t size = std::min(s.payload.size(), payload_max);
  put(at + 36, static_cast<std::uint16_t>(size));
  put(at + 38, s.group_len);
  put(at + 39, std::uint8_t{0});
  std::copy_n(s.payload.data(), size, at + header_bytes);
  return header_bytes + size;
}

std::optional<segment> decode(std::span<const std::byte> datagram) noexcept {
  if (datagram.size() < header_bytes) return {};
  const std::byte* const at = datagram.data();
  segment s;
  const auto kind = take<std::uint8_t>(at + 2);
  const auto flags = take<std::uint8_t>(at + 3);
  if (take<std::uint16_t>(at) != mark || kind < 1 || kind > 4 || flags > 3) return {};
  s.kind = static_cast<segment_kind>(kind);
  s.last = (flags & flag_last) != 0;
  s.group_end = (flags & flag_group_end) != 0;
  s.session = take<std::uint32_t>(at + 4);
  s.sequence = take<std::uint32_t>(at + 8);
  s.group = take<std::uint32_t>(at + 12);
  s.frame = take<std::uint32_t>(at + 16);
  s.offset = take<std::uint32_t>(at + 20);
  s.total = take<std::uint32_t>(at + 24);
  s.check = take<std::uint32_t>(at + 28);
  s.settled = take<std::uint32_t>(at + 32);
  s.group_len = take<std::uint8_t>(at + 38);
  const std::size_t size = take<std::uint16_t>(at + 36);
  if (size > payload_max || datagram.size() != header_bytes + size) return {};
  if (s.kind == segment_kind::data && (s.offset > s.total || size > s.total - s.offset)) return {};
  s.payload = datagram.subspan(header_bytes);
  return s;
}

}  // namespace player
