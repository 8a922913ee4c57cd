// SPDX-License-Identifier: MIT
// SIGINT and SIGTERM for all servers of a program: a signal goes to one signal_set only, so the
// server that gets it tells the others.
#pragma once

#include <csignal>
#include <cstdint>

#include "heddle/core/event.hh"
#include "heddle/io/signal.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::http {

/// Thread: one color. The others of the process, in any runtime and color, only wake next().
class stop_signals {
 public:
  stop_signals();
  stop_signals(const stop_signals&) = delete;
  ~stop_signals();

  /// Gives each signal to all stop_signals of the process, until it is cancelled.
  [[nodiscard]] task<> pass_on();
  /// Ends once for each signal since the construction.
  [[nodiscard]] task<> next();

 private:
  signal_set set_{SIGINT, SIGTERM};
  runtime* runs_in_ = &runtime::here();
  std::uint64_t heard_;
  event<> wake_;        // wakes next()
  bool waits_ = false;  // next() does, and was not told yet
};

}  // namespace heddle::http
