// SPDX-License-Identifier: MIT
// An acknowledgement: the data and the window in it, and the round trip that it measures (RFC 9293
// section 3.10.7.4, RFC 5961 section 5, RFC 6298).
#include "tcp/core.hh"

namespace heddle::tcp {

void measure(core& k, pcb& c, std::uint32_t rtt_us) noexcept {
  rtt_us = std::clamp<std::uint32_t>(rtt_us, 1, k.opt.timeout_max_us);
  if (c.srtt_us == 0) {
    c.srtt_us = rtt_us;
    c.rttvar_us = rtt_us / 2;
    return;
  }
  const std::uint32_t error = c.srtt_us > rtt_us ? c.srtt_us - rtt_us : rtt_us - c.srtt_us;
  c.rttvar_us = c.rttvar_us - c.rttvar_us / 4 + error / 4;
  c.srtt_us = std::max<std::uint32_t>(c.srtt_us - c.srtt_us / 8 + rtt_us / 8, 1);
}

std::uint32_t timeout_us(const core& k, const pcb& c) noexcept {
  constexpr std::uint64_t granularity = 1000, after_lost_syn = 3'000'000;
  std::uint64_t base = k.opt.timeout_initial_us;
  if (c.srtt_us != 0) {
    base = c.srtt_us + std::max<std::uint64_t>(granularity, 4 * std::uint64_t{c.rttvar_us});
  } else if (c.has(pcb_syn_lost)) {
    base = std::max(base, after_lost_syn);
  }
  base = std::max<std::uint64_t>(base, k.opt.timeout_min_us);
  const unsigned shift = std::min<unsigned>(c.retries, 20);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(base << shift, k.opt.timeout_max_us));
}

void measure_echo(core& k, pcb& c, std::uint32_t echo) noexcept {
  const std::uint32_t ms = timestamp_now(k) - (echo - c.ts_offset);
  if (ms < k.opt.timeout_max_us / 1000) measure(k, c, std::max<std::uint32_t>(ms, 1) * 1000);
}

void take_window(pcb& c, const segment& s) noexcept {
  // An older segment sets the window only if its ACK advances. RFC 9293 ignores it even then, but
  // the window's edge would move with SND.UNA to where the peer never offered it.
  if (before(s.seq, c.snd_wl1) && !before(c.snd_una, s.ack)) return;
  c.snd_wnd = std::uint32_t{s.window} << c.send_shift;
  // An ACK may be numbered beyond the window (acceptable() in input.cc), and the next one within.
  c.snd_wl1 = earlier(s.seq, c.rcv_edge);
  c.max_window = std::max(c.max_window, s.window);
}

namespace {

void window_opened(traffic& t) noexcept {
  t.window_probes = 0;
  if (t.timer == send_timer::window_probe) {
    t.timer = send_timer::none;
    t.send_due = never_due;
  }
}

void measure_from(core& k, pcb& c, const ack_result& r) noexcept {
  // Karn's rule: a segment sent twice measures nothing, unless the timestamp tells which copy.
  if (r.newest_sent_once >= 0) {
    measure(k, c, static_cast<std::uint32_t>(k.now - r.newest_sent_once));
  } else if (r.has_echo && r.acked != 0) {
    measure_echo(k, c, r.echo);
  }
}

}  // namespace

bool on_ack(core& k, conn x, const segment& s) {
  pcb& c = x.c;
  if (before(c.snd_nxt, s.ack) || before(s.ack, c.snd_una - c.max_window_bytes())) {
    dropped(k, drop::bad_ack);
    challenge(k, x);
    return false;
  }
  if (before(s.ack, c.snd_una)) return true;  // old, but its text may be new
  const std::uint32_t window_was = c.snd_wnd;
  take_window(c, s);
  if (c.traffic == no_index) {
    c.snd_una = s.ack;
    return true;
  }
  traffic& t = k.traffics[c.traffic];
  // A peer that answers probes is alive, however long its window stays closed (RFC 9293 section
  // 3.8.6.1).
  if (c.snd_wnd == 0) c.retries = 0;

  ack_result r;
  r.has_echo = c.has(pcb_timestamps) && s.has_timestamps && s.ts_echo != 0;
  r.echo = s.ts_echo;
  if (c.has(pcb_sack) && s.sack_count != 0) take_sacks(k, c, t, s, r);
  if (before(c.snd_una, s.ack)) {
    take_cumulative(k, c, t, s.ack, r);
    c.retries = 0;
    t.duplicates = 0;
    measure_from(k, c, r);
  } else if (s.payload.empty() && !s.has(flag_fin) && !t.records.empty() &&
             window_was == c.snd_wnd && c.snd_wnd != 0 && t.duplicates < 255) {
    ++t.duplicates;  // RFC 5681 section 2; answers to probes of a closed window are none
  }
  if (window_was == 0 && c.snd_wnd != 0) window_opened(t);
  recover(k, x, t, s, r);
  // The timeout restarts with newly acknowledged data, and not with each duplicate (RFC 6298
  // section 5.3); a probe of the tail is off once something was reported beyond a gap.
  const bool keeps = r.acked == 0 && t.timer == send_timer::timeout && c.snd_wnd != 0;
  if (!keeps) {
    set_send_timer(k, x, t);
  } else if (!c.has(pcb_sack)) {
    timer_after_send(k, x, t);  // a duplicate allows a probe
  }
  const std::uint32_t fin = c.has(pcb_fin_sent) && c.snd_una == c.snd_nxt ? 1 : 0;
  if (r.acked > fin) k.up.acknowledged(x.name(), r.acked - fin);
  return true;
}

}  // namespace heddle::tcp
