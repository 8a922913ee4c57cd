// SPDX-License-Identifier: MIT
// Timers by time: eight wheels of 64 slots, the finest slot 65.5 microseconds wide. Arming and
// disarming are constant time. Timers fire in the order of their times to the nanosecond, ties in
// the order of arming; never early.
#pragma once

#include <array>
#include <cstdint>

#include "heddle/core/timer.hh"

namespace heddle {

class timer_wheel {
 public:
  explicit timer_wheel(time_point start) noexcept : tick_(tick_of(start)) {}

  /// Links the node; a time that has passed fires at the next expire().
  void arm(timer_node& node, time_point due) noexcept;
  /// Keeps the node until settle(), which arms it for that span after the time given there. Ties
  /// with other nodes go by the order of these calls.
  void arm_after(timer_node& node, nanoseconds span) noexcept;
  [[nodiscard]] bool has_unsettled() const noexcept { return !unsettled_.empty(); }
  /// Arms the nodes of arm_after(). `now` must have been read after those calls. Call this before
  /// the two below.
  void settle(time_point now) noexcept;
  /// Takes out everything that is due, each through fire(node, context): in order, ties in the
  /// order of arming. Returns how many there were. `fire` may arm and disarm.
  using fire_function = void (*)(timer_node&, void* context) noexcept;
  std::size_t expire(time_point now, fire_function fire, void* context) noexcept;
  /// No timer fires before this; never when there is none. Exact unless a coarse slot holds many.
  [[nodiscard]] time_point next_due() noexcept;
  [[nodiscard]] bool empty() noexcept { return next_due() == never; }

 private:
  static constexpr unsigned tick_shift = 16;  // 65,536 ns
  static constexpr unsigned slot_bits = 6;
  static constexpr unsigned levels = 8;  // 48 bits of ticks: every 64-bit time
  static constexpr std::size_t slots = std::size_t{1} << slot_bits;

  [[nodiscard]] static std::uint64_t tick_of(time_point t) noexcept {
    const auto ns = t.time_since_epoch().count();
    return ns <= 0 ? 0 : static_cast<std::uint64_t>(ns) >> tick_shift;
  }
  void place(timer_node& node) noexcept;
  static bool fires_before(const timer_node& a, const timer_node& b) noexcept;
  static void merge(list<timer_node>& into, list<timer_node>& from) noexcept;
  static void merge_sorted(list<timer_node>& due, list<timer_node>& unordered) noexcept;
  /// The next slot behind the current tick that holds a timer.
  struct found_slot {
    unsigned level = levels;
    std::uint64_t tick = 0;
  };
  [[nodiscard]] found_slot next_slot() noexcept;
  [[nodiscard]] list<timer_node>& slot_at(unsigned level, std::uint64_t tick) noexcept {
    return wheel_[level][(tick >> (level * slot_bits)) & (slots - 1)];
  }

  std::uint64_t tick_;
  std::uint64_t order_ = 0;
  // used_ has a bit for each slot, levels_used_ for each level. A bit may stay set after its slot
  // was emptied or opened.
  std::array<std::uint64_t, levels> used_{};
  unsigned levels_used_ = 0;
  std::array<std::array<list<timer_node>, slots>, levels> wheel_;
  list<timer_node> unsettled_;  // nodes of arm_after(): due_ is a span
};

}  // namespace heddle
