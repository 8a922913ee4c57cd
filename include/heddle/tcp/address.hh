// SPDX-License-Identifier: MIT
// Addresses of IPv4 and IPv6 in one form of 16 bytes (IPv4 as ::ffff:a.b.c.d), with ports, and the
// four values that name a connection.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::tcp {

struct ip_address {
  std::array<std::uint8_t, 16> bytes{};

  [[nodiscard]] static constexpr ip_address v4(std::uint8_t a, std::uint8_t b, std::uint8_t c,
                                               std::uint8_t d) noexcept {
    return {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d}};
  }
  /// Reads "10.0.0.1" or "fd00::1"; nothing for any other text.
  [[nodiscard]] static std::optional<ip_address> parse(std::string_view text);

  [[nodiscard]] bool is_v4() const noexcept {
    static constexpr std::uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return std::memcmp(bytes.data(), prefix, 12) == 0;
  }
  /// Whether this names one receiver: it is not multicast, broadcast or unspecified.
  [[nodiscard]] bool is_unicast() const noexcept;
  /// Whether this is in 127.0.0.0/8 or ::1. A packet that comes over a wire cannot have such an
  /// address.
  [[nodiscard]] bool is_loopback() const noexcept;
  [[nodiscard]] std::string text() const;

  friend bool operator==(const ip_address&, const ip_address&) = default;
};

struct endpoint {
  ip_address address;
  std::uint16_t port = 0;
  friend bool operator==(const endpoint&, const endpoint&) = default;
};

/// A connection as this side sees it.
struct flow {
  endpoint local;
  endpoint remote;
  friend bool operator==(const flow&, const flow&) = default;
};

}  // namespace heddle::tcp
