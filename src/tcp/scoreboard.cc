// SPDX-License-Identifier: MIT
// Which sent records the peer has: by cumulative acknowledgement and by SACK (RFC 2018, 2883).
#include "tcp/core.hh"

namespace heddle::tcp {

std::size_t record_at(const traffic& t, sequence s) noexcept {
  std::size_t low = 0, high = t.records.size();
  while (low < high) {  // the first record that ends after s
    const std::size_t middle = (low + high) / 2;
    if (at_most(t.records[middle].end, s)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void split_record(traffic& t, std::size_t i, sequence at) {
  sent_record tail = t.records[i];
  tail.begin = at;
  t.records[i].end = at;
  t.records[i].fin = false;
  t.records.insert(i + 1, tail);
}

void mark_lost(traffic& t, sent_record& r) noexcept {
  if (!r.in_flight()) return;
  r.lost = true;
  t.lost_bytes += r.bytes();
}

namespace {

void delivered_record(core& k, pcb& c, traffic& t, const sent_record& r, ack_result& out) {
  out.delivered += r.bytes();
  if (r.sends == 1) out.newest_sent_once = std::max(out.newest_sent_once, r.sent_at);
  const bool ambiguous =
      r.sends > 1 && out.has_echo &&
      before(out.echo, static_cast<std::uint32_t>(r.sent_at / 1000) + c.ts_offset);
  if (!ambiguous) rack_delivered(k, c, t, r);
}

/// Whether a block tells what the peer already had: either below the ACK, or within the block after
/// it.
bool duplicate_block(const pcb& c, const segment& s) noexcept {
  const sack_block& b = s.sacks[0];
  if (!before(b.begin, b.end)) return false;
  if (at_most(b.end, s.ack)) return before(s.ack - c.max_window_bytes() - 1, b.end);
  return s.sack_count > 1 && at_most(s.sacks[1].begin, b.begin) && at_most(b.end, s.sacks[1].end);
}

}  // namespace

namespace {

/// Honest peers report whole segments. One that reports single bytes must not make a record of
/// each.
bool may_split(const pcb& c, const traffic& t) noexcept {
  constexpr std::size_t records_min = 64, per_segment = 8;
  return t.records.size() < records_min + (c.snd_nxt - c.snd_una) / c.mss * per_segment;
}

}  // namespace

void take_sacks(core& k, pcb& c, traffic& t, const segment& s, ack_result& r) {
  std::size_t first = 0;
  if (s.sack_count != 0 && duplicate_block(c, s)) {
    r.duplicate_seen = true;
    first = 1;
    if (t.undo.possible && t.undo.retransmissions > 0) --t.undo.retransmissions;
  }
  for (std::size_t n = first; n < s.sack_count; ++n) {
    const sack_block b = s.sacks[n];
    // Blocks of what was never sent, or is acknowledged already, say nothing.
    if (!before(b.begin, b.end) || before(c.snd_nxt, b.end) || at_most(b.end, s.ack) ||
        before(b.begin, c.snd_una))
      continue;
    std::size_t i = record_at(t, b.begin);
    if (i < t.records.size() && before(t.records[i].begin, b.begin)) {
      if (!t.records[i].sacked) {
        if (!may_split(c, t)) continue;
        split_record(t, i, b.begin);
        ++i;
      }
    }
    for (; i < t.records.size() && before(t.records[i].begin, b.end); ++i) {
      if (t.records[i].sacked) continue;
      if (before(b.end, t.records[i].end)) {
        if (!may_split(c, t)) break;
        split_record(t, i, b.end);
      }
      sent_record& record = t.records[i];
      if (record.lost) {
        record.lost = false;
        t.lost_bytes -= record.bytes();
      }
      record.sacked = true;
      t.sacked_bytes += record.bytes();
      r.sacked += record.bytes();
      delivered_record(k, c, t, record, r);
    }
  }
}

void take_cumulative(core& k, pcb& c, traffic& t, sequence ack, ack_result& r) {
  if (!c.has(pcb_sack)) t.sacked_bytes = 0;  // was a guess from duplicates
  r.acked = ack - c.snd_una;
  while (!t.records.empty() && before(t.records.front().begin, ack)) {
    if (before(ack, t.records.front().end)) split_record(t, 0, ack);
    const sent_record record = t.records.front();
    t.records.pop_front();
    if (record.lost) t.lost_bytes -= record.bytes();
    if (record.sacked) {
      t.sacked_bytes -= record.bytes();
    } else {
      delivered_record(k, c, t, record, r);
    }
  }
  c.snd_una = ack;
  t.moved_at = k.now;
  while (!t.pieces.empty() && at_most(t.pieces.front().begin + t.pieces.front().bytes, ack)) {
    const queued_piece piece = t.pieces.front();
    t.pieces.pop_front();
    discharge(k, piece.bytes + piece_bytes);
    if (piece.home != nullptr) piece.home->released(piece.token);
  }
}

}  // namespace heddle::tcp
