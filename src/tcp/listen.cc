// SPDX-License-Identifier: MIT
// Segments for listening ports (RFC 9293 section 3.10.7.2), and for connections in
// TIME-WAIT.
#include "tcp/core.hh"

namespace heddle::tcp {

namespace {

/// Makes a half-open connection, or sends a cookie. `old` is the TIME-WAIT record of the same flow,
/// or null. The new connection must begin beyond the numbers of the old one, so no cookie can
/// answer then. False: there is no half-open connection.
bool on_syn(core& k, const segment& s, const time_wait_record* old) {
  const flow f = s.at_receiver();
  const bool room = k.half_open < k.opt.half_open_max || old != nullptr;
  const int local = local_number(k, f.local.address);
  std::uint32_t index = no_index;
  if (room) index = new_pcb(k, static_cast<std::uint8_t>(local), f);
  if (index == no_index) {
    if (old == nullptr) send_cookie(k, s);
    return false;
  }
  ++k.half_open;
  conn x(k, index);
  pcb& c = x.c;
  c.snd_una = initial_sequence(k, f);
  // RFC 9293 section 3.6.1: begin beyond all numbers that the peer may take for the old
  // connection's.
  if (old != nullptr) c.snd_una = later(c.snd_una, old->snd_nxt + 65536);
  c.snd_nxt = c.snd_una + 1;
  open_with(k, c, s);
  move(c, state::syn_received);
  c.set(pcb_syn_due);
  set_idle_timer(k, x, k.now + k.opt.timeout_initial_us);
  mark_dirty(k, x);
  return true;
}

/// Whether a new connection fits; if not, its segment is dropped or reset.
bool has_memory(core& k, const segment& s) noexcept {
  if (fits(k, connection_bytes(k), memory_for::opening, refusal::accept)) return true;
  dropped(k, drop::memory);
  if (k.opt.when_full == memory_policy::refuse) answer_with_reset(k, s);
  return false;
}

/// Makes the connection of a cookie that the ACK returns.
void on_cookie_ack(core& k, listener& l, const segment& s, packet& p) {
  cookie_offer offer;
  const cookie_sort sort = check_cookie(k, s, offer);
  if (sort != cookie_sort::good) {
    dropped(k, drop::cookie);
    if (sort == cookie_sort::none) answer_with_reset(k, s);
    return;
  }
  // Without room the ACK is dropped; the peer's data comes again and tries anew.
  if (l.waiting >= l.backlog) {
    dropped(k, drop::backlog_full);
    return;
  }
  if (!has_memory(k, s)) return;
  const flow f = s.at_receiver();
  const std::uint32_t index =
      new_pcb(k, static_cast<std::uint8_t>(local_number(k, f.local.address)), f);
  if (index == no_index) {
    dropped(k, drop::memory);
    return;
  }
  conn x(k, index);
  open_by_cookie(k, x.c, s, offer);
  ++k.count.cookies_accepted;
  take_window(x.c, s);
  established(k, x);
  if (x.gone()) return;
  segment rest = s;
  from_ack_on(k, x, rest, p);
}

/// Answers a SYN. Returns whether there is a half-open connection.
bool take_syn(core& k, const listener& l, const segment& s, const time_wait_record* old) {
  if (l.waiting >= l.backlog) {
    dropped(k, drop::backlog_full);
    return false;
  }
  return has_memory(k, s) && on_syn(k, s, old);
}

}  // namespace

void open_by_cookie(core& k, pcb& c, const segment& s, const cookie_offer& offer) {
  segment syn;  // as it must have been
  syn.flags = flag_syn;
  syn.seq = s.seq - 1;
  syn.window = s.window;
  syn.mss = offer.mss;
  syn.has_timestamps = s.has_timestamps;
  syn.ts_value = s.ts_value;
  syn.sack_permitted = offer.sack;
  if (offer.has_scale) syn.window_scale = static_cast<std::int8_t>(offer.window_scale);
  c.snd_una = c.snd_nxt = s.ack;
  open_with(k, c, syn);
}

void on_listener(core& k, const segment& s, packet& p) {
  const auto at = k.listeners.find(s.destination.port);
  if (at == k.listeners.end()) {
    // SYN to a closed port, or a segment of a connection that is over.
    dropped(k, s.has(flag_syn) ? drop::no_listener : drop::no_connection);
    answer_with_reset(k, s);
    return;
  }
  if (s.has(flag_rst)) {
    dropped(k, drop::no_connection);
    return;
  }
  listener& l = at->second;
  if (s.has(flag_ack)) {
    if (s.has(flag_syn)) {
      dropped(k, drop::no_connection);
      answer_with_reset(k, s);
    } else {
      on_cookie_ack(k, l, s, p);
    }
    return;
  }
  if (!s.has(flag_syn)) {
    dropped(k, drop::no_ack);
    return;
  }
  (void)take_syn(k, l, s, nullptr);
}

void on_time_wait(core& k, time_wait_record& r, const segment& s, std::uint64_t hash) {
  const bool timestamps = (r.key & 1) != 0;
  // Resets are ignored (RFC 1337).
  if (s.has(flag_rst)) {
    dropped(k, drop::time_wait);
    return;
  }
  // A new connection may begin when its segments cannot be taken for old ones (RFC 9293 section
  // 3.6.1, RFC 6191).
  const auto listening = k.listeners.find(s.destination.port);
  if (s.has(flag_syn) && !s.has(flag_ack) && listening != k.listeners.end()) {
    const bool newer = timestamps && s.has_timestamps
                           ? before(r.ts_recent, s.ts_value) ||
                                 (r.ts_recent == s.ts_value && before(r.rcv_nxt, s.seq))
                           : before(r.rcv_nxt, s.seq);
    if (newer) {
      // Without room the record stays, and the peer sends its SYN again.
      if (take_syn(k, listening->second, s, &r)) k.waits.remove(hash);
      return;
    }
  }
  dropped(k, drop::time_wait);
  if (s.length() == 0 && s.seq == r.rcv_nxt && !s.has(flag_syn)) return;
  if (s.has(flag_fin) && s.end() == r.rcv_nxt) {
    // The peer sent its FIN again, so our ACK was lost: restart the time.
    r.due = tick_of(k.now + k.opt.time_wait_us);
  } else if (!may_challenge(k, r.key | std::uint64_t{1} << 63)) {
    return;
  }
  segment a;
  a.source = s.destination;
  a.destination = s.source;
  a.flags = flag_ack;
  a.seq = r.snd_nxt;
  a.ack = r.rcv_nxt;
  a.window = 65535;
  if (timestamps) {
    a.has_timestamps = true;
    a.ts_value = timestamp_now(k) + timestamp_offset(k, s.at_receiver());
    a.ts_echo = r.ts_recent;
  }
  send(k, a, {}, 0);
}

}  // namespace heddle::tcp
