// SPDX-License-Identifier: MIT
// The text of a diagnostic, for a person.
#include "heddle/core/report.hh"

#include <stdexcept>
#include <string>

#include "heddle/core/exception_lines.hh"

namespace heddle {
namespace {

struct words {
  const char* name;
  const char* what;
  const char* made;
  const char* help;
  const char* second = "waits at";
};

words words_of(diagnostic_kind kind) {
  switch (kind) {
    case diagnostic_kind::abandoned_event:
      return {"abandoned-event", "the last handle of an event went away before it was triggered",
              "made at", "keep a copy of the event until it is triggered, or unblock it"};
    case diagnostic_kind::double_trigger:
      return {"double-trigger", "an event that has happened was triggered again", "made at",
              "trigger once; test the event first if either of two may come", "triggered again at"};
    case diagnostic_kind::two_waiters:
      return {"two-waiters", "two functions wait on one rendezvous", "second at",
              "give each function its own rendezvous and trigger two events"};
    case diagnostic_kind::leftover_events:
      return {"leftover-events", "a rendezvous ended while events were expected", "made at",
              "wait for them, or clear() the rendezvous to say that they do not matter",
              "the rendezvous was made at"};
    case diagnostic_kind::unhandled_exception:
      return {"unhandled-exception", "a task that nobody joins ended with an exception",
              "last waited at", "catch it in the task, or spawn the task into a scope"};
    case diagnostic_kind::lost_peer:
      return {"lost-peer",
              "a task without a joiner ended with an error, because the peer closed its connection",
              "last waited at", "catch std::system_error in the task if it has to clean up"};
    case diagnostic_kind::failed_handler:
      return {"failed-handler", "the handler of a request ended with an exception",
              "last waited at",
              "catch it in the handler, or throw http::status_error for an answer of your own"};
    case diagnostic_kind::leaked_memory:
      return {"leaked-memory", "frames or events are still in use when the runtime ends",
              "first made at", "end tasks and drop events before the runtime goes"};
    case diagnostic_kind::blocking_pile_up:
      return {"blocking-pile-up", "blocking calls wait long for a thread of the pool", "first at",
              "make the calls shorter, or raise driver_options::pool_threads_max, or for "
              "names lookup_threads_max"};
    case diagnostic_kind::slow_handler:
      return {"slow-handler", "a function kept its worker for long", "went on at",
              "yield() within long work, or give it to blocking() or to a color of its own"};
    case diagnostic_kind::wrong_color:
      return {"wrong-color", "a value of one color was used in another", "first used at",
              "send a message to its color, or co_await enter() it before the use", "used at"};
    case diagnostic_kind::freed_twice:
      return {
          "freed-twice", "more frames or events were freed than made", "made at",
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

/// One task of a stack.
std::string task_line(site s) {
  if (s == detail::tasks_between) return "\n  (further tasks that are not listed)";
  if (s == 0) return "\n  in a task that had not waited yet";
  const source_line where = resolve_site(s);
  return "\n  in " + function_name(where) + " at " + to_string(where);
}

/// The exception of a posted raise, which has no task.
std::string describe_raise(const diagnostic& d, const char* name) {
  std::string text = std::string("heddle: ") + name + ": a posted raise of " + d.topic +
                     " ended with an exception";
  if (d.error) text += ": " + describe(d.error);
  if (d.made != 0) text += "\n  posted at " + to_string(resolve_site(d.made));
  return text + "\n  help: catch it in the handler of the topic that throws it";
}

}  // namespace

const char* to_string(diagnostic_kind kind) noexcept { return words_of(kind).name; }

diagnostic_switches::diagnostic_switches() noexcept {
  for (auto& how : how_) how.store(strictness::report, std::memory_order_relaxed);
  set(diagnostic_kind::double_trigger, strictness::off);
  set(diagnostic_kind::leftover_events, strictness::off);
  set(diagnostic_kind::lost_peer, strictness::off);
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
  if (*d.topic != '\0') return describe_raise(d, say.name);
  std::string text = std::string("heddle: ") + say.name + ": ";
  text += d.kind == diagnostic_kind::wrong_color && *d.object != '\0'
              ? d.object + std::string(" of one color was used in another")
              : say.what;
  if (d.count > 1) text += " (" + std::to_string(d.count) + ")";
  if (d.kind == diagnostic_kind::failed_handler && *d.object != '\0') (text += ": ") += d.object;
  if (d.error) text += ": " + describe(d.error);
  if (d.took != nanoseconds::zero()) text += ": " + std::to_string(d.took.count() / 1000) + " us";
  const auto add_line = [&text](const char* what, site at) {
    if (at != 0) text += std::string("\n  ") + what + " " + to_string(resolve_site(at));
  };
  const bool of_handler =
      d.kind == diagnostic_kind::slow_handler || d.kind == diagnostic_kind::failed_handler;
  if (d.kind == diagnostic_kind::slow_handler && *d.object != '\0')
    (text += "\n  in the handler ") += d.object;
  if (of_handler) add_line("handler given at", d.object_made);
  const bool awaited = d.kind != diagnostic_kind::abandoned_event || d.object_made == 0;
  if (awaited && !of_handler) add_line("made at", d.object_made);
  add_line(say.made, d.made);
  add_line(awaited ? say.second : "no function waits; what expects it was made at", d.waits);
  for (const site s : d.stack) text += task_line(s);
  for (const resource_holder& h : d.holders)
    text += "\n  running for " + std::to_string(h.age.count() / 1'000'000) + " ms: " +
            (h.at == 0 ? "a call whose line is not known" : "the call at " + describe_site(h.at));
  return text + "\n  help: " + (*d.help == '\0' ? say.help : d.help);
}

}  // namespace heddle
