// SPDX-License-Identifier: MIT
// Collects suspended tasks for dumps, and finds tasks that may wait for each other for ever. An
// event without handles is found by its count (abandoned-event). Two functions that hold each
// other's events keep the counts up, so the walk looks for the handles: a function keeps them in
// its frame, and frames lie in cells whose bounds are known.
//
// A function is suspected if it waits for events, and the frames of other suspected functions have
// as many words that look like handles of the events as there are handles. This is no proof: a
// frame keeps the word of a handle that was moved elsewhere (into a std::vector, say) until
// something else is written there. So a dump calls such a ring of functions a possible cycle.
#pragma once

#include <unordered_map>
#include <vector>

#include "heddle/base/slab.hh"
#include "heddle/core/dump.hh"

namespace heddle {

namespace detail {
class event_set;
}

/// Thread: the walked colors must not run from the first call to finish().
class wait_walk {
 public:
  /// `quiet` tells for each color whether it is stopped; null: all are.
  explicit wait_walk(slabs& memory, const std::vector<bool>* quiet = nullptr) noexcept
      : memory_(memory), quiet_(quiet) {}

  void add_below(context& root, time_point now);
  void add_ready(link l, const context& c);
  /// Adds the function that a worker is running, besides the other frames of its color.
  void add_running(site went_on_at, std::uint32_t color, nanoseconds for_long);
  void add_plain(const frame& f, const std::vector<wait_table>& tables);

  /// Finds for each suspected task the task that it may wait for, and returns all tasks. The time
  /// is linear in the memory of their frames.
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
    std::size_t waits;                      ///< in waiting_: the waiting task
    std::size_t handles = 0;                ///< the event's own count of its handles
    std::vector<std::size_t> held_by = {};  ///< in waiting_: holding tasks, once for each
  };
  [[nodiscard]] std::vector<site> chain_of(link l, const context& around);
  [[nodiscard]] bool is_quiet(const context& c) const noexcept {
    return quiet_ == nullptr || (*quiet_)[c.color];
  }
  [[nodiscard]] bool is_of_adapter(site s);
  static void name_thread(const frame& f, suspended_task& task);
  void note_events();
  void look_through_frames(std::size_t holder);
  [[nodiscard]] bool is_stuck(const waiting& x) const;

  slabs& memory_;
  const std::vector<bool>* quiet_;
  std::vector<suspended_task> tasks_;
  std::vector<waiting> waiting_;
  std::unordered_map<const void*, expected_event> events_;
  std::unordered_map<site, bool> of_adapters_;
};

}  // namespace heddle
