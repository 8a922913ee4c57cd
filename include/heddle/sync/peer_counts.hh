// SPDX-License-Identifier: MIT
// Counts the open connections of each address, so that one address cannot take them all. An IPv6
// client usually has a whole /64 network, so a /64 counts as one address.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "heddle/io/address.hh"

namespace heddle {

/// Thread: one color. Owns: one record for each address with connections; the table keeps the
/// memory of its largest size.
///
///   const peer_counts::place at = peers.enter(conn.peer(), 100);
///   if (at == peer_counts::none) co_return;  // 100 are open: this one is closed
///   ...
///   peers.leave(at);
class peer_counts {
 public:
  /// Refers to an address with connections. A connection keeps this in four bytes instead of an
  /// address.
  using place = std::uint32_t;
  static constexpr place none = ~place{0};

  /// Counts one more connection of this address; returns none if the address already has `max`. The
  /// place is valid until leave() has been called as often as enter().
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

}  // namespace heddle
