// SPDX-License-Identifier: MIT
// Where everything waits: the suspended tasks of a worker, by wait point, as text for people and
// JSON for programs. The JSON is described in docs/reference/dump.md.
#pragma once

#include <string>
#include <vector>

#include "heddle/core/context.hh"

namespace heddle {

/// One suspended task: its innermost frame, and who awaits whom above it.
struct suspended_task {
  const char* state = "";   ///< what it waits for: "event", "sleep", "read", ...; "ready" if queued
  std::vector<site> chain;  ///< lines, innermost first; each frame was awaited at the next line
  nanoseconds waited{};
  std::uint32_t color = 0;
  std::uint64_t trace_id = 0;
  std::string plain_at = {};  ///< a plain frame's "file:line"
};

/// The wait points of plain frames that share a resume function (heddle_describe).
struct wait_table {
  heddle_link (*resume)(heddle_frame*, heddle_worker*);
  const heddle_wait_line* lines;
  std::uint32_t count;
};

/// Appends every task that waits below this context. Thread: the color's, or all stand still.
void suspended_below(context& root, time_point now, std::vector<suspended_task>& out);
/// A task that is queued.
[[nodiscard]] suspended_task ready_task(link l, const context& c);
/// A plain frame as a suspended task; its line comes from the table of its resume function.
[[nodiscard]] suspended_task suspended_plain(const frame& f, const std::vector<wait_table>& tables);

/// A table: one row a wait point, with how many wait there, what for, and how long.
[[nodiscard]] std::string dump_text(const std::vector<suspended_task>& tasks);
/// {"schema":1,"tasks":[{"state":...,"color":...,"waited_ns":...,"chain":[{"at":...,"in":...}]}]}
[[nodiscard]] std::string dump_json(const std::vector<suspended_task>& tasks);

}  // namespace heddle
