// SPDX-License-Identifier: MIT
// One TCP segment with its IP header: read from a packet with every check that needs no
// connection, and written. Pure functions over bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "heddle/tcp/address.hh"
#include "heddle/tcp/drop.hh"
#include "heddle/tcp/sequence.hh"

namespace heddle::tcp {

enum flag : std::uint8_t {
  flag_fin = 1,
  flag_syn = 2,
  flag_rst = 4,
  flag_psh = 8,
  flag_ack = 16,
  flag_urg = 32,
  flag_ece = 64,
  flag_cwr = 128,
};

struct sack_block {
  sequence begin = 0;
  sequence end = 0;
  friend bool operator==(const sack_block&, const sack_block&) = default;
};

inline constexpr std::size_t sack_blocks_max = 4;
/// IPv6 (40) and TCP with all its options (60).
inline constexpr std::size_t header_bytes_max = 100;

struct segment {
  endpoint source;
  endpoint destination;
  sequence seq = 0;
  sequence ack = 0;
  std::uint16_t window = 0;  // as it is in the header, not scaled
  std::uint8_t flags = 0;

  bool has_timestamps = false;
  bool sack_permitted = false;
  std::int8_t window_scale = -1;  // -1: no such option; at most 14 (RFC 7323 section 2.3)
  std::uint8_t sack_count = 0;
  std::uint16_t mss = 0;  // 0: no such option
  std::uint32_t ts_value = 0;
  std::uint32_t ts_echo = 0;
  std::array<sack_block, sack_blocks_max> sacks{};

  std::span<const std::byte> payload;

  [[nodiscard]] bool has(std::uint8_t some) const noexcept { return (flags & some) != 0; }
  /// The sequence numbers that the segment uses: its payload, and one each for SYN and FIN.
  [[nodiscard]] std::uint32_t length() const noexcept {
    return static_cast<std::uint32_t>(payload.size()) + (has(flag_syn) ? 1 : 0) +
           (has(flag_fin) ? 1 : 0);
  }
  [[nodiscard]] sequence end() const noexcept { return seq + length(); }
  /// The connection from the receiver's side.
  [[nodiscard]] flow at_receiver() const noexcept { return {destination, source}; }
};

/// The fields of an IP header.
struct ip_head {
  ip_address source;
  ip_address destination;
  std::uint8_t protocol = 0;
  std::span<const std::byte> body;
};

inline constexpr std::uint8_t protocol_icmp = 1;
inline constexpr std::uint8_t protocol_tcp = 6;
inline constexpr std::uint8_t protocol_icmp6 = 58;

/// Reads a header of IPv4 or IPv6, with IPv6's extension headers. `drop::none`: it is sound.
[[nodiscard]] drop parse_ip(std::span<const std::byte> packet, ip_head& out,
                            bool sums_verified = false) noexcept;
/// Reads the TCP segment in `ip.body`.
[[nodiscard]] drop parse_segment(const ip_head& ip, segment& out,
                                 bool sums_verified = false) noexcept;

/// Writes a header of IPv4 or IPv6 for `bytes` of `head.protocol` that follow it, and returns its
/// length: 20 or 40.
std::size_t write_ip_head(const ip_head& head, std::size_t bytes, std::byte* out) noexcept;

/// Writes the IP and TCP headers of `s` into `out` and returns their length. The checksum covers
/// `payload`, whose pieces together are the segment's payload; s.payload is not looked at. With
/// `partial_checksum` it covers the pseudo-header alone, not inverted: a device completes it.
[[nodiscard]] std::size_t write_headers(const segment& s,
                                        std::span<const std::span<const std::byte>> payload,
                                        std::span<std::byte, header_bytes_max> out,
                                        bool partial_checksum = false) noexcept;
/// Bytes that the options of `s` take in its header, padding included.
[[nodiscard]] std::size_t option_bytes(const segment& s) noexcept;

/// The Internet checksum, in steps: each piece may have an odd length.
class checksum {
 public:
  void add(std::span<const std::byte> bytes) noexcept;
  void add16(std::uint16_t value) noexcept;
  /// Adds the pseudo-header of `protocol` between two addresses.
  void add_pseudo(const ip_address& source, const ip_address& destination, std::uint8_t protocol,
                  std::uint32_t bytes) noexcept;
  /// The sum of the pseudo-header alone, as devices that complete it want it.
  [[nodiscard]] std::uint16_t partial() const noexcept {
    return static_cast<std::uint16_t>(~value());
  }
  /// The value to put into a header; 0 if the sum covers a correct checksum.
  [[nodiscard]] std::uint16_t value() const noexcept;

 private:
  std::uint64_t sum_ = 0;
  bool odd_ = false;
};

/// Reads and writes numbers in network order.
[[nodiscard]] inline std::uint16_t get16(const std::byte* at) noexcept {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(at[0]) << 8 |
                                    std::to_integer<unsigned>(at[1]));
}
[[nodiscard]] inline std::uint32_t get32(const std::byte* at) noexcept {
  return static_cast<std::uint32_t>(get16(at)) << 16 | get16(at + 2);
}
inline void put16(std::byte* at, std::uint32_t value) noexcept {
  at[0] = static_cast<std::byte>(value >> 8 & 0xff);
  at[1] = static_cast<std::byte>(value & 0xff);
}
inline void put32(std::byte* at, std::uint32_t value) noexcept {
  put16(at, value >> 16);
  put16(at + 2, value & 0xffff);
}

}  // namespace heddle::tcp
