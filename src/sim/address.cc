// SPDX-License-Identifier: MIT
// Reading and comparing addresses. See address.hh.
#include "sim/address.hh"

#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace heddle::sim {

namespace {

/// Reads one sockaddr type out of bytes that need not be aligned.
template <class T>
T view(std::span<const char> bytes) {
  T out{};
  std::memcpy(&out, bytes.data(), std::min(sizeof out, bytes.size()));
  return out;
}

template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

int address::parse(const ::sockaddr* from, unsigned len, address& out) {
  if (from == nullptr || len < sizeof(::sa_family_t)) return -EINVAL;
  const std::span raw(reinterpret_cast<const char*>(from), len);
  const auto family = view<::sa_family_t>(raw);
  if (family == AF_INET) {
    if (len < sizeof(::sockaddr_in)) return -EINVAL;
    const auto in = view<::sockaddr_in>(raw);
    ::sockaddr_in kept{};
    kept.sin_family = AF_INET;
    kept.sin_port = in.sin_port;
    kept.sin_addr = in.sin_addr;
    out.bytes_ = bytes_of(kept);
    return 0;
  }
  if (family == AF_INET6) {
    if (len < offsetof(::sockaddr_in6, sin6_scope_id)) return -EINVAL;
    const auto in = view<::sockaddr_in6>(raw);
    ::sockaddr_in6 kept{};
    kept.sin6_family = AF_INET6;
    kept.sin6_port = in.sin6_port;
    kept.sin6_addr = in.sin6_addr;
    out.bytes_ = bytes_of(kept);
    return 0;
  }
  if (family == AF_UNIX) {
    if (len > sizeof(::sockaddr_un)) return -EINVAL;
    std::size_t used = len;
    const std::size_t head = offsetof(::sockaddr_un, sun_path);
    // A path ends at its first zero; an abstract name begins with one and counts to the end.
    if (len > head && raw[head] != '\0') used = head + ::strnlen(&raw[head], len - head);
    out.bytes_.assign(raw.data(), used);
    if (used > head && raw[head] != '\0') out.bytes_ += '\0';
    return 0;
  }
  return -EAFNOSUPPORT;
}

address address::any(int family) {
  address a;
  if (family == AF_INET) {
    ::sockaddr_in in{};
    in.sin_family = AF_INET;
    a.bytes_ = bytes_of(in);
  } else if (family == AF_INET6) {
    ::sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    a.bytes_ = bytes_of(in);
  } else {
    const ::sa_family_t local = AF_UNIX;
    a.bytes_ = bytes_of(local);
  }
  return a;
}

address address::loopback(int family) {
  address a = any(family);
  if (family == AF_INET) a.bytes_[offsetof(::sockaddr_in, sin_addr)] = 127;
  if (family == AF_INET) a.bytes_[offsetof(::sockaddr_in, sin_addr) + 3] = 1;
  if (family == AF_INET6) a.bytes_[offsetof(::sockaddr_in6, sin6_addr) + 15] = 1;
  return a;
}

address address::outer(int family) {
  address a = any(family);
  // 192.0.2.1 and 2001:db8::1 are set aside for examples.
  static constexpr unsigned char four[] = {192, 0, 2, 1}, six[] = {0x20, 0x01, 0x0d, 0xb8};
  if (family == AF_INET)
    std::memcpy(a.bytes_.data() + offsetof(::sockaddr_in, sin_addr), four, sizeof four);
  if (family == AF_INET6) {
    a = loopback(family);
    std::memcpy(a.bytes_.data() + offsetof(::sockaddr_in6, sin6_addr), six, sizeof six);
  }
  return a;
}

int address::family() const noexcept {
  return bytes_.empty() ? AF_UNSPEC : view<::sa_family_t>(bytes_);
}

unsigned address::port() const noexcept {
  // The port has the same offset in both families.
  static_assert(offsetof(::sockaddr_in, sin_port) == offsetof(::sockaddr_in6, sin6_port));
  if (family() != AF_INET && family() != AF_INET6) return 0;
  return ntohs(view<::sockaddr_in>(bytes_).sin_port);
}

void address::set_port(unsigned port) noexcept {
  const ::in_port_t wire = htons(static_cast<::in_port_t>(port));
  std::memcpy(bytes_.data() + offsetof(::sockaddr_in, sin_port), &wire, sizeof wire);
}

bool address::wildcard() const noexcept {
  address zero = any(family());
  if (family() == AF_UNIX || empty()) return false;
  zero.set_port(port());
  return zero == *this;
}

bool address::on_loopback() const noexcept {
  if (family() == AF_INET) return bytes_[offsetof(::sockaddr_in, sin_addr)] == 127;
  if (family() != AF_INET6) return true;
  address home = loopback(AF_INET6);
  home.set_port(port());
  return home == *this;
}

std::string address::path() const {
  const std::size_t head = offsetof(::sockaddr_un, sun_path);
  if (family() != AF_UNIX || bytes_.size() <= head || bytes_[head] == '\0') return {};
  return bytes_.c_str() + head;
}

bool reaches(const address& bound, const address& to) noexcept {
  if (bound == to) return true;
  if (bound.family() == AF_UNIX || to.family() == AF_UNIX) return false;
  if (bound.port() != to.port() || !bound.wildcard()) return false;
  // A wildcard of IPv6 takes IPv4 as well, as Linux does unless told otherwise.
  return bound.family() == to.family() || bound.family() == AF_INET6;
}

}  // namespace heddle::sim
