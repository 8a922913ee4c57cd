// SPDX-License-Identifier: MIT
// Signals: one task for each that has listeners. It keeps the signal from its default action
// until the functions that it woke have had their turn, so that a signal that comes while they arm
// it again is not lost (rule D5). All listeners belong to color 0.
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

/// An event that a signal fires, with a number: an event of another color does not tell here
/// whether it has ended.
struct signal_event {
  event<> fires;
  std::uint64_t number;
};

struct listener {
  std::vector<signal_event> foreground;
  std::vector<signal_event> background;
  std::uint64_t last = 0;
  heddle::rendezvous<> life;  ///< clearing it ends the task
  bool runs = false;
  bool firing = false;

  [[nodiscard]] static bool any(std::vector<signal_event>& of) {
    std::erase_if(of, [](const signal_event& e) { return e.fires.empty(); });
    return !of.empty();
  }
  void forget(std::uint64_t number) {
    const auto is_it = [number](const signal_event& e) { return e.number == number; };
    std::erase_if(foreground, is_it);
    std::erase_if(background, is_it);
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
    std::vector<signal_event> now;
    now.swap(l.foreground);
    now.insert(now.end(), l.background.begin(), l.background.end());
    l.background.clear();
    for (signal_event& e : now) e.fires.trigger();
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
  heddle::worker& w = heddle::worker::here();
  if (const std::uint32_t first = w.place_of(0); w.color != first) {
    heddle::send_message(w, first, [signal, e = std::move(e), flags]() mutable {
      at_signal(signal, std::move(e), flags);
    });
    return;
  }
  listener& l = listener_of(signal);
  const std::uint64_t number = ++l.last;
  const bool in_background = (flags & signal_background) != 0;
  const bool was_foreground = listener::any(l.foreground);
  (in_background ? l.background : l.foreground).push_back({e, number});
  // After the last listener has ended, the loop need not wait for the signal.
  e.at_trigger(heddle::function_event<>([signal, number] {
    listener& here = listener_of(signal);
    here.forget(number);
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
