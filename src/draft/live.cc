// SPDX-License-Identifier: MIT
// Liveness: which slots a block needs from before. From it: dead stores, the slots of the frame,
// and the frame's layout, where two slots share bytes only if they are never live at once.
#include <algorithm>
#include <utility>

#include "draft/flow.hh"
#include "draft/print_flow.hh"

namespace heddle::draft {
namespace {

using bits = std::vector<bool>;

/// Live slots at each program point, backward.
class liveness {
 public:
  explicit liveness(const flow& f) : flow_(f), in_(f.blocks.size(), bits(f.slots.size(), false)) {
    close_views();
    std::vector<std::vector<block_id>> from(f.blocks.size());
    for (block_id i = 0; i != f.blocks.size(); ++i)
      for (const block_id next : f.blocks[i].tail.next) from[next].push_back(i);
    std::vector<block_id> work;
    std::vector<bool> queued(f.blocks.size(), true);
    for (block_id i = 0; i != f.blocks.size(); ++i) work.push_back(i);
    while (!work.empty()) {
      const block_id at = work.back();
      work.pop_back();
      queued[at] = false;
      bits live = after(at);
      backward(at, live, [](std::size_t, const bits&) {});
      if (live == in_[at]) continue;
      in_[at] = std::move(live);
      for (const block_id before : from[at]) {
        if (queued[before]) continue;
        queued[before] = true;
        work.push_back(before);
      }
    }
  }

  [[nodiscard]] const bits& entry(block_id at) const { return in_[at]; }
  [[nodiscard]] bits after(block_id at) const {
    bits live(flow_.slots.size(), false);
    for (const block_id next : flow_.blocks[at].tail.next)
      for (std::size_t i = 0; i != live.size(); ++i)
        if (in_[next][i]) live[i] = true;
    return live;
  }

  void use(var_id id, bits& live) const {
    if (live[id]) return;
    live[id] = true;
    for (const var_id other : reach_[id]) live[other] = true;
  }

  /// From the block's end to its beginning; see(i, live) before instruction i, i.e. with what is
  /// live behind it.
  template <class See>
  void backward(block_id at, bits& live, See&& see) const {
    const flow_block& b = flow_.blocks[at];
    const auto kill = [&](var_id id) { live[id] = false; };
    // The writes of the operations of a wait, then their reads.
    each_slot(b.tail, flow_.status, flow_.result, [&](var_id id, char how) {
      // An arm's result is read only where this arm won.
      if (how == 'd') kill(id);
    });
    each_slot(b.tail, flow_.status, flow_.result, [&](var_id id, char how) {
      if (how == 'u') use(id, live);
    });
    for (std::size_t i = b.body.size(); i-- != 0;) {
      see(i, live);
      each_slot(b.body[i], flow_.status, [&](var_id id, char how) {
        if (how == 'd') kill(id);
      });
      each_slot(b.body[i], flow_.status, [&](var_id id, char how) {
        if (how == 'u') use(id, live);
      });
    }
  }

 private:
  /// All that a view, or a view of a view, may look into. A view in between is not needed itself,
  /// and neither is a number that it was computed from.
  void close_views() {
    reach_.resize(flow_.slots.size());
    for (var_id id = 0; id != flow_.slots.size(); ++id) {
      const bool is_view = flow_.slots[id].type->is(kind::view);
      std::vector<var_id> work = flow_.slots[id].looks_into;
      std::vector<bool> seen(flow_.slots.size(), false);
      seen[id] = true;
      while (!work.empty()) {
        const var_id next = work.back();
        work.pop_back();
        if (seen[next]) continue;
        seen[next] = true;
        const type& t = *flow_.slots[next].type;
        const bool holds_bytes = !t.is(kind::view) && !t.is(kind::boolean) &&
                                 !t.is(kind::duration) && !t.is(kind::error) && !t.is_integer();
        if (!is_view || holds_bytes) reach_[id].push_back(next);
        for (const var_id more : flow_.slots[next].looks_into) work.push_back(more);
      }
    }
  }

