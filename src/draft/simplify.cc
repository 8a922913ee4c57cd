// SPDX-License-Identifier: MIT
// Passes on the shape of the flow: jump threading, dead blocks, fusion. None of them ever moves
// anything across a wait: a wait's block is entered again when the frame is woken.
#include <algorithm>

#include "draft/flow.hh"

namespace heddle::draft {
namespace {

void mark_reachable(flow& f) {
  for (flow_block& b : f.blocks) b.reachable = false;
  std::vector<block_id> work = {0};
  f.blocks[0].reachable = true;
  while (!work.empty()) {
    const block_id at = work.back();
    work.pop_back();
    for (const block_id next : f.blocks[at].tail.next) {
      if (f.blocks[next].reachable) continue;
      f.blocks[next].reachable = true;
      work.push_back(next);
    }
  }
}

/// Drops blocks that cannot be reached and numbers the rest anew, in order.
void drop_unreachable(flow& f) {
  mark_reachable(f);
  std::vector<block_id> number(f.blocks.size(), no_id);
  std::vector<flow_block> kept;
  for (std::size_t i = 0; i != f.blocks.size(); ++i) {
    if (!f.blocks[i].reachable) continue;
    number[i] = static_cast<block_id>(kept.size());
    kept.push_back(std::move(f.blocks[i]));
  }
  for (flow_block& b : kept)
    for (block_id& next : b.tail.next) next = number[next];
  f.blocks = std::move(kept);
}

std::vector<std::uint32_t> count_entries(const flow& f) {
  std::vector<std::uint32_t> entries(f.blocks.size(), 0);
  ++entries[0];
  for (const flow_block& b : f.blocks)
    for (const block_id next : b.tail.next) ++entries[next];
  return entries;
}

/// Where a jump to `at` ends up: empty blocks are passed. A block that waits is never passed, and
/// neither is one of a circle of empty blocks.
block_id final_target(const flow& f, block_id at) {
  for (std::size_t steps = 0; steps != f.blocks.size(); ++steps) {
    const flow_block& b = f.blocks[at];
    if (!b.body.empty() || !b.tail.is<go_tail>() || b.tail.next[0] == at) return at;
    at = b.tail.next[0];
  }
  return at;
}

/// Passes checks whose outcome an edge decides: behind the error edge of a check or a fault the
/// status is negative, behind the other edge of a check it is not. A merged function's end is such
/// a check, and without this its result would count as live where it was never computed.
block_id past_checks(const flow& f, const tail& from, std::size_t edge) {
  block_id at = final_target(f, from.next[edge]);
  if (!from.is<check_tail>() && (!from.is<fault_tail>() || edge == 0)) return at;
  for (std::size_t steps = 0; steps != f.blocks.size(); ++steps) {
    const flow_block& b = f.blocks[at];
    if (!b.body.empty() || !b.tail.is<check_tail>()) return at;
    at = final_target(f, b.tail.next[edge]);
  }
  return at;
}

}  // namespace

void simplify(flow& f) {
  for (flow_block& b : f.blocks) {
    for (std::size_t i = 0; i != b.tail.next.size(); ++i)
      b.tail.next[i] = past_checks(f, b.tail, i);
    // A branch with one target is a jump; its condition has no effects and no fault.
    if ((b.tail.is<branch_tail>() || b.tail.is<check_tail>()) && b.tail.next[0] == b.tail.next[1])
      b.tail.become_go(b.tail.next[0]);
  }
  drop_unreachable(f);
}

void fuse(flow& f) {
  bool changed = true;
  while (changed) {
    changed = false;
    const std::vector<std::uint32_t> entries = count_entries(f);
    for (block_id i = 0; i != f.blocks.size(); ++i) {
      flow_block& b = f.blocks[i];
      while (b.tail.is<go_tail>() && b.tail.next[0] != i && b.tail.next[0] != 0 &&
             entries[b.tail.next[0]] == 1) {
        flow_block& next = f.blocks[b.tail.next[0]];
        // A wait is a block of its own: control comes back to its beginning.
        if (next.tail.waits()) {
          if (!b.body.empty() || next.body.size() != 0) break;
          if (b.name == "entry") break;
        }
        for (instr& x : next.body) b.body.push_back(std::move(x));
        if (next.tail.waits()) b.name = next.name;
        next.body.clear();
        b.tail = std::move(next.tail);
        next.tail = {{end_tail{}}, {}, {}};
        changed = true;
        break;
      }
    }
    if (changed) drop_unreachable(f);
  }
}

void optimize(flow& f, const pass_options& passes) {
  drop_unreachable(f);
  if (passes.simplify) simplify(f);
  if (passes.fold) fold(f);
  if (passes.simplify) simplify(f);
  if (passes.dead) remove_dead(f);
  if (passes.simplify) simplify(f);
  if (passes.fuse) fuse(f);
  if (passes.simplify) simplify(f);
  plan(f, passes.overlap);
}

}  // namespace heddle::draft
