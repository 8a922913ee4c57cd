// SPDX-License-Identifier: MIT
// Why a packet was dropped, or a segment not accepted: one counter each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heddle::tcp {

enum class drop : std::uint8_t {
  none,
  truncated,   // shorter than its headers say
  ip_version,  // neither 4 nor 6
  ip_header,   // an impossible length or option
  ip_checksum,
  fragment,     // we send with "don't fragment" and take no fragments
  ip_protocol,  // neither TCP nor ICMP
  address,      // not ours, or a source that is no unicast address, or loopback
  tcp_header,   // an impossible data offset
  tcp_options,  // an option that runs over the header's end
  tcp_checksum,
  tcp_ports,          // port 0
  tcp_flags,          // flags that no sender combines
  filtered,           // a filter said drop
  no_listener,        // answered with a reset
  no_connection,      // an ACK or data for a connection that is not there
  cookie,             // an ACK whose cookie is wrong or old
  backlog_full,       // the listener has no room for a new connection
  memory,             // no memory for a new connection or for data (budget.hh)
  old_timestamp,      // PAWS
  missing_timestamp,  // negotiated, and not there
  outside_window,     // sequence number not acceptable
  no_ack,             // a segment without ACK in a state that needs one
  bad_ack,            // acknowledges what was never sent, or long ago
  blind_reset,        // RST in the window but not at its start: challenged
  blind_syn,          // SYN on an open connection: challenged
  after_close,        // data for a side that reads no more
  reassembly_full,    // out-of-order data beyond the bound
  icmp_malformed,
  icmp_unrelated,  // an ICMP error that quotes no data in flight
  time_wait,       // for a connection in TIME_WAIT
  count
};

inline constexpr std::size_t drop_count = static_cast<std::size_t>(drop::count);

/// "tcp_checksum" and so on.
[[nodiscard]] std::string_view name_of(drop reason) noexcept;

}  // namespace heddle::tcp
