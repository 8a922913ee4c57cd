// SPDX-License-Identifier: MIT
// The options of a runtime: its driver, its limits, its workers, and the reports of mistakes.
//
//   runtime rt({.workers = 4, .slow_handler = 10ms});
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "heddle/base/clock.hh"
#include "heddle/core/report.hh"
#include "heddle/sched/driver.hh"
#include "heddle/sched/policy.hh"
#include "heddle/sched/task_policy.hh"

namespace heddle {

class tcp_source;

/// SIGQUIT: Ctrl-\ in a terminal, `kill -QUIT` elsewhere.
inline constexpr int default_dump_signal = 3;

/// Every limit has a default that is safe on a small machine.
struct runtime_options {
  std::string driver;  ///< empty: HEDDLE_DRIVER, else the best that works
  /// Makes each worker's driver instead, for drivers of your own (forwarding_driver.hh).
  driver_factory drivers = {};
  driver_options io = {};
  /// Makes the source of TCP connections of compiled Draft programs and of <tamer/...>
  /// (io/tcp_source.hh), once, in color 0, when such a program starts; empty: the kernel's sockets.
  std::function<std::unique_ptr<tcp_source>()> tcp = {};
  std::size_t memory_bytes = std::size_t{64} << 30;  ///< address space for frames; not memory
  std::size_t posted_max = 65536;  ///< calls of runtime::post() that other threads have waiting
  nanoseconds drain_timeout = std::chrono::seconds(10);  ///< how long shutdown waits for tasks
  std::size_t batch = 256;                               ///< frames between readings of the clock
  nanoseconds poll_interval = std::chrono::microseconds(200);  ///< I/O is polled this often
  bool ignore_sigpipe = true;
  /// On this signal the runtime writes its dump to standard error and goes on; 0: on none.
  int dump_signal = default_dump_signal;
  /// The action for each diagnostic: off, report or abort. HEDDLE_DIAGNOSTICS changes it
  /// ("double-trigger=report,abandoned-event=abort"), and runtime::diagnostics() later.
  diagnostic_switches diagnostics = {};
  /// Gets every diagnostic; empty: one block of text on stderr. With several workers it may be
  /// called on any of them, one call at a time.
  std::function<void(const diagnostic&)> report = {};
  /// Without a hook: how often a diagnostic of one line of the program is printed at most. The
  /// others are counted, and the count is printed with the next report or at the end.
  nanoseconds report_pause = std::chrono::seconds(1);
  std::uint32_t reports_per_second_max = 10;  ///< reports printed, for all lines together

  // Workers and colors.
  unsigned workers =
      0;  ///< threads that run frames; 0: HEDDLE_WORKERS, and without it one; at most
          ///< 64. The simulation runs all of them on one thread, in a seeded order
  std::size_t color_batch = 16;        ///< frames of one color while other colors wait
  std::uint32_t color_places = 65536;  ///< places in the table of colors; at most 65536
  std::function<std::unique_ptr<class policy>()> policy = {};  ///< one for each worker; empty: FIFO
  /// Makes the order of the tasks of a color, one for each worker; empty: FIFO.
  std::function<std::unique_ptr<class task_policy>()> task_policy = {};
  bool stealing = true;  ///< a worker with nothing to do takes colors from one that has more
  nanoseconds steal_after = std::chrono::microseconds(20);  ///< a lone queued color waits at least
                                                            ///< this long before another worker
                                                            ///< may steal it
  nanoseconds spin = std::chrono::microseconds(20);         ///< how long a worker looks for work
                                                            ///< before a sleep, if that paid lately
  bool watch = false;  ///< keep time for each color: reads the clock twice a turn
  /// A frame that runs longer than this is reported (slow-handler), at most once a second for each
  /// line; zero: never. It costs a reading of the clock before and after each frame.
  nanoseconds slow_handler{};
};

}  // namespace heddle
