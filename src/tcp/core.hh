// SPDX-License-Identifier: MIT
// The parts of a stack, and the steps that its files offer one another. A step that calls the user
// may find the connection gone afterwards: it compares the generation (`gone`).
#pragma once

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "heddle/tcp/stack.hh"
#include "tcp/challenge.hh"
#include "tcp/demux.hh"
#include "tcp/time_wait.hh"
#include "tcp/timer.hh"
#include "tcp/traffic.hh"

namespace heddle::tcp {

struct listener {
  std::uint32_t backlog = 0;
  std::uint32_t waiting = 0;  // accepted, and not taken
};

struct core {
  core(const stack_options& o, network& n, user& u)
      : opt(o),
        net(n),
        up(u),
        algorithm(o.algorithm != nullptr ? *o.algorithm : cubic()),
        table({o.key[0] ^ 1, o.key[1]}),
        waits(o.time_wait_max) {}

  stack_options opt;
  network& net;
  user& up;
  const congestion& algorithm;
  stack_counters count;

  pcb_pool pcbs;
  pool<traffic, 16> traffics;
  demux table;
  time_wait_table waits;
  std::vector<ip_address> addresses;
  std::unordered_map<std::uint16_t, listener> listeners;
  timer_heap timers;
  std::vector<std::uint32_t> dirty;

  stack::filter filter = nullptr;
  void* filter_context = nullptr;
  stack::watcher watcher = nullptr;
  void* watcher_context = nullptr;

  instant now = 0;
  std::uint32_t half_open = 0;
  // A counter for each part of the destinations, so that a peer cannot count the connections to
  // others (RFC 6056 section 3.3.4).
  std::array<std::uint32_t, 64> port_next{};

  // Memory (memory.cc).
  std::size_t held_bytes = 0;      // bytes of users: unread, to send, out of order, with records
  std::size_t process_share = 0;   // taken from the process's budget
  std::uint32_t readers = 0;       // connections with unread bytes
  std::vector<connection> narrow;  // connections that wait for memory for a window or FIN
  instant ease_due = never_due;    // when ease() looks again after a refusal
  bool writers_wait = false;       // user::eased() must be called
  instant stalled_seen = 0;        // when stalled connections were last looked for

  challenge_budget challenges;
  instant echo_second = -1;
  std::uint32_t echoes = 0;  // answered in echo_second
};

/// A connection within a step.
struct conn {
  pcb& c;
  std::uint32_t index;
  std::uint16_t generation;

