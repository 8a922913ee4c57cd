// SPDX-License-Identifier: MIT
// Received text: handed to the user as it arrives in order, held by reference where a gap is
// before it, and acknowledged at the right time (RFC 5681 section 4.2, RFC 9293 section 3.8.6.3).
#include <cstring>

#include "tcp/core.hh"

namespace heddle::tcp {

namespace {

/// A copy of a few bytes that would otherwise hold a large packet.
class copied_packet final : public packet::home {
 public:
  explicit copied_packet(std::span<const std::byte> bytes)
      : bytes_(std::make_unique<std::byte[]>(bytes.size())),
        packet_({bytes_.get(), bytes.size()}, *this) {
    std::memcpy(bytes_.get(), bytes.data(), bytes.size());
  }
  [[nodiscard]] packet& get() noexcept { return packet_; }
  void take_back(packet&) noexcept override { delete this; }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  packet packet_;
};

void hold(core& k, traffic& t, std::size_t at, sequence begin, std::span<const std::byte> bytes,
          packet& p) {
  if (bytes.empty()) return;
  if (t.held.size() >= k.opt.out_of_order_max) {
    dropped(k, drop::reassembly_full);
    return;
  }
  const bool copies = bytes.size() < p.footprint() / 2;
  const std::size_t kept = (copies ? bytes.size() : p.footprint()) + hold_bytes;
  if (!fits(k, kept, memory_for::opening, refusal::out_of_order)) {
    dropped(k, drop::memory);
    return;
  }
  charge(k, kept);
  held_piece h{begin, begin + static_cast<std::uint32_t>(bytes.size()), bytes.data(), &p};
  if (copies) {
    auto* const copy = new copied_packet(bytes);  // deletes itself at the last release
    h.from = &copy->get();
    h.data = h.from->bytes().data();
  } else {
    p.retain();
  }
  t.held.insert(at, h);
  t.held_bytes += h.end - h.begin;
}

/// Inserts the new bytes of a segment between the pieces that are held.
void hold_segment(core& k, pcb& c, traffic& t, const segment& s, packet& p) {
  sequence begin = s.seq;
  std::span<const std::byte> bytes = s.payload;
  const sequence end = begin + static_cast<std::uint32_t>(bytes.size());
  std::size_t i = 0;
  std::size_t high = t.held.size();
  while (i < high) {  // the first piece that ends after the segment's begin
    const std::size_t middle = (i + high) / 2;
    if (at_most(t.held[middle].end, begin)) {
      i = middle + 1;
    } else {
      high = middle;
    }
  }
  while (before(begin, end)) {
    if (i == t.held.size() || at_most(end, t.held[i].begin)) {
      hold(k, t, i, begin, bytes, p);
      break;
    }
    const held_piece there = t.held[i];
    if (before(begin, there.begin)) {
      const std::uint32_t fresh = there.begin - begin;
      const std::size_t count = t.held.size();
      hold(k, t, i, begin, bytes.first(fresh), p);
      if (t.held.size() == count) break;
      ++i;
      begin += fresh;
      bytes = bytes.subspan(fresh);
    }
    // The overlap is dropped: the bytes that came first stay.
    const sequence covered = earlier(there.end, end);
    const std::uint32_t again = covered - begin;
    if (again != 0) {
      t.duplicate = {begin, covered};
      t.has_duplicate = c.has(pcb_sack);
      k.count.duplicate_bytes_in += again;
    }
    begin = covered;
    bytes = bytes.subspan(again);
    ++i;
  }
  t.last_held = s.seq;
}

/// Hands up what a filled gap has freed; false: the connection is gone.
bool drain(core& k, conn x) {
  pcb& c = x.c;
  while (c.traffic != no_index) {
    traffic& t = k.traffics[c.traffic];
    if (t.held.empty() || before(c.rcv_nxt, t.held.front().begin)) return true;
    const held_piece h = t.held.front();
    t.held.pop_front();
    t.held_bytes -= h.end - h.begin;
    t.moved_at = k.now;
    discharge(k, h.from->footprint() + hold_bytes);
    bool there = true;
    if (before(c.rcv_nxt, h.end)) {
      const std::uint32_t skip = c.rcv_nxt - h.begin;
      there = hand_up(k, x, {h.data + skip, h.end - h.begin - skip}, *h.from);
    }
    h.from->release();
    if (!there) return false;
  }
  return true;
}

/// Notes the place of the peer's FIN. If the peer sends FINs at several places, the first in the
/// stream counts.
void note_fin(core& k, traffic& t, sequence at) {
  if (t.peer_finished && !before(at, t.peer_end)) return;
  t.peer_finished = true;
  t.peer_end = at;
  // Bytes behind it are no part of the stream.
  while (!t.held.empty() && before(at, t.held.back().end)) {
    held_piece& last = t.held.back();
    if (before(last.begin, at)) {
      t.held_bytes -= last.end - at;
      last.end = at;
      return;
    }
    t.held_bytes -= last.end - last.begin;
    discharge(k, last.from->footprint() + hold_bytes);
    last.from->release();
    t.held.pop_back();
  }
}

void acknowledge_later(core& k, conn x, std::uint32_t bytes) {
  pcb& c = x.c;
  // Every second full segment at least; the user's answer may carry it earlier. The peer's path may
  // be narrower than its MSS, so any segment of 128 bytes and more counts as full.
  constexpr std::uint32_t full_least = 128;
  const std::uint32_t full = full_segment(k, c);
  if (c.rcv_nxt - c.last_ack_sent >= 2 * std::clamp(bytes, std::min(full_least, full), full)) {
    c.set(pcb_ack_now);
    return;
  }
  if (c.has(pcb_ack_later)) return;
  c.set(pcb_ack_later);
  const instant due = k.now + k.opt.ack_delay_us;
  c.ack_due = tick_of(due);
  schedule(k, x, due);
}

}  // namespace

bool hand_up(core& k, conn x, std::span<const std::byte> bytes, packet& p) {
  pcb& c = x.c;
  const auto count = static_cast<std::uint32_t>(bytes.size());
  c.rcv_nxt += count;
  k.count.bytes_in += count;
  if (c.has(pcb_read_shut)) return true;
  set_unread(k, c, c.unread + count);
  k.up.received(x.name(), bytes, p);
  return !x.gone();
}

void on_fin(core& k, conn x) {
  pcb& c = x.c;
  ++c.rcv_nxt;
  c.set(pcb_ack_now);
  const state was = c.now;
  if (was == state::established) {
    move(c, state::close_wait);
  } else if (was == state::fin_wait_1) {
    move(c, state::closing);
  }
  k.up.finished(x.name());
  if (x.gone() || was != state::fin_wait_2) return;
  send_ack(k, c);
  end_in_time_wait(k, x);
}

void forget_held(core& k, traffic& t) noexcept {
  for (std::size_t i = 0; i < t.held.size(); ++i) {
    discharge(k, t.held[i].from->footprint() + hold_bytes);
    t.held[i].from->release();
  }
  t.held.clear();
  t.held_bytes = 0;
}

void on_data(core& k, conn x, segment& s, packet& p) {
  pcb& c = x.c;
  if (c.traffic != no_index && k.traffics[c.traffic].peer_finished) {
    // The stream is cut at the FIN that is known.
    const sequence end = k.traffics[c.traffic].peer_end;
    if (!before(s.seq, end)) s.payload = {};
    if (before(end, s.seq + static_cast<std::uint32_t>(s.payload.size())))
      s.payload = s.payload.first(end - s.seq);
    if (before(end, s.seq)) s.flags = static_cast<std::uint8_t>(s.flags & ~flag_fin);
    c.set(pcb_ack_now);
  }
  const bool fin = s.has(flag_fin);
  if (s.seq != c.rcv_nxt) {
    if (!has_block(k, c, memory_for::opening, refusal::out_of_order)) {
      dropped(k, drop::memory);
      send_ack(k, c);
      return;
    }
    traffic& t = busy(k, c);
    if (fin) note_fin(k, t, s.end() - 1);
    hold_segment(k, c, t, s, p);
    send_ack(k, c);  // at once, and for each: the peer counts them (RFC 5681 section 4.2)
    return;
  }
  const bool gap = c.traffic != no_index &&
                   (!k.traffics[c.traffic].held.empty() || k.traffics[c.traffic].peer_finished);
  if (!s.payload.empty() && !c.has(pcb_read_shut) &&
      !fits(k, s.payload.size(), memory_for::data, refusal::data)) {
    dropped(k, drop::memory);
    c.set(pcb_ack_now);  // the ACK shows the peer the present window
    return;
  }
  if (gap && fin) note_fin(k, k.traffics[c.traffic], s.end() - 1);
  if (!s.payload.empty() && !hand_up(k, x, s.payload, p)) return;
  if (gap) {
    if (!drain(k, x)) return;
    c.set(pcb_ack_now);
  } else if (!s.payload.empty()) {
    acknowledge_later(k, x, static_cast<std::uint32_t>(s.payload.size()));
  }
  bool finished = fin && c.rcv_nxt == s.end() - 1;
  if (c.traffic != no_index) {
    traffic& t = k.traffics[c.traffic];
    if (t.peer_finished && t.peer_end == c.rcv_nxt) finished = true;
    if (finished) {
      t.peer_finished = false;
      forget_held(k, t);
    }
  }
  if (finished && c.receiving()) on_fin(k, x);
}

}  // namespace heddle::tcp
