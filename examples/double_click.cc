// SPDX-License-Identifier: MIT
// A complex event is a task. Clicks come as raises of a topic, at the milliseconds that the
// arguments give; a task that waits for two of them within 300 ms raises another topic. Clicks on
// the border are filtered out before any handler runs; a guard lets one handler see right clicks.
//   double_click 0 120 900 1000+ 1700      (+: with the right button; -: on the border)
#include <cstdio>
#include <cstdlib>

#include "heddle/bus/bus.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/sleep.hh"
#include "heddle/sched/runtime.hh"

using namespace heddle;
using namespace std::chrono_literals;

struct click {
  int at_ms = 0;
  bool right = false;
  bool on_border = false;
};
struct clicked : topic<const click&> {};
struct double_clicked : topic<int, int> {};

// next() would miss the second click if it came before the task waits again; each() queues it.
task<> find_double_clicks(bus& b) {
  auto clicks = b.each<clicked>(16);
  for (;;) {
    const click first = co_await clicks.next();
    const auto second = co_await as_expected(with_timeout(clicks.next(), 300ms));
    if (second) b.raise<double_clicked>(first.at_ms, second->at_ms);
  }
}

task<> play(bus& b, int count, char** texts) {
  scope watchers;
  watchers.spawn(find_double_clicks(b));
  int now_ms = 0;
  for (int i = 0; i < count; ++i) {
    char* end = nullptr;
    const int at_ms = static_cast<int>(std::strtol(texts[i], &end, 10));
    co_await sleep_for(std::chrono::milliseconds(at_ms - now_ms));
    now_ms = at_ms;
    b.raise<clicked>(click{at_ms, *end == '+', *end == '-'});
  }
  co_await sleep_for(10ms);  // the watcher runs after the raise
  watchers.cancel();
  const auto ended = co_await as_expected(watchers.join());
  static_cast<void>(ended);
}

int main(int argc, char** argv) {
  runtime rt;
  bus b;
  b.filter<clicked>([](const click& c) { return c.on_border ? flow::halt : flow::go_on; });
  b.bind<clicked>([](const click& c) { std::printf("click at %d\n", c.at_ms); });
  b.bind_if<clicked>([](const click& c) { return c.right; },
                     [](const click&) { std::puts("  menu"); }, 10);
  b.bind<double_clicked>(
      [](int first, int second) { std::printf("  double click: %d and %d\n", first, second); });
  rt.run(play(b, argc - 1, argv + 1));
}
