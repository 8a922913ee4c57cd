// SPDX-License-Identifier: MIT
// Timers of all connections: a heap of (when, connection), with at most one valid entry each.
// Moving a deadline later only changes the connection; its entry is looked at when it fires. So a
// connection whose timeout moves with each ACK touches the heap a few times a second, and an idle
// one has no entry.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "heddle/tcp/sequence.hh"

namespace heddle::tcp {

/// Deadlines of resting connections in 32 bits: 256 us each, so that 6 days can be told apart.
[[nodiscard]] constexpr std::uint32_t tick_of(instant at) noexcept {
  return static_cast<std::uint32_t>((at + 255) >> 8);
}
/// The time of a tick near `now`.
[[nodiscard]] constexpr instant time_of(std::uint32_t tick, instant now) noexcept {
  const auto distance = static_cast<std::int32_t>(tick - static_cast<std::uint32_t>(now >> 8));
  return ((now >> 8) + distance) << 8;
}

struct timer_entry {
  instant at = 0;
  std::uint32_t index = 0;
  std::uint16_t generation = 0;
};

class timer_heap {
 public:
  void push(const timer_entry& e) {
    entries_.push_back(e);
    std::push_heap(entries_.begin(), entries_.end(), later_first);
  }
  [[nodiscard]] bool due(instant now) const noexcept {
    return !entries_.empty() && entries_.front().at <= now;
  }
  [[nodiscard]] instant next() const noexcept {
    return entries_.empty() ? never_due : entries_.front().at;
  }
  timer_entry pop() noexcept {
    std::pop_heap(entries_.begin(), entries_.end(), later_first);
    const timer_entry e = entries_.back();
    entries_.pop_back();
    return e;
  }

 private:
  static bool later_first(const timer_entry& a, const timer_entry& b) noexcept {
    return a.at > b.at;
  }
  std::vector<timer_entry> entries_;
};

}  // namespace heddle::tcp
