// SPDX-License-Identifier: MIT
// The settings of a stack, with their bounds, and its counters.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "heddle/tcp/budget.hh"
#include "heddle/tcp/congestion.hh"
#include "heddle/tcp/drop.hh"

namespace heddle::tcp {

struct stack_options {
  /// Secret of this stack: it keys sequence numbers, cookies and the table of connections. In
  /// production it comes from the system's random source.
  std::array<std::uint64_t, 2> key{};
  std::uint32_t mtu = 1500;
  /// Received bytes that may wait for the user, for each connection.
  std::uint32_t receive_window_bytes = 256 * 1024;
  /// write() refuses pieces beyond this, for each connection. A connection begins with 1 MiB of it;
  /// the limit grows to two congestion windows, because a long and fast path must be filled.
  std::uint32_t send_queue_bytes = 4 * 1024 * 1024;
  /// Segments of the first flight (RFC 6928).
  std::uint32_t initial_window_segments = 10;
  std::uint32_t connections_max = 1'000'000;
  /// Memory of this stack: its connections, bytes to send, and received bytes that wait. Windows
  /// shrink as it fills. Connections with more than 16 KB to send may fill five eighths of it, new
  /// connections and out-of-order bytes three quarters, the first 16 KB to send of each connection
  /// seven eighths, and bytes that arrive in order fifteen sixteenths.
  std::size_t memory_bytes = std::size_t{1} << 30;
  /// A bound that several stacks share, in the same way; null: none.
  std::shared_ptr<memory_budget> process_memory = nullptr;
  memory_policy when_full = memory_policy::wait;
  /// While memory is short, a connection is reset if it holds bytes to send or out of order and
  /// none of them has moved for this long. 0: never.
  std::uint32_t stalled_us = 30'000'000;
  /// Memory that the program keeps for each connection, counted with it.
  std::uint32_t user_bytes_each = 0;
  /// Connections in SYN-RECEIVED. Beyond it a SYN is answered by a cookie, which takes no memory;
  /// 0: always.
  std::uint32_t half_open_max = 256;
  std::uint32_t time_wait_max = 16'384;
  /// Pieces of out-of-order data, for each connection.
  std::uint32_t out_of_order_max = 256;
  /// Challenge ACKs in a second: answers to segments that may be forged (RFC 5961 section 7). A
  /// connection sends `challenges_each` at most. The whole stack sends a number that is chosen at
  /// random every second, between half and one and a half of `challenges_max`.
  std::uint32_t challenges_each = 4;
  std::uint32_t challenges_max = 1000;
  /// Answers to ICMP echo requests (ping) in a second; 0: none.
  std::uint32_t echoes_max = 1000;

  std::uint32_t timeout_min_us = 200'000;  // RFC 6298 says 1 s; kernels use this
  std::uint32_t timeout_initial_us = 1'000'000;
  std::uint32_t timeout_max_us = 60'000'000;
  /// Timeouts in a row that end a connection, while open and while opening (RFC 9293: R2).
  std::uint8_t retries_max = 12;
  std::uint8_t open_retries_max = 5;
  std::uint32_t ack_delay_us = 40'000;      // at most 500 ms (RFC 1122 section 4.2.3.2)
  std::uint32_t time_wait_us = 60'000'000;  // twice the longest life of a segment
  /// In FIN-WAIT-2 after a full close, waiting for the peer's FIN.
  std::uint32_t fin_wait_us = 60'000'000;
  std::uint32_t keepalive_idle_s = 7200;
  std::uint32_t keepalive_interval_s = 75;
  std::uint8_t keepalive_probes = 9;

  /// Connections that a dump lists, those whose bytes have waited longest. 0: none.
  std::uint32_t dump_connections_max = 20;
  /// The device completes checksums of TCP: packets have the sum of the pseudo-header only.
  bool partial_checksums = false;
  bool timestamps = true;
  bool sack = true;
  bool window_scale = true;
  const congestion* algorithm = nullptr;  // null: cubic()
};

/// Counters of a stack since it began.
struct stack_counters {
  std::uint64_t packets_in = 0;
  std::uint64_t packets_out = 0;
  std::uint64_t bytes_in = 0;   // payload handed to users
  std::uint64_t bytes_out = 0;  // payload sent for the first time
  std::uint64_t opened_active = 0;
  std::uint64_t opened_passive = 0;
  std::uint64_t cookies_sent = 0;
  std::uint64_t cookies_accepted = 0;
  std::uint64_t resets_sent = 0;
  std::uint64_t challenges_sent = 0;
  std::uint64_t challenges_withheld = 0;
  std::uint64_t echoes_sent = 0;  // answers to ping
  std::uint64_t segments_retransmitted = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t fast_recoveries = 0;
  std::uint64_t tail_probes = 0;
  std::uint64_t undone = 0;
  std::uint64_t window_probes = 0;
  std::uint64_t keepalive_probes = 0;
  std::uint64_t duplicate_bytes_in = 0;
  std::uint64_t mtu_changes = 0;
  std::array<std::uint64_t, drop_count> drops{};
  refusal_counters refusals{};

  [[nodiscard]] std::uint64_t dropped(drop why) const noexcept {
    return drops[static_cast<std::size_t>(why)];
  }
  [[nodiscard]] std::uint64_t refused(refusal what, bound by) const noexcept {
    return refusals[static_cast<std::size_t>(what)][static_cast<std::size_t>(by)];
  }
  /// Refusals of this kind, by either bound.
  [[nodiscard]] std::uint64_t refused(refusal what) const noexcept {
    return refused(what, bound::shard) + refused(what, bound::process);
  }
};

}  // namespace heddle::tcp
