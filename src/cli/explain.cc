// SPDX-License-Identifier: MIT
// heddle explain NAME: prints the page on one diagnostic, or the list of hooked calls.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string_view>

#include "cli/verbs.hh"
#include "draft/tool.hh"
#include "heddle/fiber/hook.hh"
#include "tame/explain.hh"

namespace heddle::cli {
namespace {

struct page {
  std::string_view name;
  std::string_view text;
};

constexpr page pages[] = {
    {"abandoned-event",
     "The last handle of an event was destroyed while the event was still expected, so it can no\n"
     "longer be triggered. The event fires without values, its waiter continues with its slots\n"
     "unchanged, and the report names the line that made the event and the line that waits.\n\n"
     "Usual cause: a function that takes an event returns on some path without triggering it.\n"
     "Trigger it on every path, or call unblock() where there is no value.\n"},
    {"double-trigger",
     "An event that has happened was triggered again. The second trigger does nothing; slots\n"
     "keep the first values. The report names the line that made the event and the line of the\n"
     "second trigger. Off unless asked for: HEDDLE_DIAGNOSTICS=double-trigger=report.\n\n"
     "If either of two sources may come first, test the event before triggering, or give each\n"
     "source an event of its own on one rendezvous.\n"},
    {"two-waiters",
     "Two functions wait on one rendezvous. The second gets std::logic_error, because it would\n"
     "be chance which of them an event wakes.\n\n"
     "Give each function a rendezvous of its own, and trigger two events.\n"},
    {"leftover-events",
     "A rendezvous ended while events made on it were still expected; they became empty, and\n"
     "later triggers do nothing. Off unless asked for:\n"
     "HEDDLE_DIAGNOSTICS=leftover-events=report.\n\n"
     "Wait for them, or call clear() to say that they do not matter.\n"},
    {"unhandled-exception",
     "A task ended with an exception, and no other task joins it. The report shows the lines\n"
     "at which the tasks that the exception left waited last, innermost first. The runtime\n"
     "continues.\n\n"
     "Catch it in the task, or spawn the task into a scope: the scope's join rethrows it.\n"},
    {"lost-peer",
     "A task ended with connection_reset, broken_pipe or connection_aborted, and no other task\n"
     "joins it. A peer may end its connection at any time, so this is no mistake of the program.\n"
     "Off unless asked for: HEDDLE_DIAGNOSTICS=lost-peer=report.\n\n"
     "Catch std::system_error in the task if it has to clean up.\n"},
    {"failed-handler",
     "A handler of HTTP requests ended with an exception that is no http::status_error. The "
     "client\n"
     "got the status 500, or the answer was cut if it had begun. The report has the request, the\n"
     "exception's text, and the lines at which the tasks it left waited last.\n\n"
     "Catch the exception in the handler, or throw http::status_error for an answer of your own.\n"
     "http::server_options::failed gets the request and the exception.\n\n"
     "A procedure of an RPC server that throws is reported under the same name: its client got\n"
     "SYSTEM_ERR. Catch the exception in the procedure, and return a result that says why.\n"},
    {"leaked-memory",
     "Frames, events or tasks were still in use when the runtime ended: a handle outlives the\n"
     "runtime, or a task did not end within runtime_options::drain_timeout after it was asked "
     "to.\n\n"
     "runtime::dump() before the end shows where tasks wait.\n"},
    {"blocking-pile-up",
     "A call has waited longer than driver_options::pool_wait_report for a thread of the pool for\n"
     "calls that block: all threads are busy. The report says how many calls wait and which line\n"
     "has waited longest, and lists the calls that have run longest, by line and age. It comes\n"
     "again each time that the longest wait has doubled.\n\n"
     "Make the calls shorter, limit how many are made at once, or raise\n"
     "driver_options::pool_threads_max. blocking_statistics() has the waiting times.\n"},
    {"slow-handler",
     "A function ran for longer than runtime_options::slow_handler without a wait, so the other\n"
     "functions of its worker had to wait. The report has the line at which it resumed. If a\n"
     "handler of HTTP requests took most of the time, the report names the handler and the line\n"
     "that gave it to the server. Each line is reported at most once a second. The time is the\n"
     "clock's: it includes the time that the system gave to other threads.\n\n"
     "co_await yield() within long work, give it to blocking(), or to a color of its own, which\n"
     "another worker can run.\n"},
    {"wrong-color",
     "A checked<T>, a lock, a channel or another object of one color was used in another color\n"
     "than the one that owns it. The report has the line of the first use, which made the owner,\n"
     "and the line of this one. With several workers the object may be damaged afterwards.\n\n"
     "Send a message to its color (post), or co_await enter() it before the use. Across colors\n"
     "work shared_channel and transactions (atomically).\n"},
    {"freed-twice",
     "More frames, events or tasks were freed than made, seen when the runtime ended. The memory\n"
     "of the program can no longer be trusted.\n\n"
     "Usual cause: GCC 12 compiles `co_await (a ? f() : g())`, and any call around the two that\n"
     "is awaited, so that their temporaries are destroyed twice. Write `task<int> t = a ? f() :\n"
     "g();` first, or build with Clang. A build with -fsanitize=address shows other causes.\n"},
};

int print_hooks() {
  std::printf(
      "hooks\n\n"
      "In a program that links heddle::hook, inside a fiber that was started with\n"
      "fiber_options{.hooks = true}, these calls of the C library wait without blocking the "
      "worker:\n"
      "\n");
  for (const hooked_call& call : hooked_calls)
    if (call.covered)
      std::printf("  %-16.*s  %.*s\n", static_cast<int>(call.name.size()), call.name.data(),
                  static_cast<int>(call.how.size()), call.how.data());
  std::printf("\nNot covered:\n\n");
  for (const hooked_call& call : hooked_calls)
    if (!call.covered)
      std::printf("  %.*s\n      %.*s\n", static_cast<int>(call.name.size()), call.name.data(),
                  static_cast<int>(call.how.size()), call.how.data());
  std::printf(
      "\nA call that is cancelled fails with ECANCELED. Descriptors that were made non-blocking, "
      "and\n"
      "calls with MSG_DONTWAIT, behave as usual, as do all calls outside of such fibers.\n"
      "What is not covered can run in the pool: blocking(f, args...).\n");
  return 0;
}

/// Prints the names, each with the first sentence of its page.
int print_names() {
  std::printf("heddle explain NAME: what a report means, and what to do about it\n\n");
  for (const page& p : pages) {
    std::string first(p.text.substr(0, p.text.find_first_of(".,;:")));
    std::ranges::replace(first, '\n', ' ');
    std::printf("  %-20.*s  %s\n", static_cast<int>(p.name.size()), p.name.data(), first.c_str());
  }
  std::printf("  %-20s  %s\n", "hooks", "Calls of the C library that wait without blocking");
  return 0;
}

int run(const std::string& name) {
  if (name.empty()) return print_names();
  if (name == "hooks") return print_hooks();
  for (const page& p : pages) {
    if (p.name != name) continue;
    std::printf("%.*s\n\n%.*s", static_cast<int>(p.name.size()), p.name.data(),
                static_cast<int>(p.text.size()), p.text.data());
    return 0;
  }
  if (const std::string text = draft::explain(name); !text.empty()) {
    std::fputs(text.c_str(), stdout);
    return 0;
  }
  if (const std::string_view text = tame::explain(name); !text.empty()) {
    std::printf("%s\n\n%.*s", name.c_str(), static_cast<int>(text.size()), text.data());
    return 0;
  }
  std::string known;
  for (const page& p : pages) (known += known.empty() ? "" : ", ") += p.name;
  print_error("there is no page '" + name + "'",
              "a number of heddle draft (D0301) or heddle tame (T0203) has a page, too; the "
              "diagnostics are " +
                  known + "; and hooks");
  return 2;
}

}  // namespace

verb_function add_explain(command& verb) {
  auto name = std::make_shared<std::string>();
  verb.add_options({{"NAME", name.get(),
                     "The diagnostic, as a report names it; or: hooks; without it, the list"}});
  return [name] { return run(*name); };
}

}  // namespace heddle::cli
