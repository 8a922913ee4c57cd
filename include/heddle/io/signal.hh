// SPDX-License-Identifier: MIT
// Signals as something to wait for. While a set exists its signals are blocked and queue up, so
// none is lost between two waits; when the last set for a signal goes, the default action is back.
//
//   signal_set stop{SIGINT, SIGTERM};
//   int which = co_await stop.next();
#pragma once

#include <cstdint>
#include <initializer_list>

#include "heddle/core/task.hh"

namespace heddle {

/// Thread: one color.
/// Cancel: next() ends, and a signal that comes meanwhile stays for the next one.
class signal_set {
 public:
  signal_set(std::initializer_list<int> signals);
  signal_set(const signal_set&) = delete;
  signal_set& operator=(const signal_set&) = delete;
  ~signal_set();

  /// Waiting for these alone is no reason for runtime::run() to go on.
  void set_background(bool on) noexcept { background_ = on; }

  /// The next signal's number.
  [[nodiscard]] task<int> next();

 private:
  int fd_ = -1;
  std::uint64_t mask_ = 0;
  bool background_ = false;
};

}  // namespace heddle
