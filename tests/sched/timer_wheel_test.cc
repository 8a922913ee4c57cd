// SPDX-License-Identifier: MIT
// The wheel alone: whatever is armed fires in order of time, and ties in the order of arming.
#include "heddle/sched/detail/timer_wheel.hh"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <random>
#include <vector>

#include "support/test.hh"

using namespace heddle;
using namespace std::chrono_literals;

namespace {

struct numbered_timer : timer_node {
  numbered_timer() noexcept : timer_node([](timer_node&, worker&) noexcept {}) {}
  int number = 0;
};

struct armed_timers {
  explicit armed_timers(std::size_t count) : nodes(new numbered_timer[count]) {}

  void arm(std::size_t i, time_point due) {
    nodes[i].number = static_cast<int>(i);
    wheel.arm(nodes[i], due);
    expected.emplace_back(due, static_cast<int>(i));
  }
  std::vector<std::pair<time_point, int>> fire_all(time_point now) {
    std::vector<std::pair<time_point, int>> fired;
    wheel.expire(
        now,
        [](timer_node& node, void* out) noexcept {
          static_cast<std::vector<std::pair<time_point, int>>*>(out)->emplace_back(
              node.due(), static_cast<numbered_timer&>(node).number);
        },
        &fired);
    return fired;
  }

  timer_wheel wheel{time_point(1s)};
  std::unique_ptr<numbered_timer[]> nodes;
  std::vector<std::pair<time_point, int>> expected;
};

}  // namespace

HEDDLE_TEST(timer_wheel, "timers fire in order, and ties in the order of arming") {
  std::mt19937 random(20261123);
  for (const int spread_ns : {1, 50, 60'000, 1'000'000, 100'000'000}) {
    armed_timers timers(2000);
    for (std::size_t i = 0; i != 2000; ++i)
      timers.arm(i, time_point(2s + std::chrono::nanoseconds(random() % unsigned(spread_ns))));
    std::ranges::sort(timers.expected);  // numbered as they were armed
    EXPECT_EQ(timers.fire_all(time_point(3s)), timers.expected) << spread_ns;
  }
}

HEDDLE_TEST(timer_wheel, "many that are armed latest first take no longer than sorting them") {
  constexpr std::size_t count = 200'000;
  armed_timers timers(count);
  for (std::size_t i = 0; i != count; ++i)
    timers.arm(i, time_point(2s - std::chrono::nanoseconds(i % 60'000)));
  std::ranges::sort(timers.expected);       // numbered as they were armed
  const std::clock_t begin = std::clock();  // processor time, whatever else the machine does
  EXPECT_EQ(timers.fire_all(time_point(3s)), timers.expected);
  const double took_s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_LT(took_s, 2);  // sorted by insertion it took 9 s
}
