// SPDX-License-Identifier: MIT
// Looking into a running program: the dump of where everything waits, on request and on a signal,
// the counts of workers and colors, and the list of plain frames (abi.h), which are in no scope's
// list of tasks.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "heddle/core/detail/wait_walk.hh"
#include "heddle/sched/statistics.hh"
#include "sched/color_runner.hh"
#include "sched/dump_signal.hh"
#include "sched/posted_calls.hh"
#include "sched/quiet_colors.hh"

namespace heddle {

class runtime;

/// Thread: any worker's, except where a member says otherwise.
class inspection {
 public:
  inspection(const runtime& of, worker_set& all, color_runner& colors,
             posted_calls& posted) noexcept
      : of_(of), all_(all), colors_(colors), posted_(posted) {}

  [[nodiscard]] std::string dump();
  [[nodiscard]] std::string dump_json();
  [[nodiscard]] std::vector<suspended_task> suspended();
  [[nodiscard]] std::vector<worker_statistics> read_workers();
  [[nodiscard]] std::vector<color_statistics> read_colors();

  // Dumps on a signal (dump_signal.hh).
  /// Installs the handler. The workers must exist, because it may run at once. Throws failure.
  void listen(int signal) { signal_ = std::make_unique<dump_signal>(*this, signal); }
  void stop_listening() noexcept { signal_.reset(); }
  /// Thread: any; for a signal handler.
  void ask_for_dump() noexcept;
  /// Writes the lines that the workers run, if none has answered for a while. Thread: any; for a
  /// signal handler.
  void write_late_notice(const void* interrupted) noexcept;
  /// Writes the dump that was asked for, if one was. Between two turns.
  void answer() noexcept {
    if (asked_.load(std::memory_order_relaxed)) [[unlikely]]
      write_dump();
  }

  // Plain frames.
  void adopt(frame& f);
  void release(frame& f) noexcept;
  [[nodiscard]] bool has(frame& f);
  [[nodiscard]] std::vector<frame*> plain_frames();
  void describe(wait_table table);

 private:
  [[nodiscard]] bool walk(std::vector<suspended_task>& found);
  [[nodiscard]] std::vector<suspended_task> walk_all(const quiet_colors* quiet);
  [[nodiscard]] color_statistics statistics_of(const color_record& r) const;
  void write_dump() noexcept;

  const runtime& of_;  ///< the runtime whose sections a dump reads (dump_section.hh)
  worker_set& all_;
  color_runner& colors_;
  posted_calls& posted_;
  std::atomic<bool> asked_{false};
  std::unique_ptr<dump_signal> signal_;
  std::mutex plain_lock_;
  std::unordered_set<frame*> plain_frames_;
  std::vector<wait_table> wait_tables_;
};

}  // namespace heddle
