// SPDX-License-Identifier: MIT
// Headers of IPv4 (RFC 791) and IPv6 (RFC 8200, with the extension headers that a host passes).
#include <cstring>

#include "heddle/tcp/segment.hh"

namespace heddle::tcp {

namespace {

ip_address v4_at(const std::byte* at) noexcept {
  return ip_address::v4(std::to_integer<std::uint8_t>(at[0]), std::to_integer<std::uint8_t>(at[1]),
                        std::to_integer<std::uint8_t>(at[2]), std::to_integer<std::uint8_t>(at[3]));
}

drop parse_v4(std::span<const std::byte> p, ip_head& out, bool sums_verified) noexcept {
  if (p.size() < 20) return drop::truncated;
  const std::size_t header = (std::to_integer<std::size_t>(p[0]) & 15) * 4;
  const std::size_t total = get16(p.data() + 2);
  if (header < 20 || total < header) return drop::ip_header;
  if (p.size() < total) return drop::truncated;
  if (!sums_verified) {
    checksum sum;
    sum.add(p.first(header));
    if (sum.value() != 0) return drop::ip_checksum;
  }
  // More fragments, or an offset: a part of a datagram.
  if ((get16(p.data() + 6) & 0x3fff) != 0) return drop::fragment;
  out.protocol = std::to_integer<std::uint8_t>(p[9]);
  out.source = v4_at(p.data() + 12);
  out.destination = v4_at(p.data() + 16);
  out.body = p.subspan(header, total - header);
  return drop::none;
}

drop parse_v6(std::span<const std::byte> p, ip_head& out) noexcept {
  if (p.size() < 40) return drop::truncated;
  const std::size_t length = get16(p.data() + 4);
  if (p.size() - 40 < length) return drop::truncated;
  std::memcpy(out.source.bytes.data(), p.data() + 8, 16);
  std::memcpy(out.destination.bytes.data(), p.data() + 24, 16);
  // The mapped form is for our own use; on the wire it would pass as IPv4.
  if (out.source.is_v4() || out.destination.is_v4()) return drop::address;
  std::uint8_t next = std::to_integer<std::uint8_t>(p[6]);
  std::span<const std::byte> rest = p.subspan(40, length);
  for (int headers = 0; headers < 8; ++headers) {
    constexpr std::uint8_t hop_by_hop = 0, routing = 43, fragment = 44, destination_options = 60;
    if (next == fragment) return drop::fragment;
    if (next != hop_by_hop && next != routing && next != destination_options) {
      out.protocol = next;
      out.body = rest;
      return drop::none;
    }
    if (rest.size() < 8) return drop::truncated;
    const std::size_t bytes = (std::to_integer<std::size_t>(rest[1]) + 1) * 8;
    if (rest.size() < bytes) return drop::truncated;
    // A route with stops left is for a router.
    if (next == routing && rest[3] != std::byte{0}) return drop::ip_header;
    next = std::to_integer<std::uint8_t>(rest[0]);
    rest = rest.subspan(bytes);
  }
  return drop::ip_header;
}

}  // namespace

drop parse_ip(std::span<const std::byte> packet, ip_head& out, bool sums_verified) noexcept {
  if (packet.empty()) return drop::truncated;
  switch (std::to_integer<unsigned>(packet[0]) >> 4) {
    case 4:
      return parse_v4(packet, out, sums_verified);
    case 6:
      return parse_v6(packet, out);
    default:
      return drop::ip_version;
  }
}

}  // namespace heddle::tcp
