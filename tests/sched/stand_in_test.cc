// SPDX-License-Identifier: MIT
// The order of calls and timers while a worker runs one frame for long, and another worker brings
// some of them to their colors in its place: the first worker brings later ones itself, to a color
// that it holds. Color 0 stays on the first worker here, because a lone color is never stolen.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "heddle/core/sleep.hh"
#include "heddle/core/yield.hh"
#include "heddle/sched/runtime.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

/// Two workers that leave the current color after each frame and poll at once.
runtime_options stand_in_options(const char* driver) {
  runtime_options options;
  options.driver = driver;
  options.workers = 2;
  options.batch = 1;
  options.poll_interval = {};
  options.steal_after = 1h;
  return options;
}

/// Posts to its own color before and after the other worker has brought the first call. That call
/// is in color 0 when a later call runs in color 1, which the other worker runs.
task<> post_twice(runtime& rt, std::vector<int>& seen) {
  std::atomic<bool> brought = false;
  rt.post(color(0), [&] { seen.push_back(1); });
  rt.post(color(1), [&] { brought = true; });
  while (!brought) std::this_thread::yield();
  rt.post(color(0), [&] { seen.push_back(2); });
  while (seen.size() % 2 != 0 || seen.empty()) co_await yield();
}

task<> note_after(nanoseconds span, int number, std::vector<int>& seen) {
  co_await sleep_for(span);
  seen.push_back(number);
}

/// A frame lasts as long as most of the timers of its color.
task<> outlast_timers(std::vector<int>& seen) {
  constexpr int timers = 160;
  scope s;
  for (int i = 0; i != timers; ++i) s.spawn(note_after(1ms + 50us * i, i, seen));
  while (s.live() != timers) co_await yield();
  co_await sleep_for(1us);  // all of them wait
  const time_point end = clock::now() + 7ms;
  while (clock::now() < end) {
  }
  co_await yield();  // something is ready, so the worker fires timers before it takes messages
  co_await s.join();
}

}  // namespace

HEDDLE_TEST(stand_in, "a call does not overtake an earlier one that another worker has brought") {
  for (const char* const driver : {"epoll", "poll"}) {
    for (int round = 0; round != 5; ++round) {
      runtime rt(stand_in_options(driver));
      std::vector<int> seen;
      rt.run(post_twice(rt, seen));
      EXPECT_EQ(seen, (std::vector<int>{1, 2})) << driver;
    }
  }
}

HEDDLE_TEST(stand_in, "a color's timers fire in order, whichever worker brings them") {
  for (int round = 0; round != 5; ++round) {
    runtime rt(stand_in_options("epoll"));
    std::vector<int> seen;
    rt.run(outlast_timers(seen));
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  }
}

}  // namespace heddle::test
