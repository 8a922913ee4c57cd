// SPDX-License-Identifier: MIT
// A range of Internet addresses that begin alike: "192.0.2.0/24", "2001:db8::/32".
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/base/error.hh"
#include "heddle/io/address.hh"

namespace heddle {

/// Addresses whose first bits are given. Thread: any; it is a value.
///
///   const network office = network::parse("192.0.2.0/24").value();
///   if (office.contains(conn.peer())) ...
class network {
 public:
  /// Reads a network; an address alone is a network of one. Fails with invalid_argument, also if
  /// bits behind the prefix are set: that is a slip more often than an abbreviation.
  [[nodiscard]] static result<network> parse(std::string_view text) noexcept;

  /// Whether the address is in the network. Ports and zones are ignored. A version 4 address that
  /// came to a version 6 socket (::ffff:192.0.2.1) counts as the version 4 address.
  [[nodiscard]] bool contains(const address& a) const noexcept;
  /// The text that parse() takes.
  [[nodiscard]] std::string to_string() const;

  friend bool operator==(const network&, const network&) noexcept = default;

 private:
  using bits = std::array<std::uint8_t, 16>;
  [[nodiscard]] static bits bits_of(const address& a) noexcept;
  [[nodiscard]] bool same_start(const bits& other) const noexcept;

  bits first_{};             // version 4 in the form ::ffff:192.0.2.0
  std::uint8_t length_ = 0;  // in bits, of these 128
};

}  // namespace heddle
