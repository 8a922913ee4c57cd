// SPDX-License-Identifier: MIT
// Counting connections by address.
#include "http/peer_counts.hh"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

namespace heddle::http {
namespace {

// The address or the network as a number. Version 4 addresses get the network that RFC 4291
// reserves for them, which no version 6 client has.
std::uint64_t key_of(const address& of) {
  std::uint64_t key = 0;
  if (of.is_v4()) {
    ::sockaddr_in in;
    std::memcpy(&in, of.native(), sizeof in);
    key = ntohl(in.sin_addr.s_addr);
  } else if (of.is_v6()) {
    ::sockaddr_in6 in;
    std::memcpy(&in, of.native(), sizeof in);
    std::memcpy(&key, in.sin6_addr.s6_addr, sizeof key);
  }
  return key;
}

}  // namespace

std::uint32_t* peer_counts::enter(const address& of, std::size_t max) {
  const std::uint64_t key = key_of(of);
  const auto [at, is_new] = counts_.try_emplace(key);
  record& r = at->second;
  if (r.open >= max) {
    if (is_new) counts_.erase(at);
    return nullptr;
  }
  r.key = key;
  ++r.open;
  return &r.open;
}

void peer_counts::leave(std::uint32_t* count) noexcept {
  if (--*count != 0) return;
  counts_.erase(reinterpret_cast<record*>(count)->key);
}

}  // namespace heddle::http
