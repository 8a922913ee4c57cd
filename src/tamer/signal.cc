// SPDX-License-Identifier: MIT
// Signals: one task for each that has listeners. It keeps the signal from its default action
// until the functions that it woke have had their turn, so that a signal that comes while they arm
// it again is not lost (rule D5).
#include <algorithm>
#include <map>
#include <vector>

#include "heddle/core/callback.hh"
#include "heddle/core/start.hh"
#include "heddle/core/yield.hh"
#include "heddle/io/signal.hh"
#include "tamer/driver.hh"

namespace tamer {
namespace {

struct listener {
  std::vector<event<>> foreground;
  std::vector<event<>> background;
  heddle::rendezvous<> life;  ///< clearing it ends the task
  bool runs = false;
  bool firing = false;

  [[nodiscard]] static bool any(std::vector<event<>>& of) {
    std::erase_if(of, [](const event<>& e) { return e.empty(); });
    return !of.empty();
  }
  [[nodiscard]] bool wanted() { return any(foreground) || any(background); }
};

listener& listener_of(int signal) {
  static auto& all = *new std::map<int, listener>;  // outlives static events
  return all[signal];
}

heddle::task<> listen(int signal) {
  listener& l = listener_of(signal);
  heddle::signal_set set{signal};
  while (true) {
    set.set_background(!listener::any(l.foreground));
    static_cast<void>(co_await set.next());
    l.firing = true;
    std::vector<event<>> now;
    now.swap(l.foreground);
    now.insert(now.end(), l.background.begin(), l.background.end());
    l.background.clear();
    for (event<>& e : now) e.trigger();
    // Let the functions that wait for these events run: they may arm the signal again.
    for (int turns = 0; turns < 2; ++turns) co_await heddle::yield();
    l.firing = false;
    if (!l.wanted()) break;
  }
  l.runs = false;
}

void begin(int signal) {
  listener& l = listener_of(signal);
  l.runs = true;
  heddle::start(listen(signal), l.life.make_event());
}

}  // namespace

void at_signal(int signal, event<> e, signal_flags flags) {
  if (!e) return;
  listener& l = listener_of(signal);
  const bool in_background = (flags & signal_background) != 0;
  const bool was_foreground = listener::any(l.foreground);
  (in_background ? l.background : l.foreground).push_back(e);
  // After the last listener has ended, the loop need not wait for the signal.
  e.at_trigger(heddle::function_event<>([signal] {
    listener& here = listener_of(signal);
    if (!here.runs || here.firing || here.wanted()) return;
    here.runs = false;
    here.life.clear();
  }));
  if (l.runs && !l.firing && !in_background && !was_foreground) {
    l.life.clear();  // the task waits in the background: begin again, in the foreground
    l.runs = false;
  }
  if (!l.runs) begin(signal);
}

}  // namespace tamer
