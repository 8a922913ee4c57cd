// SPDX-License-Identifier: MIT
// Where everything waits: the suspended tasks of a worker, by wait point, as text for people and
// JSON for programs. The JSON is described in docs/reference/dump.md.
#pragma once

#include <string>
#include <vector>

#include "heddle/core/context.hh"

namespace heddle {

/// One suspended task: its innermost frame, and the chain of awaiting frames above it.
struct suspended_task {
  static constexpr std::size_t nobody = ~std::size_t{0};

  /// The state of a task that a worker runs while the suspended tasks are collected.
  static constexpr const char* runs = "running";

  /// The kind of the task's wait: "event", "sleep", "read", ...; "ready" if queued; `runs`.
  const char* state = "";
  std::vector<site> chain;  ///< lines, innermost first; each frame was awaited at the next line
  nanoseconds waited{};     ///< for a running task: since its worker's last turn
  std::uint32_t color = 0;
  std::uint64_t trace_id = 0;
  std::string plain_at = {};  ///< a plain frame's "file:line"
  /// Set if each handle of its event may be in the frame of a function that waits in the same way:
  /// one of those functions, as an index in the same list. This is no proof (core/wait_walk.hh).
  std::size_t behind = nobody;
  std::size_t events = 0;   ///< how many events the task waits for
  site expects = 0;         ///< the line that made the first event; if `behind`, the one held there
  std::size_t handles = 0;  ///< how many handles of that event exist
};

/// Longer chains of awaiting frames are cut: a dump must stay readable.
inline constexpr std::size_t chain_max = 64;

/// The wait points of plain frames that share a resume function (heddle_describe).
struct wait_table {
  heddle_link (*resume)(heddle_frame*, heddle_worker*);
  const heddle_wait_line* lines;
  std::uint32_t count;
};

/// Indexes of tasks that may wait for each other in a ring, each behind the next and the last
/// behind the first.
[[nodiscard]] std::vector<std::vector<std::size_t>> possible_cycles(
    const std::vector<suspended_task>& tasks);

/// A table: one row a wait point, with how many wait there, what for, and how long; then the
/// possible cycles, oldest first.
[[nodiscard]] std::string dump_text(const std::vector<suspended_task>& tasks);
/// {"schema":2,"tasks":[{"state":...,"color":...,"waited_ns":...,"chain":[{"at":...,"in":...}]}],
///  "possible_cycles":[[task, ...]]}
[[nodiscard]] std::string dump_json(const std::vector<suspended_task>& tasks);

}  // namespace heddle
