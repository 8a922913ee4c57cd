// SPDX-License-Identifier: MIT
// Making and ending connections, and what both sides agreed on when one opened.
#include <algorithm>

#include "tcp/core.hh"

namespace heddle::tcp {

std::uint32_t new_pcb(core& k, std::uint8_t local, const flow& f) {
  const std::uint32_t index = k.pcbs.take(k.opt.connections_max);
  if (index == no_index) return index;
  pcb& c = k.pcbs[index];
  const std::uint16_t generation = c.generation;
  c = pcb{};
  c.generation = generation;
  c.local = local;
  c.remote = f.remote.address;
  c.local_port = f.local.port;
  c.remote_port = f.remote.port;
  c.ts_offset = timestamp_offset(k, f);
  k.table.add(k.pcbs, index, k.table.hash(f));
  k.table.widen(k.pcbs, [&k](const pcb& other) { return flow_of(k, other); });
  return index;
}

flow flow_of(const core& k, const pcb& c) noexcept {
  return {{k.addresses[c.local], c.local_port}, {c.remote, c.remote_port}};
}

int local_number(const core& k, const ip_address& a) noexcept {
  for (std::size_t i = 0; i < k.addresses.size(); ++i)
    if (k.addresses[i] == a) return static_cast<int>(i);
  return -1;
}

sequence initial_sequence(const core& k, const flow& f) noexcept {
  // A clock of 4 us, and a keyed hash that sets each flow apart.
  const siphash_key key{k.opt.key[0] ^ 2, k.opt.key[1]};
  return static_cast<sequence>(k.now / 4) + static_cast<sequence>(hash_flow<2, 4>(key, f));
}

std::uint32_t timestamp_offset(const core& k, const flow& f) noexcept {
  const siphash_key key{k.opt.key[0] ^ 3, k.opt.key[1]};
  // The lowest bits are left to cookies (cookie.cc).
  return static_cast<std::uint32_t>(hash_flow<1, 3>(key, f)) & ~63u;
}

traffic& busy(core& k, pcb& c) {
  if (c.traffic == no_index) {
    c.traffic = k.traffics.take(UINT32_MAX);
    traffic& t = k.traffics[c.traffic];
    t.data_end = c.snd_nxt - (c.has(pcb_fin_sent) ? 1 : 0);
    t.moved_at = k.now;
    t.rack.fack = t.rack.end_seq = t.recovery_end = c.snd_una;
  }
  return k.traffics[c.traffic];
}

namespace {

/// Resets a block to a new one, but keeps the memory of its queues.
void clear_traffic(traffic& t) noexcept {
  constexpr std::size_t records_kept = 64;
  t.pieces.clear();
  t.records.clear();
  t.held.clear();
  t.pieces.trim(records_kept);
  t.records.trim(records_kept);
  t.held.trim(records_kept);
  static_cast<traffic_state&>(t) = traffic_state{};
}

void release_traffic(core& k, pcb& c) noexcept {
  const std::uint32_t index = c.traffic;
  if (index == no_index) return;
  c.traffic = no_index;
  discharge(k, k.traffics[index].records_charged * record_bytes);
  clear_traffic(k.traffics[index]);
  k.traffics.give_back(index);
}

/// Takes the connection out of all tables. Its name is then invalid; its record can still be read.
void take_away(core& k, conn x) {
  pcb& c = x.c;
  if (c.now == state::syn_received && !c.has(pcb_active)) --k.half_open;
  k.table.remove(k.pcbs, x.index, k.table.hash(flow_of(k, c)));
  if (c.has(pcb_accepted)) {
    const auto at = k.listeners.find(c.local_port);
    if (at != k.listeners.end() && at->second.waiting > 0) --at->second.waiting;
  }
  if (c.now != state::closed) c.now = state::closed;
  set_unread(k, c, 0);
  c.flags = 0;
  ++c.generation;
}

void finish_taking(core& k, conn x, ending how, bool told) {
  std::vector<queued_piece> pieces;
  pcb& c = x.c;
  const std::uint64_t value = c.user;
  if (c.traffic != no_index) {
    traffic& t = k.traffics[c.traffic];
    pieces.reserve(t.pieces.size());
    for (std::size_t i = 0; i < t.pieces.size(); ++i) {
      pieces.push_back(t.pieces[i]);
      discharge(k, t.pieces[i].bytes + piece_bytes);
    }
    forget_held(k, t);
    release_traffic(k, c);
  }
  k.pcbs.give_back(x.index);
  for (const queued_piece& p : pieces)
    if (p.home != nullptr) p.home->released(p.token);
  if (told) k.up.ended(x.name(), value, how);
}

}  // namespace

void rest_if_idle(core& k, pcb& c) noexcept {
  if (c.traffic == no_index) return;
  const traffic& t = k.traffics[c.traffic];
  if (t.idle() && t.mode == recovery::open && t.send_due == never_due) release_traffic(k, c);
}

void end(core& k, conn x, ending how) {
  // A half-open connection of a listener was never shown to the user.
  const bool told = x.c.now != state::syn_received || x.c.has(pcb_active);
  take_away(k, x);
  finish_taking(k, x, how, told);
}

void end_in_time_wait(core& k, conn x) {
  pcb& c = x.c;
  time_wait_record r;
  r.snd_nxt = c.snd_nxt;
  r.rcv_nxt = c.rcv_nxt;
  r.ts_recent = c.ts_recent;
  r.due = tick_of(k.now + k.opt.time_wait_us);
  move(c, state::time_wait);
  k.waits.add(k.table.hash(flow_of(k, c)), c.has(pcb_timestamps), r);
  take_away(k, x);
  finish_taking(k, x, ending::finished, true);
}

void open_with(core& k, pcb& c, const segment& syn) {
  const bool v4 = c.remote.is_v4();
  const std::uint32_t fallback = v4 ? 536 : 1220;  // RFC 9293 section 3.7.1
  const std::uint32_t offered = syn.mss != 0 ? syn.mss : fallback;
  // 64 is below what any honest peer offers: smaller ones would make segments all header.
  c.mss = static_cast<std::uint16_t>(std::max<std::uint32_t>(std::min(offered, mss_of(k, v4)), 64));
  if (k.opt.timestamps && syn.has_timestamps) {
    c.set(pcb_timestamps);
    c.ts_recent = syn.ts_value;
    c.ts_recent_age = static_cast<std::uint16_t>(k.now >> 27);
  } else {
    c.clear(pcb_timestamps);
  }
  if (k.opt.sack && syn.sack_permitted) {
    c.set(pcb_sack);
  } else {
    c.clear(pcb_sack);
  }
  if (k.opt.window_scale && syn.window_scale >= 0) {
    c.send_shift = static_cast<std::uint8_t>(syn.window_scale) & 15;
    std::uint8_t shift = 0;
    while (shift < 14 && k.opt.receive_window_bytes >> shift > 65535) ++shift;
    c.receive_shift = shift & 15;
  } else {
    c.send_shift = c.receive_shift = 0;
  }
  // The windows of SYN segments are not scaled (RFC 7323 section 2.2). Ours has offered one if it
  // was sent already.
  const std::uint32_t window = c.has(pcb_active) ? c.receive_window() : first_window(k);
  c.rcv_nxt = syn.seq + 1;
  c.last_ack_sent = c.rcv_nxt;
  c.rcv_edge = c.rcv_nxt + window;
  c.snd_wnd = syn.window;
  c.snd_wl1 = syn.seq;
  c.max_window = static_cast<std::uint16_t>(
      (std::uint32_t{syn.window} + (1u << c.send_shift) - 1) >> c.send_shift);
}

void established(core& k, conn x) {
  pcb& c = x.c;
  const bool passive = c.now == state::syn_received && !c.has(pcb_active);
  const auto listening = k.listeners.find(c.local_port);
  if (passive && listening == k.listeners.end()) {  // closed while this one was opening
    send_reset(k, c);
    end(k, x, ending::aborted);
    return;
  }
  if (passive) --k.half_open;
  move(c, state::established);
  c.clear(pcb_idle_timer | pcb_syn_due);
  c.retries = 0;
  const std::uint32_t mss = full_segment(k, c);
  c.cwnd = c.has(pcb_syn_lost) ? mss : k.opt.initial_window_segments * mss;
  c.sent_age = static_cast<std::uint16_t>(k.now >> 16);
  if (c.has(pcb_active)) {
    ++k.count.opened_active;
    k.up.connected(x.name());
    return;
  }
  ++k.count.opened_passive;
  c.set(pcb_accepted);
  ++listening->second.waiting;
  k.up.accepted(x.name(), c.local_port);
}

}  // namespace heddle::tcp
