// SPDX-License-Identifier: MIT
// The states of a connection (RFC 9293 section 3.3.2), and the numbers that the stack gives of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "heddle/tcp/address.hh"
#include "heddle/tcp/sequence.hh"

namespace heddle::tcp {

enum class state : std::uint8_t {
  closed,
  listen,  // the state of listeners, which are no connections
  syn_sent,
  syn_received,
  established,
  fin_wait_1,
  fin_wait_2,
  close_wait,
  closing,
  last_ack,
  time_wait,  // the state of small records, which are no connections any more
};

inline constexpr std::size_t state_count = static_cast<std::size_t>(state::time_wait) + 1;
[[nodiscard]] std::string_view name_of(state s) noexcept;

/// Names a connection for as long as it lives, and never another one soon after.
struct connection {
  std::uint32_t index = UINT32_MAX;
  std::uint16_t generation = 0;
  friend bool operator==(const connection&, const connection&) = default;
};

/// How a connection ended.
enum class ending : std::uint8_t {
  finished,     // each side sent FIN
  reset,        // by the peer
  refused,      // by the peer, before it was open
  unreachable,  // ICMP said so before it was open
  timed_out,    // no answer
  aborted,      // by the user
};

[[nodiscard]] std::string_view name_of(ending e) noexcept;

/// A connection's numbers at one moment.
struct connection_info {
  flow between;
  state now = state::closed;
  std::uint32_t mss = 0;           // payload bytes in a full segment
  std::uint32_t window_bytes = 0;  // cwnd
  std::uint32_t threshold_bytes = 0;
  std::uint32_t peer_window_bytes = 0;
  std::uint32_t in_flight_bytes = 0;
  std::uint32_t queued_bytes = 0;  // written, not yet acknowledged
  std::uint32_t unread_bytes = 0;  // handed up, not yet consumed
  std::uint32_t out_of_order_bytes = 0;
  std::uint32_t round_trip_us = 0;  // smoothed; 0: not measured yet
  std::uint32_t round_trip_variance_us = 0;
  std::uint32_t timeout_us = 0;
  bool timestamps = false;
  bool sack = false;
  bool recovering = false;
  std::uint8_t retries = 0;  // timeouts in a row, or keepalive probes
  // Only stack::slowest() sets these three.
  std::uint64_t waited_us = 0;  // since bytes last moved, if some wait
  std::string_view timer = {};  // the next: timeout, tail_probe, reorder, window_probe, ack, ...
  std::int64_t timer_in_us = 0;
  std::uint64_t user = 0;
};

}  // namespace heddle::tcp
