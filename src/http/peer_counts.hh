// SPDX-License-Identifier: MIT
// How many connections each address has open, so that one cannot take them all. An IPv6 client
// usually has a /64 network to itself, so that counts as one address.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "heddle/io/address.hh"

namespace heddle::http {

/// Thread: one color. Owns: one record for each address that has connections, no more.
class peer_counts {
 public:
  /// The count of this address, one higher; null when it was `max` already. The pointer is valid
  /// until leave().
  [[nodiscard]] std::uint32_t* enter(const address& of, std::size_t max);
  void leave(std::uint32_t* count) noexcept;
  [[nodiscard]] std::size_t addresses() const noexcept { return counts_.size(); }

 private:
  struct record {
    std::uint32_t open = 0;  // first, so that its address is the record's
    std::uint64_t key = 0;
  };
  std::unordered_map<std::uint64_t, record> counts_;
};

}  // namespace heddle::http
