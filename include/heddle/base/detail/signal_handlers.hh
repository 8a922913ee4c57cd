// SPDX-License-Identifier: MIT
// Handlers of signals, for the parts of the library that have some: dumps on SIGQUIT, and programs
// that listen to signals. Each part keeps the actions that it replaced. A later part may take over
// a signal of an earlier one, and gives it back.
//
//   handler   runs with all signals blocked, on any thread, and may read atomics only
//   changes   the caller holds off handlers on its thread, and a lock of its own; before it frees
//             data of a handler, it removes them from the handler's sight, then waits until no
//             handler runs
//
// For the library itself, not for programs: it may change in any version.
#pragma once

#include <cstddef>

namespace heddle::detail {

/// A part of the library that handles signals.
enum class signal_part : unsigned char { dumps, listeners };

/// A signal as its handler gets it.
struct signal_arrival {
  int number;
  bool by_timer;      ///< a timer sent it
  void* timer_value;  ///< the timer's sigev_value, if it was one
  void* interrupted;  ///< the registers of the interrupted function
};

/// The fate of a signal after its handler has run.
enum class signal_fate : unsigned char {
  taken,
  raised_again,  ///< for the action before, which is back already
  given_back,    ///< the action before is put back, and gets the signal
};

using signal_function = signal_fate(const signal_arrival& came) noexcept;

constexpr int signal_numbers = 64;  // 1 to 64

/// While such an object exists, its thread runs no handler of any signal, and threads that it makes
/// begin so, too. A handler could raise its signal again and again and so keep this thread from
/// putting the signal's action back.
class signals_held_off {
 public:
  signals_held_off() noexcept;
  signals_held_off(const signals_held_off&) = delete;
  ~signals_held_off();

 private:
  alignas(std::max_align_t) std::byte before_[128];  // the thread's mask
};

/// Replaces the signal's action; returns 0 or -errno. A part has one handler for all its signals.
[[nodiscard]] int install_handler(signal_part of, int number, signal_function* handler) noexcept;
/// Installs the handler if the signal has its default action or is ignored. A handler that the
/// program has installed stays.
void install_handler_if_free(signal_part of, int number, signal_function* handler) noexcept;
/// Puts back the action that install_handler() replaced, unless the program has changed it since.
/// `pending`: signals that have not been handled yet are kept for that action, else dropped.
void restore_action(signal_part of, int number, bool pending) noexcept;
/// Waits until no handler of the part runs.
void wait_for_handlers(signal_part of) noexcept;

}  // namespace heddle::detail
