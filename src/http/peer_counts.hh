// SPDX-License-Identifier: MIT
// How many connections each address has open, so that one cannot take them all. An IPv6 client
// usually has a /64 network to itself, so that counts as one address.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "heddle/io/address.hh"

namespace heddle::http {

/// Thread: one color. Owns: one record for each address that has connections, and room for as many
/// as there ever were at once.
class peer_counts {
 public:
  /// Names an address that has connections: four bytes in each, instead of an address.
  using place = std::uint32_t;
  static constexpr place none = ~place{0};

  /// Counts one more of this address; none when it had `max` already. The place is good until as
  /// many calls of leave().
  [[nodiscard]] place enter(const address& of, std::size_t max);
  void leave(place of) noexcept;
  [[nodiscard]] std::size_t addresses() const noexcept { return places_.size(); }

 private:
  struct record {
    std::uint64_t key = 0;
    std::uint32_t open = 0;
    place next_free = none;
  };
  [[nodiscard]] place take_record();

  std::unordered_map<std::uint64_t, place> places_;
  std::vector<record> records_;
  place free_ = none;
};

}  // namespace heddle::http