  const flow& flow_;
  std::vector<bits> in_;
  std::vector<std::vector<var_id>> reach_;
};

/// Whether a store may be dropped when its slot is not read again.
bool only_stores(const set_instr& x) {
  return x.place.slot() != no_id && !x.from.may_fault() && !x.from.checks_index();
}

}  // namespace

void remove_dead(flow& f) {
  for (bool changed = true; std::exchange(changed, false);) {
    const liveness live(f);
    for (block_id at = 0; at != f.blocks.size(); ++at) {
      std::vector<instr>& body = f.blocks[at].body;
      std::vector<bool> dead(body.size(), false);
      bits after = live.after(at);
      live.backward(at, after, [&](std::size_t i, const bits& behind) {
        const clear_instr* const clears = body[i].get<clear_instr>();
        const set_instr* const sets = body[i].get<set_instr>();
        if (clears == nullptr && (sets == nullptr || !only_stores(*sets))) return;
        const var_id id = clears != nullptr ? clears->slot : sets->place.slot();
        if (behind[id] || f.slots[id].by_reference) return;
        dead[i] = true;
      });
      std::vector<instr> kept;
      for (std::size_t i = 0; i != body.size(); ++i) {
        if (dead[i]) {
          changed = true;
        } else {
          kept.push_back(std::move(body[i]));
        }
      }
      body = std::move(kept);
    }
  }
}

void plan(flow& f, bool overlap) {
  std::uint32_t number = 0;
  for (flow_block& b : f.blocks)
    if (b.tail.waits()) b.wait_number = ++number;
  f.waits = number;
  for (slot& s : f.slots) {
    s.size = size_of(*s.type);
    s.align = align_of(*s.type);
    if (s.by_reference) s.size = s.align = 8;
  }
  if (!f.has_frame) return;
  const liveness live(f);
  // Live across a wait: needed when its block is entered again. The parameters of a frame are where
  // spawn puts them until they are first used.
  for (const flow_block& b : f.blocks) {
    if (!b.tail.waits()) continue;
    const bits& in = live.entry(static_cast<block_id>(&b - f.blocks.data()));
    for (std::size_t i = 0; i != in.size(); ++i)
      if (in[i]) f.slots[i].in_frame = true;
  }
  for (const var_id p : f.params) f.slots[p].in_frame = true;
  // The result is read by the caller when the frame has ended.
  if (f.result != no_id) f.slots[f.result].in_frame = true;
  // Finds pairs of slots that are live at one point. A store into a dead slot counts, too.
  std::vector<var_id> kept;
  for (var_id i = 0; i != f.slots.size(); ++i)
    if (f.slots[i].in_frame) kept.push_back(i);
  const std::size_t n = kept.size();
  std::vector<std::size_t> number_of(f.slots.size(), n);
  for (std::size_t i = 0; i != n; ++i) number_of[kept[i]] = i;
  std::vector<bits> meets(n, bits(n, !overlap));
  std::uint32_t least = 0;
  const auto note = [&](const bits& at, var_id also) {
    std::vector<std::size_t> here;
    std::uint32_t bytes = 0;
    for (std::size_t i = 0; i != n; ++i) {
      if (!at[kept[i]] && kept[i] != also) continue;
      here.push_back(i);
      bytes += f.slots[kept[i]].size;
    }
    least = std::max(least, bytes);
    for (const std::size_t a : here)
      for (const std::size_t b : here) meets[a][b] = true;
  };
  for (block_id at = 0; at != f.blocks.size(); ++at) {
    const flow_block& b = f.blocks[at];
    bits after = live.after(at);
    note(after, no_id);
    // The operations of a tail write their results while all that is live after is alive.
    each_slot(b.tail, f.status, f.result, [&](var_id id, char how) {
      if (how == 'd') note(after, id);
    });
    if (b.tail.is<any_tail>()) {
      // Any of the arms may write its result, and the others are still asked.
      bits all = live.entry(at);
      for (std::size_t i = 0; i != all.size(); ++i)
        if (after[i]) all[i] = true;
      each_slot(b.tail, f.status, f.result, [&](var_id id, char how) {
        if (how == 'd') all[id] = true;
      });
      note(all, no_id);
    }
    // A wait's arguments and results are alive together: the operation writes while it reads.
    if (b.tail.waits()) {
      bits both = live.entry(at);
      each_slot(b.tail, f.status, f.result, [&](var_id id, char how) {
        if (how == 'd') both[id] = true;
      });
      note(both, no_id);
    }
    live.backward(at, after, [&](std::size_t i, const bits& behind) {
      note(behind, no_id);
      bits both = behind;
      each_slot(b.body[i], f.status, [&](var_id id, char) { live.use(id, both); });
      note(both, no_id);
    });
    note(after, no_id);
  }
  // Parameters are all written before the function begins.
  bits params(f.slots.size(), false);
  for (const var_id p : f.params) params[p] = true;
  note(params, no_id);
  // The result may be asked for after the end; nothing may lie over it from its store on, and the
  // caller reads it when all else is gone.
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i != n; ++i) order[i] = i;
  // Largest first; then in order of declaration, so the layout does not change by chance.
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const slot& x = f.slots[kept[a]];
    const slot& y = f.slots[kept[b]];
    if (x.size != y.size) return x.size > y.size;
    return a < b;
  });
  std::uint32_t end = 0;
  std::vector<bool> placed(n, false);
  for (const std::size_t i : order) {
    slot& s = f.slots[kept[i]];
    std::uint32_t at = 0;
    for (bool moved = true; std::exchange(moved, false);) {
      at = (at + s.align - 1) / s.align * s.align;
      for (std::size_t j = 0; j != n; ++j) {
        if (!placed[j] || !meets[i][j]) continue;
        const slot& other = f.slots[kept[j]];
        if (at < other.offset + other.size && other.offset < at + s.size) {
          at = other.offset + other.size;
          moved = true;
          break;
        }
      }
    }
    s.offset = at;
    placed[i] = true;
    end = std::max(end, at + s.size);
  }
  f.frame_size = (end + 7) / 8 * 8;
  f.frame_size_least = (least + 7) / 8 * 8;
}

std::vector<std::uint32_t> bytes_at_waits(const flow& f) {
  std::vector<std::uint32_t> bytes(f.waits + 1, 0);
  for (const var_id p : f.params) bytes[0] += f.slots[p].size;
  const liveness live(f);
  for (block_id at = 0; at != f.blocks.size(); ++at) {
    if (!f.blocks[at].tail.waits()) continue;
    const bits& in = live.entry(at);
    for (std::size_t i = 0; i != in.size(); ++i)
      if (in[i] && f.slots[i].in_frame) bytes[f.blocks[at].wait_number] += f.slots[i].size;
  }
  return bytes;
}

}  // namespace heddle::draft
