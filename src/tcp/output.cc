// SPDX-License-Identifier: MIT
// Sending data: lost segments first, then new ones, as far as both windows reach; small segments
// wait (RFC 9293 sections 3.7.4 and 3.8.6.2.1), and a closed window is probed (section 3.8.6.1).
#include "tcp/core.hh"

namespace heddle::tcp {

namespace {

constexpr std::size_t spans_max = 16;  // pieces of one segment

struct gathered {
  std::array<std::span<const std::byte>, spans_max> spans;
  std::size_t count = 0;
  std::uint32_t bytes = 0;
};

/// Gathers the queued bytes from `begin` on, where the user keeps them; fewer than asked for when
/// they lie in many pieces.
void gather(const traffic& t, sequence begin, std::uint32_t bytes, gathered& out) noexcept {
  std::size_t low = 0, high = t.pieces.size();
  while (low < high) {  // the first piece that ends after begin
    const std::size_t middle = (low + high) / 2;
    if (at_most(t.pieces[middle].begin + t.pieces[middle].bytes, begin)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  while (bytes > 0 && low < t.pieces.size() && out.count < spans_max) {
    const queued_piece& p = t.pieces[low++];
    const std::uint32_t skip = begin - p.begin;
    const std::uint32_t take = std::min(bytes, p.bytes - skip);
    out.spans[out.count++] = {p.data + skip, take};
    out.bytes += take;
    begin += take;
    bytes -= take;
  }
}

void transmit(core& k, pcb& c, traffic& t, const sent_record& r, const gathered& g) noexcept {
  std::uint8_t flags = flag_ack;
  if (r.fin) flags |= flag_fin;
  // PSH where nothing follows (RFC 9293 section 3.9.1.2).
  if (g.bytes != 0 && r.begin + g.bytes == t.data_end) flags |= flag_psh;
  segment s = outgoing_segment(k, c, flags, r.begin);
  put_sack_blocks(k, c, s);
  send(k, s, {g.spans.data(), g.count}, g.bytes);
}

void send_lost(core& k, conn x, traffic& t, bool& blocked) {
  pcb& c = x.c;
  for (std::size_t i = 0; t.lost_bytes != 0 && i < t.records.size(); ++i) {
    if (!t.records[i].lost) continue;
    // The first repetition leaves at once; without SACK also the one that a partial ACK asks for
    // (RFC 6582 section 3.2, step 3), because nothing else would tell of the next loss.
    const bool first =
        t.mode == recovery::fast && (t.prr.sent == 0 || (i == 0 && !c.has(pcb_sack)));
    const std::uint32_t flight = in_flight(c, t);
    const std::uint32_t bytes = std::min(t.records[i].bytes(), full_segment(k, c));
    if (!first && flight != 0 && flight + bytes > c.cwnd) {
      blocked = true;
      return;
    }
    retransmit(k, c, t, i);
    if (t.timer == send_timer::none) set_send_timer(k, x, t);
  }
}

/// Whether a segment of `bytes`, of `unsent` that wait, should leave now.
bool worth_sending(const core& k, const pcb& c, const traffic& t, std::uint32_t bytes,
                   std::uint32_t unsent, std::uint32_t full) noexcept {
  (void)k;
  if (bytes >= full) return true;
  if (bytes < unsent)  // the window ends before: half of the largest one is worth it
    return bytes != 0 && bytes >= c.max_window_bytes() / 2;
  // Nagle, as Minshall has it: a small segment waits while another small one is unacknowledged.
  // Behind full segments it leaves at once: otherwise the end of each answer would wait for the
  // peer's delayed ACK. FIN takes the last small segment with it.
  return c.has(pcb_nagle_off | pcb_finish) || !t.small_sent || at_most(t.small_end, c.snd_una);
}

void send_new(core& k, conn x, traffic& t, bool& blocked) {
  pcb& c = x.c;
  const std::uint32_t full = full_segment(k, c);
  while (!c.has(pcb_fin_sent)) {
    const std::uint32_t unsent = t.data_end - c.snd_nxt;
    if (unsent == 0 && !c.has(pcb_finish)) return;
    const sequence edge = c.snd_una + c.snd_wnd;
    const std::uint32_t usable = before(c.snd_nxt, edge) ? edge - c.snd_nxt : 0;
    const std::uint32_t bytes = std::min({unsent, full, usable});
    const bool only_fin = unsent == 0;
    if (only_fin ? usable == 0 : !worth_sending(k, c, t, bytes, unsent, full)) {
      // The peer's window holds the data back and nothing is in flight: only a timer can go on.
      if (t.records.empty() && t.timer == send_timer::none && usable < std::max(unsent, 1u)) {
        t.timer = send_timer::window_probe;
        t.send_due = k.now + timeout_us(k, c);
        schedule(k, x, t.send_due);
      }
      return;
    }
    const std::uint32_t flight = in_flight(c, t);
    if (flight != 0 && flight + bytes > c.cwnd) {
      blocked = true;
      return;
    }
    if (!send_new_segment(k, x, t, bytes)) return;
  }
}

/// Resets the window after a pause, because it then says nothing about the path (RFC 5681 section
/// 4.1).
void restart_after_pause(core& k, pcb& c, const traffic& t) noexcept {
  if (!t.records.empty() || t.pieces.empty()) return;
  const auto units = static_cast<std::uint16_t>((k.now >> 16) - c.sent_age);
  if ((std::uint64_t{units} << 16) > timeout_us(k, c))
    c.cwnd = std::min(c.cwnd, k.opt.initial_window_segments * full_segment(k, c));
}

void send_queued(core& k, conn x, traffic& t) {
  bool blocked = false;
  restart_after_pause(k, x.c, t);
  if (t.lost_bytes != 0) send_lost(k, x, t, blocked);
  if (!blocked) send_new(k, x, t, blocked);
  t.window_limited = blocked;
}

}  // namespace

std::uint32_t full_segment(const core& k, const pcb& c) noexcept {
  std::uint32_t options = c.has(pcb_timestamps) ? 12 : 0;
  if (c.traffic != no_index) {
    const traffic& t = k.traffics[c.traffic];
    if (!t.held.empty() || t.has_duplicate) options += c.has(pcb_timestamps) ? 28 : 36;
  }
  return std::max<std::uint32_t>(c.mss, options + 16) - options;
}

bool send_new_segment(core& k, conn x, traffic& t, std::uint32_t bytes) {
  pcb& c = x.c;
  gathered g;
  gather(t, c.snd_nxt, bytes, g);
  const sequence edge = c.snd_una + c.snd_wnd;
  sent_record r;
  r.begin = c.snd_nxt;
  r.end = r.begin + g.bytes;
  r.sent_at = k.now;
  const bool fin_next = c.has(pcb_finish) && !c.has(pcb_fin_sent) && r.end == t.data_end;
  if (fin_next && before(r.end, edge)) {
    r.fin = true;
    ++r.end;
  }
  if (r.begin == r.end) return false;
  if (t.records.empty()) t.rack.fack = later(t.rack.fack, c.snd_una);
  t.records.push_back(r);
  c.snd_nxt = r.end;
  if (r.fin) c.set(pcb_fin_sent);
  if (g.bytes < full_segment(k, c)) {
    t.small_sent = true;
    t.small_end = r.end;
  }
  c.sent_age = static_cast<std::uint16_t>(k.now >> 16);
  if (t.mode == recovery::fast) t.prr.sent += r.bytes();
  k.count.bytes_out += g.bytes;
  transmit(k, c, t, r, g);
  timer_after_send(k, x, t);
  return true;
}

void retransmit(core& k, pcb& c, traffic& t, std::size_t i) {
  const std::uint32_t full = full_segment(k, c);
  if (t.records[i].bytes() > full + (t.records[i].fin ? 1 : 0))
    split_record(t, i, t.records[i].begin + full);
  sent_record& r = t.records[i];
  if (r.lost) {
    r.lost = false;
    t.lost_bytes -= r.bytes();
  }
  if (r.sends < 255) ++r.sends;
  r.sent_at = k.now;
  if (t.mode == recovery::fast) t.prr.sent += r.bytes();
  note_retransmission(k, c, t);
  gathered g;
  gather(t, r.begin, r.bytes() - (r.fin ? 1 : 0), g);
  transmit(k, c, t, r, g);
}

void window_probe(core& k, conn x) {
  pcb& c = x.c;
  traffic& t = k.traffics[c.traffic];
  if (c.retries >= k.opt.retries_max) {
    send_reset(k, c);
    end(k, x, ending::timed_out);
    return;
  }
  ++c.retries;
  if (t.window_probes < 255) ++t.window_probes;
  ++k.count.window_probes;
  if (!t.records.empty()) {
    retransmit(k, c, t, 0);
  } else {
    const sequence edge = c.snd_una + c.snd_wnd;
    const std::uint32_t usable = before(c.snd_nxt, edge) ? edge - c.snd_nxt : 0;
    const std::uint32_t unsent = t.data_end - c.snd_nxt;
    const std::uint32_t bytes = std::min({unsent, usable, full_segment(k, c)});
    if (!send_new_segment(k, x, t, bytes)) send_old_number(k, c);
  }
  set_send_timer(k, x, t);
}

void flush_connection(core& k, conn x) {
  pcb& c = x.c;
  if (c.has(pcb_syn_due)) {
    send_syn(k, x);
    return;
  }
  if (!c.synchronized()) return;
  const bool fin_next = c.has(pcb_finish) && !c.has(pcb_fin_sent);
  if (c.traffic != no_index || (fin_next && may_finish(k, x))) send_queued(k, x, busy(k, c));
  if (c.has(pcb_ack_now)) send_ack(k, c);
  note_narrow(k, x);
  if (c.traffic != no_index) charge_records(k, k.traffics[c.traffic]);
  rest_if_idle(k, c);
}

}  // namespace heddle::tcp
