// SPDX-License-Identifier: MIT
// The loop, the clock, timers, signals and descriptors of tamer, on one Heddle runtime. It has one
// worker unless the program asks for several. Build it with tamer::initialize(), run it with
// tamer::loop(), end it with tamer::cleanup().
#pragma once

#include <sys/time.h>

#include <csignal>
#include <string>
#include <vector>

#include "heddle/core/sleep.hh"
#include "heddle/sched/runtime.hh"
#include "tamer/event.hh"

namespace tamer {

enum time_type { time_normal, time_virtual };
enum signal_flags { signal_default = 0, signal_background = 1 };
enum init_flags : int {
  init_default = 0,
  use_tamer = 1,
  use_libevent = 2,
  use_libev = 4,
  keep_sigpipe = 0x1000,
  no_fast = 0x2000,
  several_workers = 0x4000,  ///< HEDDLE_WORKERS counts: the program names colors (color.hh)
};

namespace outcome {
constexpr int success = 0;
constexpr int cancel = -ECANCELED;
constexpr int timeout = -ETIMEDOUT;
constexpr int signal = -EINTR;
constexpr int overflow = -EOVERFLOW;
constexpr int closed = -EPIPE;
constexpr int toobig = -E2BIG;
}  // namespace outcome

/// Makes the runtime of this program; HEDDLE_DRIVER or TAMER_DRIVER chooses its driver. Does
/// nothing when there is one. `flags` says whether SIGPIPE keeps its action, and whether the
/// program is ready for several workers; without several_workers, HEDDLE_WORKERS has no effect, and
/// a line on standard error says so. With several workers, a child process after fork() may only
/// exec.
void initialize(int flags = init_default);
/// Ends every function that waits, empties every event, and ends the runtime.
void cleanup();
/// Runs until no timer, signal, descriptor or asap event is left, or until break_loop(). Rethrows
/// an exception that leaves a function of the loop.
void loop();
/// Runs one turn of the first worker. If nothing is ready, it first sleeps once, as loop() would.
void once();
void break_loop();
[[nodiscard]] bool initialized() noexcept;

/// Virtual time begins at 1,000,000,000 s, advances by a microsecond in each turn of the loop and
/// at each reading by the program (now, dnow, set_recent), and jumps to the next timer where the
/// loop would sleep. Choose it before anything waits. Virtual time has one worker.
void set_time_type(time_type t);
/// Wall time; recent() is that of the last turn or reading.
[[nodiscard]] const timeval& now();
[[nodiscard]] const timeval& recent();
[[nodiscard]] double dnow();
[[nodiscard]] double drecent();
void set_recent();

/// Fires e once. The delay counts from recent(); a delay of zero or less means asap.
void at_delay(double seconds, event<> e, bool background = false);
void at_delay(timeval delay, event<> e, bool background = false);
void at_delay_sec(int seconds, event<> e, bool background = false);
void at_delay_msec(int milliseconds, event<> e, bool background = false);
void at_delay_usec(int microseconds, event<> e, bool background = false);
void at_time(double seconds, event<> e, bool background = false);
void at_time(timeval when, event<> e, bool background = false);
inline void at_asap(event<> e) { heddle::asap(std::move(e)); }
/// Fires e once, before the loop sleeps next. If a function that e resumed arms another event, that
/// one belongs to the sleep after it.
void at_preblock(event<> e);
void at_signal(int signal, event<> e, signal_flags flags = signal_default);
/// An int result is 0 when the descriptor is ready, -EPIPE when the peer hung up, and -ECANCELED
/// when the descriptor was closed.
void at_fd_read(int fd, event<> e);
void at_fd_read(int fd, event<int> e);
void at_fd_write(int fd, event<> e);
void at_fd_write(int fd, event<int> e);
/// Fires e when the peer has shut its side down; not on data.
void at_fd_shutdown(int fd, event<> e);

/// The loop as an object. There is one: driver::main.
class driver {
 public:
  using error_handler = void (*)(int fd, int error, std::string message);

  static driver* main;

  void loop() { tamer::loop(); }
  void once() { tamer::once(); }
  void break_loop() { tamer::break_loop(); }
  void at_delay(double seconds, event<> e, bool background = false) {
    tamer::at_delay(seconds, std::move(e), background);
  }
  void at_delay(timeval delay, event<> e, bool background = false) {
    tamer::at_delay(delay, std::move(e), background);
  }
  void at_time(double when, event<> e, bool background = false) {
    tamer::at_time(when, std::move(e), background);
  }
  void at_asap(event<> e) { tamer::at_asap(std::move(e)); }
  void at_preblock(event<> e) { tamer::at_preblock(std::move(e)); }
  void at_fd_read(int fd, event<> e) { tamer::at_fd_read(fd, std::move(e)); }
  void at_fd_read(int fd, event<int> e) { tamer::at_fd_read(fd, std::move(e)); }
  void at_fd_write(int fd, event<> e) { tamer::at_fd_write(fd, std::move(e)); }
  void at_fd_write(int fd, event<int> e) { tamer::at_fd_write(fd, std::move(e)); }
  void kill_fd(int fd);

  /// The limit of the next sleep; `tv_sec` is -1 when there is none.
  [[nodiscard]] timeval next_wake() const;
  /// FILE:LINE of every function that waits, with its description where one is kept. With several
  /// workers, the waits of tasks are among them, and there are no descriptions.
  void blocked_locations(std::vector<std::string>& out) const;
  /// Sets the function that is called for exceptions that no loop rethrows.
  void set_error_handler(error_handler f) { error_ = f; }

  /// The runtime beneath.
  [[nodiscard]] heddle::runtime& beneath() const noexcept;

 private:
  error_handler error_ = nullptr;
};

}  // namespace tamer

// These functions are found by the event's type, because programs name no namespace.
namespace heddle {

using tamer::at_asap;
using tamer::at_delay;
using tamer::at_delay_msec;
using tamer::at_delay_sec;
using tamer::at_delay_usec;
using tamer::at_fd_read;
using tamer::at_fd_shutdown;
using tamer::at_fd_write;
using tamer::at_preblock;
using tamer::at_signal;
using tamer::at_time;

}  // namespace heddle
