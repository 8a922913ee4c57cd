// SPDX-License-Identifier: MIT
// A timer lies in the level of the highest bit in which its tick differs from the current one, so a
// slot is opened only when time reaches it, and then its timers move to finer levels.
#include "heddle/sched/detail/timer_wheel.hh"

#include <algorithm>
#include <array>
#include <bit>

namespace heddle {

void timer_wheel::arm(timer_node& node, time_point due) noexcept {
  if (node.linked()) [[unlikely]]
    node.unlink();
  node.due_ = due;
  node.order_ = order_++;
  place(node);
}

void timer_wheel::arm_after(timer_node& node, nanoseconds span) noexcept {
  if (node.linked()) [[unlikely]]
    node.unlink();
  node.due_ = time_point(span);
  node.order_ = order_++;
  unsettled_.push_back(node);
}

void timer_wheel::settle(time_point now) noexcept {
  while (timer_node* const node = unsettled_.pop_front()) {
    node->due_ = add_saturated(now, node->due_.time_since_epoch());
    place(*node);
  }
}

inline void timer_wheel::place(timer_node& node) noexcept {
  const std::uint64_t tick = std::max(tick_of(node.due_), tick_);
  const std::uint64_t differs = (tick ^ tick_) | (slots - 1);
  const auto highest = static_cast<unsigned>(63 - std::countl_zero(differs));
  static_assert(slot_bits == 6 && levels == 8);
  const unsigned level = highest * 43 / 256;  // highest / 6, for the 48 bits of a tick
  const std::uint64_t slot = (tick >> (level * slot_bits)) & (slots - 1);
  wheel_[level][slot].push_back(node);
  used_[level] |= std::uint64_t{1} << slot;
  levels_used_ |= 1U << level;
}

timer_wheel::found_slot timer_wheel::next_slot() noexcept {
  for (unsigned left = levels_used_; left != 0; left &= left - 1) {
    const auto level = static_cast<unsigned>(std::countr_zero(left));
    std::uint64_t& later = used_[level];
    const std::uint64_t at = tick_ >> (level * slot_bits);
    const unsigned here = at & (slots - 1);
    // Only later slots count: the current slot and those before it have been opened, and timers of
    // the next round are in a coarser level.
    later &= here == slots - 1 ? 0 : ~std::uint64_t{0} << (here + 1);
    for (; later != 0; later &= later - 1) {
      const auto bit = static_cast<unsigned>(std::countr_zero(later));
      if (!wheel_[level][bit].empty())
        return {level, ((at & ~(slots - 1)) | bit) << (level * slot_bits)};
    }
    levels_used_ &= ~(1U << level);
  }
  return {};
}

bool timer_wheel::fires_before(const timer_node& a, const timer_node& b) noexcept {
  return a.due_ < b.due_ || (a.due_ == b.due_ && a.order_ < b.order_);
}

/// Merges two lists that are in order into the first.
void timer_wheel::merge(list<timer_node>& into, list<timer_node>& from) noexcept {
  list<timer_node> merged;
  while (!into.empty() && !from.empty())
    merged.move_back(fires_before(into.front(), from.front()) ? into.front() : from.front());
  merged.splice(into);
  merged.splice(from);
  into.take_all(merged);
}

/// Puts the timers of a list without order at their places in one that is in order.
[[gnu::noinline]] void timer_wheel::merge_sorted(list<timer_node>& due,
                                                 list<timer_node>& unordered) noexcept {
  std::array<list<timer_node>, 48> runs;  // each empty, or 2 to the power of its index, in order
  while (timer_node* const node = unordered.pop_front()) {
    list<timer_node> run;
    run.push_back(*node);
    std::size_t i = 0;
    for (; !runs[i].empty(); ++i) merge(run, runs[i]);
    runs[i].take_all(run);
  }
  for (list<timer_node>& run : runs)
    if (!run.empty()) merge(due, run);
}

std::size_t timer_wheel::expire(time_point now, fire_function fire, void* context) noexcept {
  const std::uint64_t target = tick_of(now);
  std::size_t fired = 0;
  for (;;) {
    list<timer_node>& current = slot_at(0, tick_);
    if (!current.empty()) {
      // Sorted from the back: timers nearly always arrive in order already, or a few places off.
      constexpr int steps_max = 8;
      list<timer_node> due, far_off;
      current.each([&](timer_node& node) {
        if (node.due_ > now) return;
        if (due.empty()) {
          due.move_back(node);
          return;
        }
        list_hook* const end = due.front().prev();  // the list's head
        list_hook* at = end->prev();
        int steps = 0;
        while (at != end && fires_before(node, static_cast<timer_node&>(*at)) &&
               ++steps <= steps_max)
          at = at->prev();
        if (steps > steps_max)
          far_off.move_back(node);
        else
          node.move_before(*at->next());
      });
      if (!far_off.empty()) [[unlikely]]
        merge_sorted(due, far_off);
      while (timer_node* node = due.pop_front()) {  // firing may disarm others that are due
        fire(*node, context);
        ++fired;
      }
    }
    if (tick_ >= target) return fired;
    const found_slot next = next_slot();
    if (next.level == levels || next.tick > target) {
      tick_ = target;
      continue;  // nothing between, but the last slot may have just become current
    }
    tick_ = next.tick;
    if (next.level > 0) {
      list<timer_node> moved;
      moved.splice(slot_at(next.level, next.tick));
      while (timer_node* node = moved.pop_front()) place(*node);
    }
  }
}

time_point timer_wheel::next_due() noexcept {
  constexpr int scan_max = 16;  // a longer slot gives its start: one early wake-up, no long scan
  list<timer_node>* slot = &slot_at(0, tick_);
  found_slot at{0, tick_};
  if (slot->empty()) {
    at = next_slot();
    if (at.level == levels) return never;
    slot = &slot_at(at.level, at.tick);
  }
  time_point least = never;
  int seen = 0;
  list_hook* const end = slot->front().prev();
  for (list_hook* n = end->next(); n != end; n = n->next()) {
    if (at.level > 0 && ++seen > scan_max)
      return time_point(nanoseconds(static_cast<std::int64_t>(at.tick << tick_shift)));
    const time_point due = static_cast<timer_node*>(n)->due();
    if (due < least) least = due;
  }
  return least;
}

}  // namespace heddle
