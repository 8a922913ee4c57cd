// SPDX-License-Identifier: MIT
// Prints diagnostics on standard error where no hook takes them, and bounds how much that is: each
// line of the program once in report_pause, and all of them reports_per_second_max times a second.
// The others are counted, and the count is printed with the line's next report or at the end.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/core/report.hh"
#include "heddle/sched/runtime_options.hh"

namespace heddle {

/// Thread: one at a time.
class report_printer {
 public:
  explicit report_printer(const runtime_options& options) noexcept
      : per_second_max_(options.reports_per_second_max), pause_(options.report_pause) {}
  void print(const diagnostic& d, time_point now);
  /// Prints the counts that are left.
  void end() noexcept;

 private:
  /// The reports of one kind about one line.
  struct entry {
    diagnostic_kind kind;
    site made;
    time_point printed;
    bool is_printed = false;
    std::uint64_t left_out = 0;
  };
  static constexpr std::size_t entries_max = 64;
  [[nodiscard]] entry& entry_of(const diagnostic& d);

  const std::uint32_t per_second_max_;
  const nanoseconds pause_;
  std::vector<entry> entries_;
  std::uint64_t left_out_elsewhere_ = 0;  ///< the counts of entries that were replaced
  time_point second_began_{};
  std::uint32_t in_second_ = 0;
};

}  // namespace heddle
