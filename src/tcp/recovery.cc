// SPDX-License-Identifier: MIT
// The reaction to losses: fast recovery (RFC 5681, 6582, 6675) paced by proportional rate reduction
// (RFC 6937), timeouts (RFC 6298), undo of spurious recoveries (RFC 3522, 3708, 4015), and the
// timer of sending.
#include <utility>

#include "tcp/core.hh"

namespace heddle::tcp {

congestion_path path_of(core& k, pcb& c, traffic& t) noexcept {
  congestion_path p;
  p.window = c.cwnd;
  p.threshold = c.ssthresh;
  p.mss = full_segment(k, c);
  p.in_flight = in_flight(c, t);
  p.round_trip_us = c.srtt_us;
  p.now = k.now;
  p.memory = &t.memory;
  return p;
}

namespace {

void remember_for_undo(pcb& c, traffic& t) noexcept {
  t.undo = {};
  t.undo.possible = true;
  t.undo.una = c.snd_una;
  t.undo.cwnd = c.cwnd;
  t.undo.ssthresh = c.ssthresh;
  t.undo.memory = t.memory;
}

void undo(core& k, pcb& c, traffic& t) noexcept {
  ++k.count.undone;
  c.cwnd = std::max(c.cwnd, t.undo.cwnd);
  c.ssthresh = t.undo.ssthresh;
  t.memory = t.undo.memory;
  t.undo.possible = false;
  t.mode = recovery::open;
  for (std::size_t i = 0; i < t.records.size(); ++i) t.records[i].lost = false;
  t.lost_bytes = 0;
  congestion_path p = path_of(k, c, t);
  k.algorithm.undone(p);
  c.cwnd = p.window;
  c.ssthresh = p.threshold;
}

/// Whether the recovery was caused by delay or reordering, not by loss.
bool was_spurious(pcb& c, traffic& t, const ack_result& r) noexcept {
  if (!t.undo.possible) return false;
  if (r.acked != 0 && t.undo.has_ts) {
    // Eifel: the first ACK that advances answers the original if its echo is older than the
    // retransmission.
    t.undo.has_ts = false;
    if (r.has_echo && before(r.echo, t.undo.retransmitted_at_ts)) return true;
  }
  (void)c;
  return r.duplicate_seen && t.undo.retransmissions == 0;
}

void leave(pcb& c, traffic& t) noexcept {
  if (t.mode == recovery::fast) c.cwnd = std::max(c.ssthresh, 2 * std::uint32_t{c.mss});
  t.mode = recovery::open;
  if (t.rack.reo_persist > 0 && --t.rack.reo_persist == 0) t.rack.reo_multiplier = 1;
}

/// RFC 6937 section 3.
void reduce_proportionally(core& k, pcb& c, traffic& t, const ack_result& r) noexcept {
  const std::uint32_t mss = full_segment(k, c);
  t.prr.delivered += r.delivered;
  const std::uint32_t pipe = in_flight(c, t);
  std::int64_t more = 0;
  const auto balance = std::int64_t{t.prr.delivered} - t.prr.sent;
  if (pipe > c.ssthresh) {
    const std::uint64_t share =
        (std::uint64_t{t.prr.delivered} * c.ssthresh + t.prr.flight_at_begin - 1) /
        std::max<std::uint32_t>(t.prr.flight_at_begin, 1);
    more = static_cast<std::int64_t>(share) - t.prr.sent;
  } else {
    more = std::min<std::int64_t>(std::int64_t{c.ssthresh} - pipe,
                                  std::max<std::int64_t>(balance, r.delivered) + mss);
  }
  if (t.prr.sent == 0) more = std::max<std::int64_t>(more, mss);
  c.cwnd = pipe + static_cast<std::uint32_t>(std::max<std::int64_t>(more, 0));
}

// How often the first unacknowledged segment may be sent before the timeout, to a peer without
// SACK: at first, by fast retransmit or a probe, and by one more probe.
constexpr std::uint8_t head_sends_max = 3;

/// RFC 8985 section 7.2.
bool probe_allowed(const pcb& c, const traffic& t) noexcept {
  // Without SACK, the ACK for a tail probe would not say which segments are missing. But a peer
  // that has a gap acknowledges each segment at once, so its silence means that the head segment
  // was lost (again).
  if (!c.has(pcb_sack))
    return (t.mode == recovery::fast || (t.mode == recovery::open && t.duplicates != 0)) &&
           t.lost_bytes == 0 && c.retries == 0 && c.srtt_us != 0 && !t.records.empty() &&
           t.records[0].sends < head_sends_max;
  return t.mode == recovery::open && t.sacked_bytes == 0 && t.lost_bytes == 0 && !t.tlp.active &&
         c.retries == 0 && c.srtt_us != 0;
}

/// Recovers from a loss without SACK: duplicate ACKs stand for segments that arrived (RFC 6582).
void recover_by_count(core& k, pcb& c, traffic& t, const ack_result& r) noexcept {
  const std::uint32_t mss = full_segment(k, c);
  if (r.acked != 0) {
    if (t.mode == recovery::fast && !t.records.empty()) mark_lost(t, t.records.front());
    return;
  }
  if (t.duplicates == 0 || t.records.empty()) return;
  if (t.duplicates == 3 && t.mode == recovery::open && before(t.recovery_end, c.snd_una + 1)) {
    begin_fast(k, c, t);
    mark_lost(t, t.records.front());
  }
  const std::uint32_t outstanding = c.snd_nxt - c.snd_una - t.lost_bytes;
  const std::uint32_t kept = std::min(outstanding, t.records.front().bytes());
  t.sacked_bytes = std::min<std::uint32_t>(t.duplicates * mss, outstanding - kept);
}

}  // namespace

void note_retransmission(core& k, pcb& c, traffic& t) noexcept {
  ++k.count.segments_retransmitted;
  if (!t.undo.possible) return;
  if (t.undo.retransmissions == 0 && !t.undo.has_ts && c.has(pcb_timestamps)) {
    t.undo.has_ts = true;
    t.undo.retransmitted_at_ts = timestamp_now(k) + c.ts_offset;
  }
  ++t.undo.retransmissions;
}

void begin_fast(core& k, pcb& c, traffic& t) noexcept {
  ++k.count.fast_recoveries;
  remember_for_undo(c, t);
  congestion_path p = path_of(k, c, t);
  p.in_flight = c.snd_nxt - c.snd_una;
  k.algorithm.lost(p, false);
  c.ssthresh = p.threshold;
  t.prr = {0, 0, c.snd_nxt - c.snd_una};
  t.mode = recovery::fast;
  t.recovery_end = c.snd_nxt;
  t.tlp.active = false;
}

void recover(core& k, conn x, traffic& t, const segment& s, const ack_result& r) {
  pcb& c = x.c;
  const std::uint32_t flight_was = in_flight(c, t) + r.delivered;
  tail_probe_acked(k, c, t, s, r);
  if (was_spurious(c, t, r)) undo(k, c, t);
  if (t.mode != recovery::open && at_most(t.recovery_end, c.snd_una)) leave(c, t);

  std::uint32_t wait = 0;
  if (c.has(pcb_sack)) {
    rack_round(c, t, s, r);
    if (r.delivered != 0 || t.sacked_bytes != 0) wait = rack_detect(k, c, t);
    if (t.lost_bytes != 0 && t.mode == recovery::open) begin_fast(k, c, t);
  } else {
    recover_by_count(k, c, t, r);
  }
  // The reordering timer has precedence; set_send_timer() keeps it.
  if (wait != 0) {
    t.timer = send_timer::reorder;
    t.send_due = k.now + wait;
  } else if (t.timer == send_timer::reorder) {
    t.timer = send_timer::none;
    t.send_due = never_due;
  }

  if (t.mode == recovery::fast) {
    reduce_proportionally(k, c, t, r);
  } else if (r.acked != 0) {
    const bool limited = t.window_limited || (c.cwnd < c.ssthresh && flight_was >= c.cwnd / 2);
    if (!limited) {
      if (t.unlimited_since == 0) t.unlimited_since = k.now;
    } else {
      congestion_path p = path_of(k, c, t);
      p.in_flight = flight_was;
      if (t.unlimited_since != 0) p.paused_us = k.now - std::exchange(t.unlimited_since, 0);
      k.algorithm.acknowledged(p, r.acked);
      c.cwnd = std::max(p.window, full_segment(k, c));
      c.ssthresh = p.threshold;
    }
  }
}

void on_timeout(core& k, conn x) {
  pcb& c = x.c;
  traffic& t = k.traffics[c.traffic];
  if (t.records.empty()) {
    set_send_timer(k, x, t);
    return;
  }
  if (c.retries >= k.opt.retries_max) {
    send_reset(k, c);
    end(k, x, ending::timed_out);
    return;
  }
  ++k.count.timeouts;
  // A peer may forget what it reported (RFC 2018 section 8).
  if (t.records.front().sacked) {
    for (std::size_t i = 0; i < t.records.size(); ++i) t.records[i].sacked = false;
    t.sacked_bytes = 0;
  }
  if (!c.has(pcb_sack)) t.sacked_bytes = 0;
  if (t.mode == recovery::open) {
    remember_for_undo(c, t);
    congestion_path p = path_of(k, c, t);
    p.in_flight = c.snd_nxt - c.snd_una;
    k.algorithm.lost(p, true);
    c.ssthresh = p.threshold;
  }
  ++c.retries;
  t.mode = recovery::timeout;
  t.recovery_end = c.snd_nxt;
  t.duplicates = 0;
  t.tlp.active = false;
  rack_mark_on_timeout(k, c, t);
  c.cwnd = in_flight(c, t) + full_segment(k, c);
  t.timer = send_timer::timeout;
  t.send_due = k.now + timeout_us(k, c);
  mark_dirty(k, x);
}

void timer_after_send(core& k, conn x, traffic& t) {
  // A timeout is due some time after the first segment, a probe for the tail after the last.
  if (t.timer == send_timer::none || t.timer == send_timer::tail_probe) {
    set_send_timer(k, x, t);
  } else if (t.timer == send_timer::timeout && probe_allowed(x.c, t)) {
    const instant due = k.now + tail_probe_us(k, x.c, t);
    if (due >= t.send_due) return;
    t.timer = send_timer::tail_probe;
    t.send_due = due;
    schedule(k, x, due);
  }
}

void set_send_timer(core& k, conn x, traffic& t) {
  pcb& c = x.c;
  if (t.timer == send_timer::reorder) {
    schedule(k, x, t.send_due);
    return;
  }
  t.timer = send_timer::none;
  t.send_due = never_due;
  const bool unsent = !c.has(pcb_fin_sent) && (t.data_end != c.snd_nxt || c.has(pcb_finish));
  if (c.snd_wnd == 0 && (unsent || !t.records.empty())) {
    t.timer = send_timer::window_probe;
    // Probes back off even if each is answered, which timeout_us() does not count.
    const unsigned more = t.window_probes > c.retries ? t.window_probes - c.retries : 0;
    const std::uint64_t wait = std::uint64_t{timeout_us(k, c)} << std::min(more, 20u);
    t.send_due = k.now + static_cast<instant>(std::min<std::uint64_t>(wait, k.opt.timeout_max_us));
  } else if (!t.records.empty()) {
    const std::uint32_t timeout = timeout_us(k, c);
    t.timer = send_timer::timeout;
    t.send_due = k.now + timeout;
    const std::uint32_t wait = probe_allowed(c, t) ? tail_probe_us(k, c, t) : timeout;
    if (wait < timeout) {
      t.timer = send_timer::tail_probe;
      t.send_due = k.now + wait;
    }
  }
  if (t.send_due != never_due) schedule(k, x, t.send_due);
}

}  // namespace heddle::tcp