  conn(core& k, std::uint32_t i) noexcept : c(k.pcbs[i]), index(i), generation(c.generation) {}
  [[nodiscard]] bool gone() const noexcept { return c.generation != generation; }
  [[nodiscard]] connection name() const noexcept { return {index, generation}; }
};

inline void dropped(core& k, drop why) noexcept { ++k.count.drops[static_cast<std::size_t>(why)]; }

// memory.cc: the bounds of the stack and of the process.
/// The sixteenths of a bound that a purpose may fill. The last one is for the stack's own records.
enum class memory_for : std::uint8_t { sending_much = 10, opening = 12, sending = 14, data = 15 };
inline constexpr std::size_t piece_bytes = 64;   // memory of a queued piece, without its bytes
inline constexpr std::size_t record_bytes = 24;  // memory of a segment in flight
inline constexpr std::size_t hold_bytes = 32;    // memory of a piece out of order
/// The smallest piece that is worth asking for.
inline constexpr std::size_t write_bytes_min = 4096;
/// A connection with more bytes than this to send takes memory_for::sending_much.
inline constexpr std::size_t small_queue_bytes = 16384;
[[nodiscard]] std::size_t memory_used(const core& k) noexcept;
[[nodiscard]] std::size_t memory_left(const core& k, memory_for what) noexcept;
[[nodiscard]] std::size_t connection_bytes(const core& k) noexcept;
/// Whether this many more bytes may be used; if not, counts the refusal.
[[nodiscard]] bool fits(core& k, std::size_t bytes, memory_for what, refusal refused) noexcept;
void count_refusal(core& k, refusal what) noexcept;
inline void charge(core& k, std::size_t bytes) noexcept { k.held_bytes += bytes; }
inline void discharge(core& k, std::size_t bytes) noexcept { k.held_bytes -= bytes; }
void set_unread(core& k, pcb& c, std::uint32_t bytes) noexcept;
/// Brings the count of the segments in flight up to date.
void charge_records(core& k, traffic& t) noexcept;
/// The largest window that memory allows a connection now.
[[nodiscard]] std::uint32_t window_share(const core& k) noexcept;
/// Whether a connection has a second block, or there is memory for one.
[[nodiscard]] bool has_block(core& k, const pcb& c, memory_for what, refusal refused) noexcept;
/// As has_block(), for FIN; if there is no memory, FIN is sent later.
[[nodiscard]] bool may_finish(core& k, conn x);
/// The window that a new connection offers first.
[[nodiscard]] std::uint32_t first_window(const core& k) noexcept;
/// Remembers a connection whose window is small for lack of memory.
void note_narrow(core& k, conn x);
/// Notifies connections that wait for memory, if there is some.
void ease(core& k);
/// Resets connections whose bytes do not move, if memory is short.
void end_stalled(core& k);
void settle_memory(core& k) noexcept;

// connection.cc: making and ending.
[[nodiscard]] std::uint32_t new_pcb(core& k, std::uint8_t local, const flow& f);
[[nodiscard]] flow flow_of(const core& k, const pcb& c) noexcept;
[[nodiscard]] int local_number(const core& k, const ip_address& a) noexcept;  // -1: not ours
/// Sequence number to start with (RFC 6528), and the offset of timestamps (RFC 7323 section 5.4).
[[nodiscard]] sequence initial_sequence(const core& k, const flow& f) noexcept;
[[nodiscard]] std::uint32_t timestamp_offset(const core& k, const flow& f) noexcept;
[[nodiscard]] traffic& busy(core& k, pcb& c);
void rest_if_idle(core& k, pcb& c) noexcept;
/// Takes the connection away and tells the user.
void end(core& k, conn x, ending how);
/// Ends a connection and leaves a TIME-WAIT record in its place.
void end_in_time_wait(core& k, conn x);
/// Sets the values that follow from the options and the window of the peer's SYN.
void open_with(core& k, pcb& c, const segment& syn);
void established(core& k, conn x);

// timer.cc
void mark_dirty(core& k, conn x);
void schedule(core& k, conn x, instant at);
void set_idle_timer(core& k, conn x, instant at);
void restart_keepalive(core& k, conn x);
void run_timers(core& k);

// control.cc: segments without data.
[[nodiscard]] segment outgoing_segment(core& k, pcb& c, std::uint8_t flags, sequence seq) noexcept;
void put_sack_blocks(core& k, pcb& c, segment& s) noexcept;
void send(core& k, const segment& s, std::span<const std::span<const std::byte>> payload,
          std::uint32_t bytes) noexcept;
void send_ack(core& k, pcb& c) noexcept;
/// Sends a probe: a segment without data, with a number that the peer has acknowledged, makes the
/// peer answer by an ACK with its window (RFC 1122 section 4.2.3.6). It takes no new number: the
/// ACKs that follow it stay acceptable to a peer whose window is closed.
void send_old_number(core& k, pcb& c) noexcept;
void send_syn(core& k, conn x) noexcept;
void send_reset(core& k, pcb& c) noexcept;
/// Answers a segment that belongs to no connection (RFC 9293 section 3.10.7.1).
void answer_with_reset(core& k, const segment& s) noexcept;
/// Sends an ACK that asks whether a suspicious segment was the peer's (RFC 5961), at a bounded
/// rate.
void challenge(core& k, conn x) noexcept;
/// Whether the rate allows one more challenge for `owner` (challenge.hh).
[[nodiscard]] bool may_challenge(core& k, std::uint64_t owner) noexcept;
[[nodiscard]] std::uint32_t timestamp_now(const core& k) noexcept;
[[nodiscard]] std::uint32_t mss_of(const core& k, bool v4) noexcept;
/// The edge of the window that would be offered now.
[[nodiscard]] sequence edge_to_offer(const core& k, const pcb& c) noexcept;

// listen.cc
void on_listener(core& k, const segment& s, packet& p);
void on_time_wait(core& k, time_wait_record& r, const segment& s, std::uint64_t hash);

// cookie.cc
struct cookie_offer {
  std::uint16_t mss = 536;
  std::uint8_t window_scale = 0;
  bool has_scale = false;
  bool sack = false;
};
void send_cookie(core& k, const segment& syn) noexcept;
enum class cookie_sort : std::uint8_t {
  none,   // not ours, or too old
  early,  // a segment that overtook the connection's first ACK
  good,
};
/// Checks the cookie in an ACK for a listener; `good`: sets `offer` to the SYN's options.
[[nodiscard]] cookie_sort check_cookie(const core& k, const segment& ack,
                                       cookie_offer& offer) noexcept;
/// Opens a connection with the options of the SYN that the cookie answered.
void open_by_cookie(core& k, pcb& c, const segment& ack, const cookie_offer& offer);

// input.cc
void on_connection(core& k, conn x, segment& s, packet& p);
/// Makes the checks from the ACK on (RFC 9293 section 3.10.7.4, fifth to eighth).
void from_ack_on(core& k, conn x, segment& s, packet& p);

// icmp.cc
void on_icmp(core& k, const ip_head& ip, bool sums_verified) noexcept;

// acknowledge.cc
/// Processes the segment's ACK. False: the segment is to be dropped.
[[nodiscard]] bool on_ack(core& k, conn x, const segment& s);
void take_window(pcb& c, const segment& s) noexcept;
void measure(core& k, pcb& c, std::uint32_t rtt_us) noexcept;
/// Measures by the peer's echo of a timestamp.
void measure_echo(core& k, pcb& c, std::uint32_t echo) noexcept;
[[nodiscard]] std::uint32_t timeout_us(const core& k, const pcb& c) noexcept;

// scoreboard.cc
struct ack_result {
  std::uint32_t acked = 0;      // bytes below the new snd_una
  std::uint32_t sacked = 0;     // bytes newly reported
  std::uint32_t delivered = 0;  // bytes that the peer is now known to have
  bool duplicate_seen = false;  // a D-SACK
  bool has_echo = false;        // the segment echoes a timestamp
  std::uint32_t echo = 0;
  instant newest_sent_once = -1;  // send time of the latest acknowledged record sent once
};
void split_record(traffic& t, std::size_t i, sequence at);
[[nodiscard]] std::size_t record_at(const traffic& t, sequence s) noexcept;
void take_sacks(core& k, pcb& c, traffic& t, const segment& s, ack_result& r);
void take_cumulative(core& k, pcb& c, traffic& t, sequence ack, ack_result& r);
void mark_lost(traffic& t, sent_record& r) noexcept;
[[nodiscard]] inline std::uint32_t in_flight(const pcb& c, const traffic& t) noexcept {
  return c.snd_nxt - c.snd_una - t.sacked_bytes - t.lost_bytes;
}

// rack.cc
void rack_delivered(core& k, pcb& c, traffic& t, const sent_record& r) noexcept;
void rack_round(pcb& c, traffic& t, const segment& s, const ack_result& r) noexcept;
/// Marks segments that must have been lost; gives the time until more can be judged, or 0.
[[nodiscard]] std::uint32_t rack_detect(core& k, pcb& c, traffic& t) noexcept;
void rack_mark_on_timeout(core& k, pcb& c, traffic& t) noexcept;
[[nodiscard]] std::uint32_t tail_probe_us(const core& k, const pcb& c, const traffic& t) noexcept;
void tail_probe(core& k, conn x);
void tail_probe_acked(core& k, pcb& c, traffic& t, const segment& s, const ack_result& r) noexcept;

// recovery.cc
void recover(core& k, conn x, traffic& t, const segment& s, const ack_result& r);
void begin_fast(core& k, pcb& c, traffic& t) noexcept;
void on_timeout(core& k, conn x);
void set_send_timer(core& k, conn x, traffic& t);
void timer_after_send(core& k, conn x, traffic& t);
[[nodiscard]] congestion_path path_of(core& k, pcb& c, traffic& t) noexcept;
void note_retransmission(core& k, pcb& c, traffic& t) noexcept;

// output.cc
void flush_connection(core& k, conn x);
[[nodiscard]] std::uint32_t full_segment(const core& k, const pcb& c) noexcept;
void retransmit(core& k, pcb& c, traffic& t, std::size_t i);
void window_probe(core& k, conn x);
bool send_new_segment(core& k, conn x, traffic& t, std::uint32_t bytes);

// reassembly.cc
void on_data(core& k, conn x, segment& s, packet& p);
/// Gives the bytes to the user; false: the connection is gone.
bool hand_up(core& k, conn x, std::span<const std::byte> bytes, packet& p);
void on_fin(core& k, conn x);
void forget_held(core& k, traffic& t) noexcept;

}  // namespace heddle::tcp
