// SPDX-License-Identifier: MIT
// An Internet address with a port, version 4 or 6: a value of 32 bytes.
#pragma once

#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include "heddle/base/error.hh"

struct sockaddr;

namespace heddle {

/// An address and a port. Thread: any; it is a value.
///
///   address here = address::loopback(8080);
///   result<address> there = address::parse("[2001:db8::1]:443");
class address {
 public:
  /// An empty address: family() is 0.
  address() noexcept = default;
  /// The address that means every interface, in both versions where the system allows.
  [[nodiscard]] static address any(std::uint16_t port) noexcept;
  [[nodiscard]] static address any_v4(std::uint16_t port) noexcept;
  /// The loopback address of version 4: this machine.
  [[nodiscard]] static address loopback(std::uint16_t port) noexcept;
  [[nodiscard]] static address loopback_v6(std::uint16_t port) noexcept;
  /// Reads "1.2.3.4", "1.2.3.4:80", "::1", "[::1]:80", "[fe80::1%2]:80". Fails with
  /// invalid_argument.
  [[nodiscard]] static result<address> parse(std::string_view text,
                                             std::uint16_t default_port = 0) noexcept;
  /// Converts the system's form. Fails with address_family_not_supported for other families.
  [[nodiscard]] static result<address> from(const ::sockaddr* native, unsigned len) noexcept;

  [[nodiscard]] bool is_v4() const noexcept;
  [[nodiscard]] bool is_v6() const noexcept;
  /// Whether this is a loopback address: in 127.0.0.0/8, or ::1.
  [[nodiscard]] bool is_loopback() const noexcept;
  [[nodiscard]] explicit operator bool() const noexcept { return len_ != 0; }
  [[nodiscard]] std::uint16_t port() const noexcept;
  [[nodiscard]] address with_port(std::uint16_t port) const noexcept;
  /// A version 4 address in version 6 form (::ffff:192.0.2.1), as sockets for both versions give,
  /// becomes a version 4 address; every other address is unchanged.
  [[nodiscard]] address unmapped() const noexcept;
  [[nodiscard]] int family() const noexcept;
  /// The text that parse() takes: "1.2.3.4:80", "[::1]:80"; "" for no address.
  [[nodiscard]] std::string to_string() const;
  /// Appends the text of to_string() to `out`.
  void append_to(std::string& out) const;
  /// The text without the port: "1.2.3.4", "::1".
  [[nodiscard]] std::string host() const;

  [[nodiscard]] const ::sockaddr* native() const noexcept {
    return reinterpret_cast<const ::sockaddr*>(bytes_);
  }
  [[nodiscard]] unsigned native_len() const noexcept { return len_; }

  friend bool operator==(const address& a, const address& b) noexcept {
    return a.len_ == b.len_ && std::memcmp(a.bytes_, b.bytes_, sizeof a.bytes_) == 0;
  }

 private:
  void append_host(std::string& out) const;

  alignas(4) unsigned char bytes_[28] = {};  // sockaddr_in or sockaddr_in6, the rest zero
  std::uint32_t len_ = 0;
};

static_assert(sizeof(address) == 32);

}  // namespace heddle

template <>
struct std::hash<heddle::address> {
  std::size_t operator()(const heddle::address& a) const noexcept {
    return std::hash<std::string_view>()(
        {reinterpret_cast<const char*>(a.native()), a.native_len()});
  }
};
