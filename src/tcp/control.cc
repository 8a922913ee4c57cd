// SPDX-License-Identifier: MIT
// Segments without data: ACKs, SYNs, resets and challenges, and the window that each of ours
// offers.
#include "tcp/core.hh"

namespace heddle::tcp {

std::uint32_t timestamp_now(const core& k) noexcept {
  return static_cast<std::uint32_t>(k.now / 1000);  // milliseconds (RFC 7323 section 4.1)
}

std::uint32_t mss_of(const core& k, bool v4) noexcept { return k.opt.mtu - (v4 ? 40 : 60); }

sequence edge_to_offer(const core& k, const pcb& c) noexcept {
  // No more than the header can say.
  const std::uint32_t limit =
      std::min(k.opt.receive_window_bytes, std::uint32_t{65535} << c.receive_shift);
  const std::uint32_t space = std::min(c.unread < limit ? limit - c.unread : 0, window_share(k));
  const sequence edge = c.rcv_nxt + space;
  // Receiver's silly window avoidance (RFC 9293 section 3.8.6.2.2): the edge moves by a full
  // segment or half of the buffer. It never moves back (section 3.8.6).
  const std::uint32_t step = std::min<std::uint32_t>(limit / 2, c.mss);
  if (before(edge, c.rcv_edge) || edge - c.rcv_edge < step) return c.rcv_edge;
  return edge;
}

segment outgoing_segment(core& k, pcb& c, std::uint8_t flags, sequence seq) noexcept {
  segment s;
  s.source = {k.addresses[c.local], c.local_port};
  s.destination = {c.remote, c.remote_port};
  s.flags = flags;
  s.seq = seq;
  s.ack = c.rcv_nxt;
  const sequence edge = edge_to_offer(k, c);
  const std::uint32_t units = std::min<std::uint32_t>((edge - c.rcv_nxt) >> c.receive_shift, 65535);
  s.window = static_cast<std::uint16_t>(units);
  c.rcv_edge = later(c.rcv_edge, c.rcv_nxt + (units << c.receive_shift));
  if (c.has(pcb_timestamps)) {
    s.has_timestamps = true;
    s.ts_value = timestamp_now(k) + c.ts_offset;
    s.ts_echo = c.ts_recent;
  }
  c.last_ack_sent = c.rcv_nxt;
  c.clear(pcb_ack_now | pcb_ack_later);
  return s;
}

void put_sack_blocks(core& k, pcb& c, segment& s) noexcept {
  if (!c.has(pcb_sack) || c.traffic == no_index) return;
  traffic& t = k.traffics[c.traffic];
  const std::size_t room = s.has_timestamps ? 3 : 4;
  std::size_t count = 0;
  if (t.has_duplicate) {
    s.sacks[count++] = t.duplicate;
    t.has_duplicate = false;
  }
  // Pieces that touch make one block; the block of the latest arrival is first (RFC 2018 section
  // 4), the others follow from the lowest.
  const std::size_t first = count;
  for (int pass = 0; pass < 2; ++pass)
    for (std::size_t i = 0; i < t.held.size() && count < room;) {
      sack_block b{t.held[i].begin, t.held[i].end};
      for (++i; i < t.held.size() && t.held[i].begin == b.end; ++i) b.end = t.held[i].end;
      const bool latest = at_most(b.begin, t.last_held) && before(t.last_held, b.end);
      if (latest == (pass == 0) && (pass == 1 || count == first)) s.sacks[count++] = b;
    }
  s.sack_count = static_cast<std::uint8_t>(count);
}

void send(core& k, const segment& s, std::span<const std::span<const std::byte>> payload,
          std::uint32_t bytes) noexcept {
  std::byte header[header_bytes_max];
  const std::size_t length = write_headers(s, payload, header, k.opt.partial_checksums);
  ++k.count.packets_out;
  k.net.transmit({{header, length}, payload, bytes});
}

void send_ack(core& k, pcb& c) noexcept {
  segment s = outgoing_segment(k, c, flag_ack, c.snd_nxt);
  put_sack_blocks(k, c, s);
  send(k, s, {}, 0);
}

void send_old_number(core& k, pcb& c) noexcept {
  const segment s = outgoing_segment(k, c, flag_ack, c.snd_una - 1);
  send(k, s, {}, 0);
}

void send_syn(core& k, conn x) noexcept {
  pcb& c = x.c;
  c.clear(pcb_syn_due);
  const bool answer = c.now == state::syn_received;
  segment s;
  s.source = {k.addresses[c.local], c.local_port};
  s.destination = {c.remote, c.remote_port};
  s.seq = c.snd_una;
  s.flags = flag_syn;
  if (answer) {
    s.flags |= flag_ack;
    s.ack = c.rcv_nxt;
    c.last_ack_sent = c.rcv_nxt;
  }
  s.window = static_cast<std::uint16_t>(c.receive_window());
  s.mss = static_cast<std::uint16_t>(mss_of(k, c.remote.is_v4()));
  // An answer has only options that the peer offered.
  if (k.opt.window_scale && (!answer || c.receive_shift != 0 || c.send_shift != 0)) {
    std::uint8_t shift = 0;
    while (shift < 14 && k.opt.receive_window_bytes >> shift > 65535) ++shift;
    s.window_scale = static_cast<std::int8_t>(shift);
  }
  s.sack_permitted = answer ? c.has(pcb_sack) : k.opt.sack;
  if (answer ? c.has(pcb_timestamps) : k.opt.timestamps) {
    s.has_timestamps = true;
    s.ts_value = timestamp_now(k) + c.ts_offset;
    s.ts_echo = answer ? c.ts_recent : 0;
  }
  send(k, s, {}, 0);
}

void send_reset(core& k, pcb& c) noexcept {
  if (!c.synchronized() && c.now != state::syn_received) return;
  ++k.count.resets_sent;
  segment s = outgoing_segment(k, c, flag_rst | flag_ack, c.snd_nxt);
  send(k, s, {}, 0);
}

void answer_with_reset(core& k, const segment& s) noexcept {
  if (s.has(flag_rst)) return;
  segment r;
  r.source = s.destination;
  r.destination = s.source;
  if (s.has(flag_ack)) {
    r.seq = s.ack;
    r.flags = flag_rst;
  } else {
    r.ack = s.end();
    r.flags = flag_rst | flag_ack;
  }
  ++k.count.resets_sent;
  send(k, r, {}, 0);
}

bool may_challenge(core& k, std::uint64_t owner) noexcept {
  const siphash_key key{k.opt.key[0] ^ 6, k.opt.key[1]};
  if (k.challenges.take(owner, k.now, k.opt.challenges_each, k.opt.challenges_max, key)) {
    ++k.count.challenges_sent;
    return true;
  }
  ++k.count.challenges_withheld;
  return false;
}

void challenge(core& k, conn x) noexcept {
  if (may_challenge(k, std::uint64_t{x.generation} << 32 | x.index)) send_ack(k, x.c);
}

}  // namespace heddle::tcp
