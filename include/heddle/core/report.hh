// SPDX-License-Identifier: MIT
// Mistakes that the runtime notices and names. Each goes to the runtime's one report hook, with the
// line that made the thing and the line that waits for it. Without a hook the runtime prints it.
#pragma once

#include <array>
#include <atomic>
#include <exception>
#include <span>
#include <string>
#include <string_view>

#include "heddle/base/clock.hh"
#include "heddle/probe/site.hh"

namespace heddle {

enum class diagnostic_kind : std::uint8_t {
  abandoned_event,  ///< the last trigger handle went away while the event was still expected
  double_trigger,   ///< an event that has fired was triggered again (off by default)
  two_waiters,      ///< two functions wait on one rendezvous
  leftover_events,  ///< a scope or rendezvous ended with events that never fired (off by default)
  unhandled_exception,  ///< a task without a joiner, or a posted raise, ended with an exception
  lost_peer,         ///< as unhandled_exception, by a peer that ended a connection (off by default)
  failed_handler,    ///< a handler of requests ended with an exception
  leaked_memory,     ///< cells are still in use when the runtime ends
  blocking_pile_up,  ///< calls wait long for a thread of the blocking pool
  slow_handler,      ///< a frame ran for longer than runtime_options::slow_handler
  wrong_color,       ///< an object of one color was used in another (checked<T>, locks, ...)
  freed_twice,       ///< more cells were freed than made, seen when the runtime ends
};

inline constexpr std::size_t diagnostic_kinds =
    static_cast<std::size_t>(diagnostic_kind::freed_twice) + 1;

/// The diagnostic's name as people type it: "abandoned-event", ...
[[nodiscard]] const char* to_string(diagnostic_kind kind) noexcept;

/// A call that occupies a part of a resource that is used up.
struct resource_holder {
  site at = 0;        ///< the line that waits for the call; 0 if it is not known
  nanoseconds age{};  ///< since the call began to run
};

struct diagnostic {
  diagnostic_kind kind;
  site made = 0;  ///< the line that made the event, task or memory
  /// The line that waits, 0 if none does. For a double trigger, the line that triggered again. For
  /// an abandoned event that no function waits for, the line that made its rendezvous, as
  /// object_made.
  site waits = 0;
  std::size_t count = 1;          ///< how many, for leftovers and leaks
  std::exception_ptr error = {};  ///< for unhandled_exception, lost_peer and failed_handler
  /// Lines where tasks waited last, innermost task first, where known: the tasks that the exception
  /// left, or the tasks that await each other. Valid during the report, as other spans and texts.
  std::span<const site> stack = {};
  nanoseconds took{};      ///< for slow_handler
  const char* topic = "";  ///< for unhandled_exception: the topic of a raise that `made` posted
  /// The object, where the kind leaves that open: "a mutex". For failed_handler, the request's
  /// method and path. For slow_handler, the handler that took the time, if it is known.
  const char* object = "";
  site object_made = 0;                           ///< the line that made that object
  const char* help = "";                          ///< the remedy, where it depends on the object
  std::span<const resource_holder> holders = {};  ///< for blocking_pile_up: the oldest calls
};

/// One line saying what happened, one line a place, and one saying what to do. No final newline.
[[nodiscard]] std::string to_string(const diagnostic& d);

/// The action for a diagnostic.
enum class strictness : std::uint8_t { off, report, abort };

/// The action for each diagnostic. By default all are reported but double triggers and leftover
/// events, which many programs have on purpose, and lost peers, which are no mistake. Thread: any,
/// for each operation.
class diagnostic_switches {
 public:
  diagnostic_switches() noexcept;
  diagnostic_switches(const diagnostic_switches& other) noexcept;
  diagnostic_switches& operator=(const diagnostic_switches& other) noexcept;

  [[nodiscard]] strictness operator[](diagnostic_kind kind) const noexcept {
    return how_[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
  }
  void set(diagnostic_kind kind, strictness how) noexcept {
    how_[static_cast<std::size_t>(kind)].store(how, std::memory_order_relaxed);
  }
  /// "NAME=off|report|abort", several with commas between, "all" for every one. Throws
  /// std::invalid_argument, which says what is wrong, and then changes nothing.
  void change(std::string_view text);

 private:
  std::array<std::atomic<strictness>, diagnostic_kinds> how_;
};

}  // namespace heddle
