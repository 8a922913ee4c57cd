// SPDX-License-Identifier: MIT
// Counting connections by address.
#include "heddle/sync/peer_counts.hh"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <utility>

namespace heddle {
namespace {

// An address or network as a number. IPv4 addresses get the network that RFC 4291 reserves for
// them, which no IPv6 client has.
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

peer_counts::place peer_counts::take_record() {
  if (free_ == none) {
    records_.emplace_back();
    return static_cast<place>(records_.size() - 1);
  }
  const place found = free_;
  free_ = records_[found].next_free;
  return found;
}

peer_counts::place peer_counts::enter(const address& of, std::size_t max) {
  const std::uint64_t key = key_of(of);
  const auto known = places_.find(key);
  if ((known == places_.end() ? 0 : records_[known->second].open) >= max) return none;
  if (known != places_.end()) {
    ++records_[known->second].open;
    return known->second;
  }
  const place fresh = take_record();
  places_.emplace(key, fresh);
  records_[fresh] = {key, 1, none};
  return fresh;
}

void peer_counts::leave(place of) noexcept {
  record& r = records_[of];
  if (--r.open != 0) return;
  places_.erase(r.key);
  r.next_free = std::exchange(free_, of);
}

}  // namespace heddle
