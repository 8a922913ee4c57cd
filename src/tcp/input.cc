// SPDX-License-Identifier: MIT
// A segment for a connection: the checks of RFC 9293 section 3.10.7, in its order, with those of
// RFC 5961 (blind attacks) and RFC 7323 (timestamps).
#include "tcp/core.hh"

namespace heddle::tcp {

namespace {

constexpr std::uint16_t stale_age = 24 * 86400 / 134;  // 24 days (RFC 7323 section 5.5)

/// Measures the first round trip, from SYN, whose deadline tells when it left. If SYN was sent
/// again, only the peer's echo of a timestamp tells which SYN it answers (RFC 7323 section 4).
void measure_opening(core& k, pcb& c, const segment& s) {
  if (c.has(pcb_syn_lost)) {
    if (c.has(pcb_timestamps) && s.has_timestamps && s.ts_echo != 0) measure_echo(k, c, s.ts_echo);
    return;
  }
  const instant sent = time_of(c.idle_due, k.now) - k.opt.timeout_initial_us;
  measure(k, c, static_cast<std::uint32_t>(std::max<instant>(k.now - sent, 1)));
}

void on_syn_sent(core& k, conn x, segment& s, packet& p) {
  pcb& c = x.c;
  const bool acks = s.has(flag_ack);
  const bool right = acks && s.ack == c.snd_nxt;  // nothing but SYN was sent
  if (acks && !right) {
    dropped(k, drop::bad_ack);
    answer_with_reset(k, s);
    return;
  }
  if (s.has(flag_rst)) {
    if (right) {
      end(k, x, ending::refused);
    } else {
      dropped(k, drop::blind_reset);
    }
    return;
  }
  if (!s.has(flag_syn)) {
    dropped(k, drop::no_ack);
    return;
  }
  open_with(k, c, s);
  if (!right) {  // simultaneous open
    move(c, state::syn_received);
    c.set(pcb_syn_due);
    mark_dirty(k, x);
    return;
  }
  measure_opening(k, c, s);
  c.snd_una = s.ack;
  c.set(pcb_ack_now);
  mark_dirty(k, x);
  established(k, x);
  if (x.gone()) return;
  if (c.has(pcb_finish) && c.now == state::established) move(c, state::fin_wait_1);
  restart_keepalive(k, x);
  // Text that came with SYN begins after it.
  if (s.payload.empty() && !s.has(flag_fin)) return;
  s.flags = static_cast<std::uint8_t>(s.flags & ~flag_syn);
  ++s.seq;
  from_ack_on(k, x, s, p);
}

/// Makes the checks of RFC 7323 section 5. False: the segment is to be dropped.
bool check_timestamps(core& k, conn x, const segment& s) {
  pcb& c = x.c;
  if (s.has(flag_rst)) return true;
  if (!s.has_timestamps) {
    dropped(k, drop::missing_timestamp);
    return false;
  }
  if (!before(s.ts_value, c.ts_recent)) return true;
  const auto age = static_cast<std::uint16_t>((k.now >> 27) - c.ts_recent_age);
  if (age > stale_age) return true;
  dropped(k, drop::old_timestamp);
  if (s.length() != 0 && !s.has(flag_syn)) {
    send_ack(k, c);
  } else {
    challenge(k, x);
  }
  return false;
}

bool acceptable(const pcb& c, const segment& s) noexcept {
  const std::uint32_t window = c.receive_window();
  const std::uint32_t length = s.length();
  // The special allowance for ACKs (RFC 9293 section 3.10.7.4). A peer whose bytes fill the window
  // numbers its ACKs from the window's end. A peer that has probed a closed window with a new byte
  // numbers them from one byte beyond the end.
  if (length == 0 && !s.has(flag_rst)) return s.seq - c.rcv_nxt <= window + 1;
  if (window == 0) return s.seq == c.rcv_nxt;  // ACK and RST count; trim() cuts the text off
  const auto inside = [&](sequence at) { return at - c.rcv_nxt < window; };
  return inside(s.seq) || (length > 0 && inside(s.seq + length - 1)) ||
         // The segment reaches beyond the window at both ends.
         (length > window && at_most(s.seq, c.rcv_nxt) && at_most(c.rcv_edge, s.end()));
}

void note_duplicate(core& k, pcb& c, sequence begin, sequence end) {
  k.count.duplicate_bytes_in += end - begin;
  if (!c.has(pcb_sack) || begin == end) return;
  if (!has_block(k, c, memory_for::opening, refusal::out_of_order)) return;
  traffic& t = busy(k, c);
  t.duplicate = {begin, end};
  t.has_duplicate = true;
}

/// Refuses a segment that is not in the window: sends the peer an ACK with the window.
void refuse(core& k, conn x, const segment& s) {
  pcb& c = x.c;
  dropped(k, drop::outside_window);
  if (s.has(flag_rst)) return;
  const std::uint32_t length = s.length();
  if (s.has(flag_syn)) {
    challenge(k, x);  // RFC 5961 section 4.2
  } else if (!s.payload.empty() && at_most(s.end(), c.rcv_nxt)) {
    note_duplicate(k, c, s.seq, s.seq + static_cast<std::uint32_t>(s.payload.size()));
    send_ack(k, c);
    rest_if_idle(k, c);
  } else if (length != 0 || s.seq + 1 == c.rcv_nxt) {
    send_ack(k, c);  // also a probe of a closed window or of an idle connection
  } else {
    challenge(k, x);  // two ends that disagree must not answer each other without end
  }
}

/// Cuts off the part that is outside of the window.
void trim(core& k, pcb& c, segment& s) {
  if (before(s.seq, c.rcv_nxt)) {
    std::uint32_t old = c.rcv_nxt - s.seq;
    if (s.has(flag_syn)) {
      s.flags = static_cast<std::uint8_t>(s.flags & ~flag_syn);
      --old;
    }
    const std::uint32_t bytes = std::min(old, static_cast<std::uint32_t>(s.payload.size()));
    if (bytes != 0) {
      note_duplicate(k, c, c.rcv_nxt - bytes, c.rcv_nxt);
      c.set(pcb_ack_now);
    }
    s.payload = s.payload.subspan(bytes);
    s.seq = c.rcv_nxt;
  }
  if (before(c.rcv_edge, s.end())) {
    std::uint32_t beyond = s.end() - c.rcv_edge;
    if (s.has(flag_fin)) {
      s.flags = static_cast<std::uint8_t>(s.flags & ~flag_fin);
      --beyond;
    }
    const std::uint32_t bytes = std::min(beyond, static_cast<std::uint32_t>(s.payload.size()));
    s.payload = s.payload.first(s.payload.size() - bytes);
    c.set(pcb_ack_now);
  }
}

void on_reset(core& k, conn x, const segment& s) {
  pcb& c = x.c;
  if (s.seq != c.rcv_nxt) {
    dropped(k, drop::blind_reset);
    challenge(k, x);
    return;
  }
  if (c.now == state::syn_received) {
    end(k, x, ending::refused);
  } else if (c.now == state::closing || c.now == state::last_ack) {
    end(k, x, ending::finished);
  } else {
    end(k, x, ending::reset);
  }
}

/// Whether the ACK is that of a cookie. The SYN came twice: a cookie answered the first, and the
/// second made this half-open connection. The peer goes on with the sequence number that came
/// first.
bool takes_cookie(core& k, pcb& c, const segment& s) {
  cookie_offer offer;
  if (c.has(pcb_active) || check_cookie(k, s, offer) != cookie_sort::good) return false;
  open_by_cookie(k, c, s, offer);
  ++k.count.cookies_accepted;
  return true;
}

/// Processes the ACK of our SYN. False: the segment is to be dropped.
bool on_ack_of_syn(core& k, conn x, const segment& s) {
  pcb& c = x.c;
  if (s.ack != c.snd_nxt && !takes_cookie(k, c, s)) {
    dropped(k, drop::bad_ack);
    answer_with_reset(k, s);
    return false;
  }
  if (!c.has(pcb_active)) {
    const auto at = k.listeners.find(c.local_port);
    if (at != k.listeners.end() && at->second.waiting >= at->second.backlog) {
      dropped(k, drop::backlog_full);
      return false;
    }
  }
  measure_opening(k, c, s);
  c.snd_una = s.ack;
  c.snd_wl1 = s.seq - 1;
  take_window(c, s);
  established(k, x);
  if (x.gone()) return false;
  if (c.has(pcb_finish) && c.now == state::established) move(c, state::fin_wait_1);
  return true;
}

/// Processes the ACK of our FIN, if it is one. False: the connection is gone.
bool on_ack_of_fin(core& k, conn x) {
  pcb& c = x.c;
  if (!c.has(pcb_fin_sent) || c.snd_una != c.snd_nxt) return true;
  switch (c.now) {
    case state::fin_wait_1:
      move(c, state::fin_wait_2);
      if (c.has(pcb_read_shut)) set_idle_timer(k, x, k.now + k.opt.fin_wait_us);
      return true;
    case state::closing:
      end_in_time_wait(k, x);
      return false;
    case state::last_ack:
      end(k, x, ending::finished);
      return false;
    default:
      return true;
  }
}

}  // namespace

void on_connection(core& k, conn x, segment& s, packet& p) {
  pcb& c = x.c;
  if (c.now == state::syn_sent) {
    on_syn_sent(k, x, s, p);
    return;
  }
  if (c.has(pcb_timestamps) && !check_timestamps(k, x, s)) return;
  if (c.now == state::syn_received && s.has(flag_syn) && s.seq + 1 == c.rcv_nxt) {
    if (!s.has(flag_ack)) {  // the SYN came again: answer it again
      c.set(pcb_syn_due);
      mark_dirty(k, x);
      return;
    }
    // The SYN,ACK of a peer that opened at the same time.
    s.flags = static_cast<std::uint8_t>(s.flags & ~flag_syn);
    ++s.seq;
  }
  if (!acceptable(c, s)) {
    refuse(k, x, s);
    return;
  }
  if (s.has(flag_rst)) {
    on_reset(k, x, s);
    return;
  }
  if (s.has(flag_syn)) {
    dropped(k, drop::blind_syn);
    if (c.now == state::syn_received && !c.has(pcb_active)) {
      end(k, x, ending::reset);  // back to LISTEN
    } else {
      challenge(k, x);
    }
    return;
  }
  if (!s.has(flag_ack)) {
    dropped(k, drop::no_ack);
    return;
  }
  from_ack_on(k, x, s, p);
}

void from_ack_on(core& k, conn x, segment& s, packet& p) {
  pcb& c = x.c;
  if (c.now == state::syn_received && !on_ack_of_syn(k, x, s)) return;
  // Last.ACK.sent keeps a delayed segment from setting TS.Recent (RFC 7323 section 4.3).
  if (c.has(pcb_timestamps) && s.has_timestamps && at_most(s.seq, c.last_ack_sent) &&
      !before(s.ts_value, c.ts_recent)) {
    c.ts_recent = s.ts_value;
    c.ts_recent_age = static_cast<std::uint16_t>(k.now >> 27);
  }
  if (!on_ack(k, x, s)) return;
  if (x.gone()) return;
  mark_dirty(k, x);
  if (c.has(pcb_keepalive)) {
    if (c.traffic == no_index) c.retries = 0;
    restart_keepalive(k, x);
  }
  if (!on_ack_of_fin(k, x)) return;
  if (s.payload.empty() && !s.has(flag_fin)) return;
  trim(k, c, s);
  if (!c.receiving()) return;  // after the peer's FIN there is nothing
  if (c.has(pcb_read_shut) && !s.payload.empty()) {
    dropped(k, drop::after_close);
    send_reset(k, c);
    end(k, x, ending::aborted);
    return;
  }
  on_data(k, x, s, p);
}

}  // namespace heddle::tcp
