// SPDX-License-Identifier: MIT
// Loss detection by time and the probe for a lost tail (RFC 8985). Names follow the RFC's.
#include "tcp/core.hh"

namespace heddle::tcp {

namespace {

constexpr std::uint32_t dup_threshold = 3;
constexpr std::uint8_t reo_persist_max = 16;

bool sent_after(instant at_a, sequence end_a, instant at_b, sequence end_b) noexcept {
  return at_a > at_b || (at_a == at_b && before(end_b, end_a));
}

/// RFC 8985 section 6.2, RACK_update_reo_wnd.
std::uint32_t reordering_window(const pcb& c, const traffic& t) noexcept {
  if (!t.rack.reordering_seen) {
    if (t.mode != recovery::open) return 0;
    if (t.sacked_bytes >= dup_threshold * std::uint32_t{c.mss}) return 0;
    std::uint32_t sacked = 0;
    for (std::size_t i = 0; i < t.records.size() && sacked < dup_threshold; ++i)
      if (t.records[i].sacked) ++sacked;
    if (sacked >= dup_threshold) return 0;
  }
  if (t.min_rtt_us == UINT32_MAX) return 0;
  return std::min(t.rack.reo_multiplier * (t.min_rtt_us / 4), c.srtt_us);
}

}  // namespace

void rack_delivered(core& k, pcb& c, traffic& t, const sent_record& r) noexcept {
  const auto rtt =
      static_cast<std::uint32_t>(std::clamp<instant>(k.now - r.sent_at, 1, UINT32_MAX - 1));
  // An ACK sooner than any round trip answers an earlier transmission. Before the first measurement
  // of this episode, three quarters of the smoothed round trip stand in for the shortest one.
  const std::uint32_t shortest =
      t.min_rtt_us != UINT32_MAX ? t.min_rtt_us : c.srtt_us - c.srtt_us / 4;
  if (r.sends > 1 && rtt < shortest) return;
  if (r.sends == 1) t.min_rtt_us = std::min(t.min_rtt_us, rtt);
  if (sent_after(r.sent_at, r.end, t.rack.xmit_at, t.rack.end_seq)) {
    t.rack.xmit_at = r.sent_at;
    t.rack.end_seq = r.end;
    t.rack.rtt_us = rtt;
  }
  if (before(t.rack.fack, r.end)) {
    t.rack.fack = r.end;
  } else if (before(r.end, t.rack.fack) && r.sends == 1) {
    t.rack.reordering_seen = true;
  }
}

void rack_round(pcb& c, traffic& t, const segment& s, const ack_result& r) noexcept {
  if (t.rack.dsack_in_round && at_most(t.rack.dsack_round_end, s.ack))
    t.rack.dsack_in_round = false;
  if (r.duplicate_seen && !t.rack.dsack_in_round) {
    t.rack.dsack_in_round = true;
    t.rack.dsack_round_end = c.snd_nxt;
    if (t.rack.reo_multiplier < 255) ++t.rack.reo_multiplier;
    t.rack.reo_persist = reo_persist_max;
  }
}

std::uint32_t rack_detect(core& k, pcb& c, traffic& t) noexcept {
  if (t.rack.xmit_at == 0) return 0;
  const std::uint32_t reo = reordering_window(c, t);
  instant wait = 0;
  for (std::size_t i = 0; i < t.records.size(); ++i) {
    sent_record& r = t.records[i];
    if (!sent_after(t.rack.xmit_at, t.rack.end_seq, r.sent_at, r.end)) {
      // The records behind it were sent later still, the first time or again.
      if (r.sends == 1) break;
      continue;
    }
    if (!r.in_flight()) continue;
    const instant left = r.sent_at + t.rack.rtt_us + reo - k.now;
    if (left <= 0) {
      mark_lost(t, r);
    } else {
      wait = std::max(wait, left);
    }
  }
  return static_cast<std::uint32_t>(wait);
}

void rack_mark_on_timeout(core& k, pcb& c, traffic& t) noexcept {
  const std::uint32_t reo = reordering_window(c, t);
  for (std::size_t i = 0; i < t.records.size(); ++i) {
    sent_record& r = t.records[i];
    if (i == 0 || !c.has(pcb_sack) || r.sent_at + t.rack.rtt_us + reo - k.now <= 0) mark_lost(t, r);
  }
}

std::uint32_t tail_probe_us(const core& k, const pcb& c, const traffic& t) noexcept {
  std::uint64_t wait = 2 * std::uint64_t{c.srtt_us};
  // One segment alone may be acknowledged late.
  if (c.snd_nxt - c.snd_una <= full_segment(k, c)) {
    constexpr std::uint32_t peer_ack_delay_us = 200'000;
    wait += std::min(peer_ack_delay_us, k.opt.timeout_min_us);
  }
  wait = std::max<std::uint64_t>(wait, 1000);
  (void)t;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(wait, UINT32_MAX));
}

void tail_probe(core& k, conn x) {
  pcb& c = x.c;
  traffic& t = k.traffics[c.traffic];
  if (t.records.empty()) {
    set_send_timer(k, x, t);
    return;
  }
  ++k.count.tail_probes;
  if (!c.has(pcb_sack)) {
    // A timeout would repeat the head; so it is repeated early, as after three duplicate ACKs.
    if (t.mode == recovery::open) begin_fast(k, c, t);
    retransmit(k, c, t, 0);
    set_send_timer(k, x, t);
    return;
  }
  const sequence edge = c.snd_una + c.snd_wnd;
  const std::uint32_t usable = before(c.snd_nxt, edge) ? edge - c.snd_nxt : 0;
  const std::uint32_t unsent = c.has(pcb_fin_sent) ? 0 : t.data_end - c.snd_nxt;
  const std::uint32_t bytes = std::min({unsent, usable, full_segment(k, c)});
  t.tlp.active = true;
  // On a short path the probe repeats the last segment even if there is new data. A peer delays the
  // ACK of one new segment by 40 ms and more, and answers at once to what it has (RFC 9293 section
  // 3.10.7.4). Where the path is longer than that, new data is the better use (RFC 8985
  // section 7.3).
  constexpr std::uint32_t short_path_us = 10'000;
  if (c.srtt_us >= short_path_us && bytes != 0 && send_new_segment(k, x, t, bytes)) {
    t.tlp.retransmitted = false;
  } else {
    const std::size_t last = t.records.size() - 1;
    t.tlp.retransmitted = true;
    retransmit(k, c, t, last);
  }
  t.tlp.end_seq = c.snd_nxt;
  t.timer = send_timer::timeout;
  t.send_due = k.now + timeout_us(k, c);
  schedule(k, x, t.send_due);
}

void tail_probe_acked(core& k, pcb& c, traffic& t, const segment& s, const ack_result& r) noexcept {
  if (!t.tlp.active || before(s.ack, t.tlp.end_seq)) return;
  if (!t.tlp.retransmitted || r.duplicate_seen) {
    t.tlp.active = false;
    return;
  }
  if (before(t.tlp.end_seq, s.ack)) {
    // The probe has filled the only gap: the network lost a segment, so slow down once.
    t.tlp.active = false;
    if (t.mode == recovery::open) {
      congestion_path p = path_of(k, c, t);
      p.in_flight += r.delivered;
      k.algorithm.lost(p, false);
      c.ssthresh = p.threshold;
      c.cwnd = std::min(c.cwnd, c.ssthresh);
    }
  } else if (r.acked == 0 && s.payload.empty() && s.sack_count == 0) {
    t.tlp.active = false;  // the peer got both copies
  }
}

}  // namespace heddle::tcp
