// SPDX-License-Identifier: MIT
// Counts of workers and colors: read by runtime::read_workers() and read_colors().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/core/context.hh"

namespace heddle {

struct worker_statistics {
  std::uint32_t number = 0;
  std::uint32_t waiting = 0;   ///< colors in its queue
  std::uint64_t frames = 0;    ///< frames that ran here
  std::uint64_t turns = 0;     ///< turns of colors
  std::uint64_t steals = 0;    ///< colors taken from others
  std::uint64_t parks = 0;     ///< times the worker went to sleep
  std::uint64_t wakes = 0;     ///< times the worker woke another one
  std::uint64_t messages = 0;  ///< completions and timers that had to be sent to a color
};

/// Times only with runtime_options::watch. A color is named by its place in the table.
struct color_statistics {
  color number;
  std::uint32_t worker = 0;   ///< the worker where the color ran last
  std::uint32_t waiting = 0;  ///< frames that are ready
  std::uint64_t turns = 0;
  std::uint64_t frames = 0;
  std::uint64_t moves = 0;  ///< turns on another worker than the turn before
  nanoseconds run{};
  nanoseconds waited{};       ///< sum of the spans between having work and running
  nanoseconds waited_most{};  ///< the longest of these: how long it starved
  nanoseconds longest{};      ///< the longest turn
};

/// Tables for people: one row a worker, or a color, the busiest first, at most `rows_max` of them.
[[nodiscard]] std::string to_text(const std::vector<worker_statistics>& workers);
[[nodiscard]] std::string to_text(std::vector<color_statistics> colors, std::size_t rows_max = 20);
/// {"schema":1,"workers":[...],"colors":[...]}: docs/reference/colors.md
[[nodiscard]] std::string to_json(const std::vector<worker_statistics>& workers,
                                  const std::vector<color_statistics>& colors);

}  // namespace heddle
