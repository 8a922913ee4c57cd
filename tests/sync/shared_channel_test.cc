// SPDX-License-Identifier: MIT
// A channel whose ends are in other colors, with one worker, simulated workers and threads.
#include "heddle/sync/shared_channel.hh"

#include <numeric>

#include "heddle/core/deadline.hh"
#include "heddle/core/yield.hh"
#include "heddle/sched/runtime.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

void in_three_worlds(void (*body)(runtime&)) {
  runtime_options options;
  options.workers = 1;
  {
    runtime rt(std::make_unique<virtual_driver>(), options);
    body(rt);
  }
  options.workers = 3;
  {
    runtime rt(std::make_unique<virtual_driver>(), options);
    body(rt);
  }
  options.driver = "epoll";
  runtime rt(options);
  body(rt);
}

task<> give(shared_channel<int>& to, int first, int count) {
  for (int i = 0; i != count; ++i) co_await to.push(first + i);
}
task<> take(shared_channel<int>& from, long& sum, int& last_of_first) {
  while (const auto n = co_await from.pop()) {
    sum += *n;
    if (*n < 1000) {
      EXPECT_GT(*n, last_of_first);  // one sender's values come in order
      last_of_first = *n;
    }
  }
}
task<> givers_and_takers() {
  shared_channel<int> c(color(50), 8);
  long sums[2] = {};
  int last[2] = {-1, -1};
  scope takers;
  for (std::size_t i = 0; i != 2; ++i) takers.spawn(color(i + 1), take(c, sums[i], last[i]));
  {
    scope givers;
    for (int i = 0; i != 4; ++i) givers.spawn(color(i + 10), give(c, i * 1000, 200));
    co_await givers.join();
  }
  c.close();
  co_await takers.join();
  EXPECT_EQ(sums[0] + sums[1], 4L * (199 * 200 / 2) + 200L * (1000 + 2000 + 3000));
}

HEDDLE_TEST(shared_channel,
            "values pass between colors, in each sender's order, and none is lost") {
  in_three_worlds([](runtime& rt) { rt.run(givers_and_takers()); });
}

task<> wait_for_nothing(bool& timed_out) {
  shared_channel<int> c(color(9), 1);
  const auto got = co_await as_expected(with_timeout(c.pop(), 1ms));
  timed_out = !got && got.error() == std::errc::timed_out;
  std::vector<int> many(5);
  std::iota(many.begin(), many.end(), 1);
  scope s;
  s.spawn(color(3), [](shared_channel<int>& to, std::vector<int>& values) -> task<> {
    co_await to.push_many(values);
  }(c, many));
  std::vector<int> all;
  while (all.size() != 5)
    for (const int n : co_await c.pop_many(3)) all.push_back(n);
  EXPECT_EQ(all, many);
  co_await s.join();
}

HEDDLE_TEST(shared_channel, "a wait in it can time out, and batches arrive whole") {
  in_three_worlds([](runtime& rt) {
    bool timed_out = false;
    rt.run(wait_for_nothing(timed_out));
    EXPECT_TRUE(timed_out);
  });
}

}  // namespace
}  // namespace heddle::test
