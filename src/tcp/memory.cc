// SPDX-License-Identifier: MIT
// The memory of a stack: accounting, admission, and the relief of those that wait for memory.
// Blocks are counted by their numbers; `held_bytes` has what users keep because of the stack.
#include <algorithm>
#include <utility>

#include "tcp/core.hh"

namespace heddle::tcp {

namespace {

// How long a refused writer waits at most before memory is looked at again. Flushes look, too; the
// time is for memory that other stacks give back.
constexpr instant ease_us = 20'000;
constexpr instant stalled_look_us = 1'000'000;

std::size_t part(std::size_t limit, memory_for what) noexcept {
  return limit / 16 * static_cast<std::size_t>(what);
}

/// A stack updates the shared counter when its use has changed by this much.
std::size_t step_of(const memory_budget& b) noexcept {
  return std::clamp<std::size_t>(b.limit() / 256, 1, 65536);
}

std::size_t left_of(std::size_t limit, std::size_t used) noexcept {
  return used < limit ? limit - used : 0;
}

/// Whether the process' budget has this much memory for the stack.
bool process_has(core& k, std::size_t used, std::size_t more, memory_for what) noexcept {
  memory_budget* const b = k.opt.process_memory.get();
  if (b == nullptr) return true;
  const std::size_t others = b->used() - std::min(b->used(), k.process_share);
  if (others + used + more > part(b->limit(), what)) return false;
  if (used + more <= k.process_share) return true;
  const std::size_t missing = used + more - k.process_share;
  const std::size_t step = std::max(missing, step_of(*b));
  const std::size_t taken = b->take(step) ? step : b->take(missing) ? missing : 0;
  k.process_share += taken;
  return taken != 0;
}

/// Offers larger windows again to connections whose windows were reduced for lack of memory.
void widen_windows(core& k) {
  std::vector<connection> was;
  was.swap(k.narrow);
  for (const connection& name : was) {
    conn x(k, name.index);
    if (x.generation != name.generation || x.c.now == state::closed) continue;
    x.c.narrowed = 0;
    if (x.c.has(pcb_finish) && !x.c.has(pcb_fin_sent)) {
      mark_dirty(k, x);
      continue;
    }
    if (!x.c.receiving()) continue;
    if (edge_to_offer(k, x.c) == x.c.rcv_edge) {
      x.c.narrowed = 1;
      k.narrow.push_back(name);
    } else {
      x.c.set(pcb_ack_now);
      mark_dirty(k, x);
    }
  }
}

bool stalled(const core& k, const pcb& c) noexcept {
  if (c.now == state::closed || c.traffic == no_index) return false;
  const traffic& t = k.traffics[c.traffic];
  if (t.pieces.empty() && t.held.empty()) return false;
  return k.now - t.moved_at >= instant{k.opt.stalled_us};
}

}  // namespace

std::string_view name_of(refusal what) noexcept {
  static constexpr std::array<std::string_view, refusal_count> names = {
      "accept", "connect", "write", "data", "out_of_order", "window", "stalled"};
  const auto at = static_cast<std::size_t>(what);
  return at < names.size() ? names[at] : "unknown";
}

std::string_view name_of(bound b) noexcept { return b == bound::shard ? "shard" : "process"; }

std::size_t connection_bytes(const core& k) noexcept { return idle_bytes + k.opt.user_bytes_each; }

std::size_t memory_used(const core& k) noexcept {
  return k.held_bytes + k.pcbs.used() * connection_bytes(k) + k.traffics.used() * sizeof(traffic) +
         k.waits.size() * sizeof(time_wait_record);
}

std::size_t memory_left(const core& k, memory_for what) noexcept {
  const std::size_t used = memory_used(k);
  std::size_t left = left_of(part(k.opt.memory_bytes, what), used);
  if (const memory_budget* const b = k.opt.process_memory.get(); b != nullptr) {
    const std::size_t all = b->used() - std::min(b->used(), k.process_share) + used;
    left = std::min(left, left_of(part(b->limit(), what), all));
  }
  return left;
}

void count_refusal(core& k, refusal what) noexcept {
  const std::size_t own = left_of(part(k.opt.memory_bytes, memory_for::data), memory_used(k));
  const bound by = own <= memory_left(k, memory_for::data) ? bound::shard : bound::process;
  ++k.count.refusals[static_cast<std::size_t>(what)][static_cast<std::size_t>(by)];
}

bool fits(core& k, std::size_t bytes, memory_for what, refusal refused) noexcept {
  const std::size_t used = memory_used(k);
  if (used + bytes <= part(k.opt.memory_bytes, what)) {
    if (process_has(k, used, bytes, what)) return true;
    ++k.count.refusals[static_cast<std::size_t>(refused)][1];
  } else {
    ++k.count.refusals[static_cast<std::size_t>(refused)][0];
  }
  if (k.ease_due == never_due) k.ease_due = k.now + ease_us;
  if (refused == refusal::write) k.writers_wait = true;
  return false;
}

void set_unread(core& k, pcb& c, std::uint32_t bytes) noexcept {
  if ((c.unread == 0) != (bytes == 0)) k.readers += bytes == 0 ? UINT32_MAX : 1U;
  k.held_bytes += bytes;
  k.held_bytes -= c.unread;
  c.unread = bytes;
}

void charge_records(core& k, traffic& t) noexcept {
  const auto count = static_cast<std::uint32_t>(t.records.size());
  k.held_bytes += count * record_bytes;
  k.held_bytes -= t.records_charged * record_bytes;
  t.records_charged = count;
}

std::uint32_t window_share(const core& k) noexcept {
  const std::size_t share = memory_left(k, memory_for::data) / (2 * (std::size_t{k.readers} + 1));
  return static_cast<std::uint32_t>(std::min<std::size_t>(share, UINT32_MAX));
}

std::uint32_t first_window(const core& k) noexcept {
  constexpr std::size_t least = 4 * 1460;  // less would slow down each request
  const std::size_t share = memory_left(k, memory_for::data) / (2 * (k.pcbs.used() + 1));
  return static_cast<std::uint32_t>(std::min(
      {std::size_t{k.opt.receive_window_bytes}, std::size_t{65535}, std::max(share, least)}));
}

void note_narrow(core& k, conn x) {
  const pcb& c = x.c;
  if (c.narrowed != 0 || !c.receiving()) return;
  // A peer with more room than this goes on by itself, and its next segment brings it a new window.
  const std::uint32_t small = 4 * std::uint32_t{c.mss};
  const std::uint32_t own =
      c.unread < k.opt.receive_window_bytes ? k.opt.receive_window_bytes - c.unread : 0;
  if (c.receive_window() >= small || own < 2 * small || window_share(k) >= own) return;
  count_refusal(k, refusal::window);
  x.c.narrowed = 1;
  k.narrow.push_back(x.name());
  if (k.ease_due == never_due) k.ease_due = k.now + ease_us;
}

bool has_block(core& k, const pcb& c, memory_for what, refusal refused) noexcept {
  return c.traffic != no_index || fits(k, sizeof(traffic), what, refused);
}

bool may_finish(core& k, conn x) {
  // FIN is small, and the end of a connection frees much: FIN may use all of the bound.
  if (x.c.traffic != no_index || memory_used(k) + sizeof(traffic) <= k.opt.memory_bytes)
    return true;
  count_refusal(k, refusal::write);
  if (k.ease_due == never_due) k.ease_due = k.now + ease_us;
  if (x.c.narrowed == 0) {
    x.c.narrowed = 1;
    k.narrow.push_back(x.name());
  }
  return false;
}

void ease(core& k) {
  if (k.ease_due == never_due) return;
  const bool due = k.now >= k.ease_due;
  const std::size_t left = memory_left(k, memory_for::sending);
  // Each ACK frees a little memory for a moment: without a bound many writers would wake for it.
  const std::size_t enough =
      due ? write_bytes_min : std::max(k.opt.memory_bytes / 16, write_bytes_min);
  if (left < enough + piece_bytes) {
    if (due) k.ease_due = k.now + ease_us;
    return;
  }
  if (due) {
    widen_windows(k);
    k.ease_due = k.narrow.empty() ? never_due : k.now + ease_us;
  }
  if (!std::exchange(k.writers_wait, false)) return;
  if (k.narrow.empty()) k.ease_due = never_due;
  k.up.eased();
}

void end_stalled(core& k) {
  if (k.ease_due == never_due || k.opt.stalled_us == 0 || k.now - k.stalled_seen < stalled_look_us)
    return;
  k.stalled_seen = k.now;
  for (std::uint32_t i = 0; k.pcbs.made(i); ++i) {
    if (!stalled(k, k.pcbs[i])) continue;
    count_refusal(k, refusal::stalled);
    conn x(k, i);
    send_reset(k, x.c);
    end(k, x, ending::timed_out);
  }
}

void settle_memory(core& k) noexcept {
  memory_budget* const b = k.opt.process_memory.get();
  if (b == nullptr) return;
  const std::size_t used = memory_used(k);
  if (used > k.process_share) {
    b->add(used - k.process_share);
    k.process_share = used;
  } else if (k.process_share - used > 2 * step_of(*b)) {
    const std::size_t spare = k.process_share - used - step_of(*b);
    b->give_back(spare);
    k.process_share -= spare;
  }
}

}  // namespace heddle::tcp
