// SPDX-License-Identifier: MIT
// One connection at rest: all that the stack keeps of an idle one. A busy connection has a second
// block (traffic.hh).
//
// States and legal moves (RFC 9293 section 3.3.2). LISTEN is a listener and TIME-WAIT a small
// record; neither is a pcb, so a move there ends the pcb.
//
//   closed        connect() -> syn_sent      listener gets SYN -> syn_received, or cookie's ACK ->
//                 established
//   syn_sent      SYN,ACK -> established     SYN -> syn_received        RST, timeout -> closed
//   syn_received  ACK -> established         RST, timeout -> closed
//   established   finish() -> fin_wait_1     FIN -> close_wait
//   fin_wait_1    ACK of FIN -> fin_wait_2   FIN -> closing             both -> time_wait
//   fin_wait_2    FIN -> time_wait
//   close_wait    finish() -> last_ack
//   closing       ACK of FIN -> time_wait
//   last_ack      ACK of FIN -> closed
// finish() before the connection is open takes effect when it opens.
//   each of them  RST, abort(), retries used up -> closed
#pragma once

#include <cstdint>

#include "heddle/tcp/state.hh"
#include "tcp/pool.hh"

namespace heddle::tcp {

/// Bits of pcb::flags.
enum pcb_flag : std::uint16_t {
  pcb_timestamps = 1,      // each side sent the option
  pcb_sack = 2,            // each side permits SACK
  pcb_nagle_off = 4,       //
  pcb_keepalive = 8,       //
  pcb_finish = 16,         // the user sends no more; FIN follows the queue
  pcb_fin_sent = 32,       // FIN has a sequence number: snd_nxt is after it
  pcb_read_shut = 64,      // the user reads no more
  pcb_ack_now = 128,       // owe an ACK at the next flush
  pcb_ack_later = 256,     // owe an ACK by ack_due
  pcb_dirty = 512,         // is in the list of flush()
  pcb_armed = 1024,        // a timer entry at `armed` is this connection's
  pcb_active = 2048,       // connect() made it
  pcb_accepted = 4096,     // user::accepted() was called and take_accepted() was not
  pcb_syn_due = 8192,      // SYN (or SYN,ACK) must leave at the next flush
  pcb_syn_lost = 16384,    // a SYN was sent again: RFC 6298 (5.7), RFC 6928 section 2
  pcb_idle_timer = 32768,  // idle_due is set
};

struct pcb {
  // Sequence numbers, RFC 9293 section 3.3.1. SND.WL2 is not kept: every ACK that is looked at is
  // at least SND.UNA, and SND.UNA is at least WL2, so the test of WL2 is always true.
  std::uint32_t snd_una = 0;
  std::uint32_t snd_nxt = 0;
  std::uint32_t rcv_nxt = 0;
  std::uint32_t rcv_edge = 0;  // RCV.NXT + RCV.WND as it was offered at most

  std::uint32_t snd_wnd = 0;
  std::uint32_t snd_wl1 = 0;
  std::uint32_t last_ack_sent = 0;
  std::uint32_t ts_recent = 0;

  std::uint32_t ts_offset = 0;
  std::uint32_t unread = 0;  // handed up and not consumed
  std::uint32_t cwnd = 0;
  std::uint32_t ssthresh = UINT32_MAX;

  std::uint32_t srtt_us = 0;  // 0: not measured
  std::uint32_t rttvar_us = 0;
  std::uint32_t traffic = no_index;
  std::uint32_t link = no_index;  // the next pcb of the same bucket, or of the free ones

  ip_address remote;

  std::uint16_t local_port = 0;
  std::uint16_t remote_port = 0;
  std::uint16_t mss = 536;       // payload bytes of a full segment without options
  std::uint16_t max_window = 0;  // MAX.SND.WND (RFC 5961 section 5) >> send_shift, rounded up

  state now = state::closed;
  std::uint8_t send_shift : 4 = 0;
  std::uint8_t receive_shift : 4 = 0;
  std::uint8_t retries : 7 = 0;   // timeouts in a row, or keepalive probes
  std::uint8_t narrowed : 1 = 0;  // waits for memory: listed in core::narrow
  std::uint8_t local = 0;         // number of the local address

  std::uint16_t flags = 0;
  std::uint16_t generation = 0;

  // Ticks of 256 microseconds (timer.hh).
  std::uint32_t armed = 0;
  std::uint32_t ack_due = 0;
  std::uint32_t idle_due = 0;  // SYN again, FIN-WAIT-2, keepalive

  std::uint16_t ts_recent_age = 0;  // when ts_recent was set, in units of 2^27 us
  std::uint16_t sent_age = 0;       // when data was last sent, in units of 2^16 us

  std::uint64_t user = 0;

  [[nodiscard]] bool has(std::uint16_t some) const noexcept { return (flags & some) != 0; }
  void set(std::uint16_t some) noexcept { flags = static_cast<std::uint16_t>(flags | some); }
  void clear(std::uint16_t some) noexcept {
    flags = static_cast<std::uint16_t>(flags & ~unsigned{some});
  }
  /// Whether SYN has been acknowledged.
  [[nodiscard]] bool synchronized() const noexcept { return now >= state::established; }
  /// Whether the peer may still send.
  [[nodiscard]] bool receiving() const noexcept {
    return now == state::established || now == state::fin_wait_1 || now == state::fin_wait_2;
  }
  [[nodiscard]] std::uint32_t receive_window() const noexcept { return rcv_edge - rcv_nxt; }
  [[nodiscard]] std::uint32_t max_window_bytes() const noexcept {
    return std::uint32_t{max_window} << send_shift;
  }
};

/// A bucket of the table takes four bytes more, for one or two connections.
inline constexpr std::size_t idle_bytes = sizeof(pcb) + sizeof(std::uint32_t);
static_assert(sizeof(pcb) == 120);
static_assert(idle_bytes <= 128, "128 bytes for an idle connection");

/// Whether the table above has the move.
[[nodiscard]] bool legal(state from, state to) noexcept;
/// Goes to a state; an illegal move is a bug of the stack.
void move(pcb& c, state to);

}  // namespace heddle::tcp
