// SPDX-License-Identifier: MIT
// What threads outside of the runtime send to colors: calls and triggered events, with a bound.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "heddle/core/sleep.hh"
#include "heddle/core/twait.hh"
#include "heddle/core/yield.hh"
#include "heddle/sched/runtime.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

runtime_options posted_options(unsigned workers, std::size_t most = 65536) {
  runtime_options options;
  options.driver = "epoll";
  options.workers = workers;
  options.posted_max = most;
  return options;
}

task<> until_all(const std::atomic<int>& n, int wanted) {
  while (n.load() != wanted) co_await sleep_for(1ms);
}

/// Each thread posts numbers to each of these colors, in order.
void post_from_threads(unsigned workers, std::size_t most) {
  constexpr int threads = 3, colors = 8, each = 200;
  runtime rt(posted_options(workers, most));
  std::atomic<int> calls = 0, wrong_color = 0, wrong_order = 0;
  std::vector<std::vector<int>> last(threads, std::vector<int>(colors, -1));
  std::vector<std::jthread> outside;
  for (int t = 0; t != threads; ++t)
    outside.emplace_back([&, t] {
      for (int i = 0; i != each; ++i)
        for (int c = 0; c != colors; ++c)
          rt.post(color(c), [&, t, c, i] {
            wrong_color += worker::here().color != static_cast<std::uint32_t>(c);
            int& before = last[static_cast<std::size_t>(t)][static_cast<std::size_t>(c)];
            wrong_order += std::exchange(before, i) != i - 1;
            ++calls;
          });
    });
  rt.run(until_all(calls, threads * colors * each));
  EXPECT_EQ(wrong_color, 0);
  EXPECT_EQ(wrong_order, 0);
}

task<> wait_in(color c, std::atomic<event<int>*>& out, int& got) {
  co_await enter(c);
  twait {
    event<int> done = mkevent(got);
    out = new event<int>(std::move(done));
  };
}

}  // namespace

HEDDLE_TEST(posted,
            "calls of other threads reach any color, in order, with any number of workers") {
  for (const unsigned workers : {1U, 4U}) post_from_threads(workers, 65536);
}

HEDDLE_TEST(posted, "where few calls may wait, the threads that post wait for room") {
  for (const unsigned workers : {1U, 4U}) post_from_threads(workers, 2);
}

HEDDLE_TEST(posted, "a full queue refuses a worker's post, and a try") {
  runtime rt(posted_options(1, 2));
  int calls = 0;
  const auto call = [&calls] { ++calls; };
  rt.post(color(1), call);
  rt.post(color(2), call);
  std::move_only_function<void()> third = call;
  EXPECT_FALSE(rt.try_post(color(3), third));
  EXPECT_TRUE(third) << "it was taken";
  try {
    rt.post(color(3), call);
    ADD_FAILURE() << "it was accepted";
  } catch (const failure& f) {
    EXPECT_EQ(f.code(), std::errc::resource_unavailable_try_again);
    EXPECT_NE(std::string(f.what()).find("posted_max"), std::string::npos);
  }
  rt.once();
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(rt.try_post(color(3), third));
  rt.once();
  EXPECT_EQ(calls, 3);
}

HEDDLE_TEST(posted, "another thread triggers an event in its color") {
  for (const unsigned workers : {1U, 4U}) {
    runtime rt(posted_options(workers));
    std::atomic<event<int>*> out = nullptr;
    int got = 0;
    outside_work keep(rt);
    std::jthread other([&, work = std::move(keep)] {
      while (out == nullptr) std::this_thread::yield();
      const std::unique_ptr<event<int>> done(out.load());
      rt.trigger(std::move(*done), 7);
    });
    rt.run(wait_in(color(5), out, got));
    EXPECT_EQ(got, 7);
  }
}

HEDDLE_TEST(posted, "calls that were never made go with the runtime") {
  const auto kept = std::make_shared<int>(1);
  {
    runtime rt(posted_options(1));
    rt.stop();
    rt.post([kept] {});
  }
  EXPECT_EQ(kept.use_count(), 1);
}

}  // namespace heddle::test
