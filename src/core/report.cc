// SPDX-License-Identifier: MIT
// What a diagnostic says to a person.
#include "heddle/core/report.hh"

#include <stdexcept>
#include <string>

namespace heddle {
namespace {

struct words {
  const char* name;
  const char* what;
  const char* made;
  const char* help;
};

words words_of(diagnostic_kind kind) {
  switch (kind) {
    case diagnostic_kind::abandoned_event:
      return {"abandoned-event", "the last handle of an event went away before it was triggered",
              "made at", "keep a copy of the event until it is triggered, or unblock it"};
    case diagnostic_kind::double_trigger:
      return {"double-trigger", "an event that has happened was triggered again", "made at",
              "trigger once; test the event first if either of two may come"};
    case diagnostic_kind::two_waiters:
      return {"two-waiters", "two functions wait on one rendezvous", "second at",
              "give each function its own rendezvous and trigger two events"};
    case diagnostic_kind::leftover_events:
      return {"leftover-events", "a rendezvous ended while events were expected", "made at",
              "wait for them, or clear() the rendezvous to say that they do not matter"};
    case diagnostic_kind::unhandled_exception:
      return {"unhandled-exception", "a task that nobody joins ended with an exception",
              "last waited at", "catch it in the task, or spawn the task into a scope"};
    case diagnostic_kind::leaked_memory:
      return {"leaked-memory", "frames or events are still in use when the runtime ends",
              "first made at", "end tasks and drop events before the runtime goes"};
    case diagnostic_kind::blocking_pile_up:
      return {"blocking-pile-up", "blocking calls wait long for a thread of the pool", "first at",
              "make the calls shorter, or raise driver_options::pool_threads_max"};
    case diagnostic_kind::slow_handler:
      return {"slow-handler", "a function kept its worker for long", "went on at",
              "yield() within long work, or give it to blocking() or to a color of its own"};
    case diagnostic_kind::wrong_color:
      return {"wrong-color", "a value of one color was touched in another", "first touched at",
              "send a message to its color, or co_await enter() it before the touch"};
    case diagnostic_kind::freed_twice:
      return {
          "freed-twice", "frames or events were destroyed that had already gone", "made at",
          "with GCC 12, name a task before `co_await (a ? f() : g())`: docs/guide/compilers.md"};
  }
  return {"unknown", "unknown", "at", ""};
}

std::string describe(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

}  // namespace

const char* to_string(diagnostic_kind kind) noexcept { return words_of(kind).name; }

diagnostic_switches::diagnostic_switches() noexcept {
  for (auto& how : how_) how.store(strictness::report, std::memory_order_relaxed);
  set(diagnostic_kind::double_trigger, strictness::off);
  set(diagnostic_kind::leftover_events, strictness::off);
}

diagnostic_switches::diagnostic_switches(const diagnostic_switches& other) noexcept {
  *this = other;
}

diagnostic_switches& diagnostic_switches::operator=(const diagnostic_switches& other) noexcept {
  for (std::size_t i = 0; i != diagnostic_kinds; ++i) {
    const auto kind = static_cast<diagnostic_kind>(i);
    set(kind, other[kind]);
  }
  return *this;
}

void diagnostic_switches::change(std::string_view text) {
  diagnostic_switches changed = *this;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(entry.size() + 1, text.size()));
    const std::size_t sign = entry.find('=');
    const std::string_view name = entry.substr(0, sign);
    const std::string_view value =
        sign == std::string_view::npos ? std::string_view() : entry.substr(sign + 1);
    if (value != "off" && value != "report" && value != "abort")
      throw std::invalid_argument("diagnostics: '" + std::string(entry) +
                                  "' is not NAME=off, NAME=report or NAME=abort");
    const strictness how = value == "off"      ? strictness::off
                           : value == "report" ? strictness::report
                                               : strictness::abort;
    bool known = false;
    std::string names;
    for (std::size_t i = 0; i != diagnostic_kinds; ++i) {
      const auto kind = static_cast<diagnostic_kind>(i);
      (names += ", ") += to_string(kind);
      if (name != "all" && name != to_string(kind)) continue;
      changed.set(kind, how);
      known = true;
    }
    if (!known)
      throw std::invalid_argument("diagnostics: there is no '" + std::string(name) +
                                  "'; there are: all" + names);
  }
  *this = changed;
}

std::string to_string(const diagnostic& d) {
  const words say = words_of(d.kind);
  std::string text = std::string("heddle: ") + say.name + ": " + say.what;
  if (d.count > 1) text += " (" + std::to_string(d.count) + ")";
  if (d.error) text += ": " + describe(d.error);
  if (d.took != nanoseconds::zero()) text += ": " + std::to_string(d.took.count() / 1000) + " us";
  if (d.made != 0) text += std::string("\n  ") + say.made + " " + to_string(resolve_site(d.made));
  if (d.waits != 0)
    text +=
        std::string(d.kind == diagnostic_kind::wrong_color ? "\n  touched at " : "\n  waits at ") +
        to_string(resolve_site(d.waits));
  for (const site s : d.stack) {
    const source_line where = resolve_site(s);
    text += "\n  in " + function_name(where) + " at " + to_string(where);
  }
  return text + "\n  help: " + say.help;
}

}  // namespace heddle
