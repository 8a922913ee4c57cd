// SPDX-License-Identifier: MIT
// The signal on which a running program writes its dump (runtime_options::dump_signal). The handler
// notes the request in each runtime of the process that has this signal and wakes its workers; the
// first worker that comes to the end of a frame writes. If none does within a quarter of a second,
// the handler runs once more and says what they run, with calls that a handler may make.
//
// The handler takes the place of the default action or of SIG_IGN only. A handler that the program
// has installed stays, and a signal_set takes ours over and gives it back. The process's first
// runtime installs the handler, and the end of the process puts the action before back; a signal
// that comes while there is no runtime gets that action, too. The handler makes the timer. So a
// later runtime only asks the kernel whether the handler is still there.
#pragma once

#include <sys/types.h>

#include <atomic>

namespace heddle {

class inspection;

/// Writes the dumps that the signal asks for, while it exists. Thread: any may build and destroy
/// it.
class dump_signal {
 public:
  /// The runtime must have its workers already, because the handler may run at once.
  dump_signal(inspection& asked, int number);
  dump_signal(const dump_signal&) = delete;
  ~dump_signal();

  /// Stops the timer, because the request has been answered. Thread: any.
  void answered() noexcept;

 private:
  friend struct dump_signal_handler;
  inspection& asked_;
  const int number_;
  const pid_t process_;
  // The kernel's number of the timer, or one of:
  static constexpr int no_timer = -1;
  static constexpr int timer_begins = -2;  // a handler makes it
  std::atomic<int> late_{no_timer};
  std::atomic<dump_signal*> next_{nullptr};
};

}  // namespace heddle
