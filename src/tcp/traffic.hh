// SPDX-License-Identifier: MIT
// The second block of a busy connection: its data that is queued, in flight or
// received out of order, with the state of loss recovery. The block goes with the last of these.
#pragma once

#include <array>
#include <cstdint>

#include "heddle/tcp/congestion.hh"
#include "heddle/tcp/packet.hh"
#include "heddle/tcp/segment.hh"
#include "tcp/pool.hh"
#include "tcp/ring.hh"

namespace heddle::tcp {

/// A part of the sequence that was sent as one segment.
struct sent_record {
  sequence begin = 0;
  sequence end = 0;
  instant sent_at = 0;     // when it was sent last
  std::uint8_t sends = 1;  // stays at 255
  bool sacked = false;
  bool lost = false;  // believed lost and not sent again since
  bool fin = false;   // the last number is FIN's

  [[nodiscard]] std::uint32_t bytes() const noexcept { return end - begin; }
  [[nodiscard]] bool in_flight() const noexcept { return !sacked && !lost; }
};
static_assert(sizeof(sent_record) == 24);

/// A written piece that is not acknowledged to its end.
struct queued_piece {
  sequence begin = 0;
  std::uint32_t bytes = 0;
  const std::byte* data = nullptr;
  piece_home* home = nullptr;
  std::uint64_t token = 0;
};

/// A piece received beyond a gap.
struct held_piece {
  sequence begin = 0;
  sequence end = 0;
  const std::byte* data = nullptr;
  packet* from = nullptr;
};

enum class recovery : std::uint8_t { open, fast, timeout };
enum class send_timer : std::uint8_t { none, timeout, tail_probe, reorder, window_probe };

/// The part that is reset each time a connection becomes busy.
struct traffic_state {
  // Sending.
  sequence data_end = 0;  // after the last written byte
  std::uint32_t sacked_bytes = 0;
  std::uint32_t lost_bytes = 0;
  sequence small_end = 0;       // the end of the latest small segment
  bool small_sent = false;      // there was a small segment
  bool window_limited = false;  // cwnd held something back since the last ACK
  instant unlimited_since = 0;  // when cwnd stopped being the limit; 0: it is

  instant moved_at = 0;  // when bytes were last acknowledged, or handed up after a gap
  std::uint32_t records_charged = 0;
  instant send_due = never_due;
  send_timer timer = send_timer::none;
  std::uint8_t window_probes = 0;

  // Loss recovery.
  recovery mode = recovery::open;
  sequence recovery_end = 0;    // snd_nxt when the recovery began
  std::uint8_t duplicates = 0;  // duplicate ACKs in a row, of a peer without SACK
  std::uint32_t min_rtt_us = UINT32_MAX;

  struct {  // RFC 8985 section 5.2
    instant xmit_at = 0;
    sequence end_seq = 0;
    std::uint32_t rtt_us = 0;
    sequence fack = 0;
    std::uint8_t reo_multiplier = 1;
    std::uint8_t reo_persist = 0;
    bool reordering_seen = false;
    bool dsack_in_round = false;
    sequence dsack_round_end = 0;
  } rack;
  struct {  // RFC 8985 section 7.1
    sequence end_seq = 0;
    bool active = false;
    bool retransmitted = false;
  } tlp;
  struct {  // RFC 6937
    std::uint32_t delivered = 0;
    std::uint32_t sent = 0;
    std::uint32_t flight_at_begin = 0;
  } prr;
  struct {  // RFC 3522, 4015, 3708
    bool possible = false;
    sequence una = 0;  // snd_una when the recovery began
    std::uint32_t cwnd = 0;
    std::uint32_t ssthresh = 0;
    std::uint32_t retransmitted_at_ts = 0;  // timestamp of the first retransmission
    bool has_ts = false;
    std::uint32_t retransmissions = 0;  // not yet reported as duplicates
    congestion_memory memory;
  } undo;
  congestion_memory memory;

  // Receiving.
  std::uint32_t held_bytes = 0;
  sequence last_held = 0;  // where the latest piece arrived: its block is reported first
  sack_block duplicate;    // a D-SACK block to report once (RFC 2883)
  bool has_duplicate = false;
  bool peer_finished = false;  // FIN arrived beyond a gap
  sequence peer_end = 0;       // FIN's sequence number
};

/// The second block of a busy connection. Its queues keep their memory from one connection to the
/// next.
struct traffic : traffic_state {
  std::uint32_t link = no_index;  // for the pool
  ring<queued_piece> pieces;
  ring<sent_record> records;  // snd_una to snd_nxt without a gap
  ring<held_piece> held;      // in order, without overlap

  [[nodiscard]] bool idle() const noexcept {
    return records.empty() && pieces.empty() && held.empty() && !has_duplicate && !peer_finished;
  }
};

}  // namespace heddle::tcp
