// SPDX-License-Identifier: MIT
// Collects suspended tasks, and finds those that can never go on because they wait for each other.
// Counts tell when nobody holds an event any more (abandoned-event); two functions that hold each
// other's events keep the counts up for ever. But a function keeps what it holds in its frame, and
// frames lie in cells whose bounds are known: a handle is found by looking for its word.
//
// A function is stuck when it waits for events whose handles all lie in frames of functions that
// are stuck: nothing outside of them could trigger one. What looks like a handle and is none could
// only hide behind a handle that lies outside of frames (in a std::vector, say), so the answer is
// exact for programs that keep handles in frames, and silent about most others.
#pragma once

#include <unordered_map>
#include <vector>

#include "heddle/base/slab.hh"
#include "heddle/core/dump.hh"

namespace heddle {

namespace detail {
class event_set;
}

/// Thread: all workers stand still from the first call to finish().
class wait_walk {
 public:
  explicit wait_walk(slabs& memory) noexcept : memory_(memory) {}

  void add_below(context& root, time_point now);
  void add_ready(link l, const context& c);
  void add_plain(const frame& f, const std::vector<wait_table>& tables);

  /// Tells each stuck task whom it waits for, and gives them all. Linear in the memory of frames.
  [[nodiscard]] std::vector<suspended_task> finish() &&;

 private:
  /// A task that waits for events.
  struct waiting {
    std::size_t task;
    const detail::event_set* set;
    link innermost;
    bool stuck = true;
  };
  struct expected_event {
    std::size_t waits;                      ///< in waiting_: who waits for it
    std::size_t handles = 0;                ///< that are counted
    std::vector<std::size_t> held_by = {};  ///< in waiting_: whose frames have one, once for each
  };
  void note_events();
  void look_through_frames(std::size_t holder);
  [[nodiscard]] bool is_stuck(const waiting& x) const;

  slabs& memory_;
  std::vector<suspended_task> tasks_;
  std::vector<waiting> waiting_;
  std::unordered_map<const void*, expected_event> events_;
};

}  // namespace heddle
