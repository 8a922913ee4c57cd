// SPDX-License-Identifier: MIT
// Addresses of the simulated network: IPv4, IPv6 and Unix names.
#pragma once

#include <sys/socket.h>

#include <span>
#include <string>

namespace heddle::sim {

/// A sockaddr in one spelling: no padding, no scope; equal names are equal bytes.
class address {
 public:
  address() = default;
  /// Reads an address. Gives -EINVAL or -EAFNOSUPPORT for a kind that this world does not have.
  static int parse(const ::sockaddr* from, unsigned len, address& out);
  /// A wildcard or loopback address of this family.
  static address any(int family);
  static address loopback(int family);
  /// The address of a host that has none of its own, as others see it.
  static address outer(int family);

  [[nodiscard]] int family() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }
  [[nodiscard]] unsigned port() const noexcept;
  void set_port(unsigned port) noexcept;
  [[nodiscard]] bool wildcard() const noexcept;
  [[nodiscard]] bool on_loopback() const noexcept;
  /// The path of a Unix address in the file tree; "" for others.
  [[nodiscard]] std::string path() const;
  [[nodiscard]] std::span<const char> bytes() const noexcept { return bytes_; }
  friend bool operator==(const address&, const address&) = default;

 private:
  std::string bytes_;  // the sockaddr, cut to its length
};

/// Whether a socket bound to `bound` is meant by `to`.
[[nodiscard]] bool reaches(const address& bound, const address& to) noexcept;

}  // namespace heddle::sim
