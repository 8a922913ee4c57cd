// SPDX-License-Identifier: MIT
// How run() and drain() end: generated programs of tasks, posted calls, threads outside and stops
// give the same answers with any number of workers, and always return.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "heddle/core/callback.hh"
#include "heddle/heddle.hh"
#include "heddle/io/signal.hh"
#include "heddle/io/watched_descriptor.hh"
#include "support/drivers.hh"
#include "support/hang_watch.hh"
#include "support/seeds.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

runtime_options ending_options(unsigned workers, bool stealing, const char* driver = "epoll") {
  runtime_options options;
  options.driver = driver;
  options.workers = workers;
  options.stealing = stealing;
  options.report = [](const diagnostic&) {};
  return options;
}

struct ending_plan {
  explicit ending_plan(std::uint64_t s) : seed(s) {
    std::mt19937_64 random(s);
    const auto below = [&random](unsigned n) { return static_cast<int>(random() % n); };
    driver = below(2) == 0 ? "epoll" : "io_uring";
    yields = below(6);
    stuck = below(3);
    hops = below(4);
    sleepers = below(3);
    stops = below(3);
    posts = below(8);
    posts_of_tasks = below(3);
    threads_that_drop = below(3);
    threads_that_post = below(3);
    listens = below(2) == 0;
    program = below(3);
    late_posts = below(5);
  }
  std::uint64_t seed;
  const char* driver;
  int yields, stuck, hops, sleepers, stops, posts, posts_of_tasks;
  int threads_that_drop, threads_that_post;
  bool listens;
  int program;  // 0: ends by itself; 1: waits in vain; 2: keeps an outside_work, and no thread has
                // it
  int late_posts;
};

struct ending_counts {
  std::atomic<int> ended = 0, canceled = 0, calls = 0, answers = 0;
};

struct ending_note {
  explicit ending_note(ending_counts& of) : counts(of) {}
  ~ending_note() { ++counts.ended; }
  ending_counts& counts;
};

task<> yields_often(ending_counts& counts) {
  const ending_note note(counts);
  for (int i = 0; i != 5; ++i) co_await yield();
}
task<> waits_in_vain(ending_counts& counts) {
  const ending_note note(counts);
  rendezvous<> never;
  const event<> kept = never.make_event();
  try {
    co_await never;
  } catch (const failure&) {
    ++counts.canceled;
    throw;
  }
}
task<> hops_once(color to) {
  co_await enter(to);
  co_await yield();
}
/// Leaves a disarmed timer behind, maybe in the wheel of another worker.
task<> hops_in_time(color to, ending_counts& counts) {
  const ending_note note(counts);
  for (int i = 0; i != 3; ++i) co_await with_timeout(hops_once(to), 1h);
}
task<> sleeps_shortly(ending_counts& counts) {
  const ending_note note(counts);
  co_await sleep_for(100us);
}
task<> stops_the_run(runtime& rt, ending_counts& counts) {
  const ending_note note(counts);
  co_await yield();
  rt.stop();
}
task<> posts_a_call(runtime& rt, color to, ending_counts& counts) {
  const ending_note note(counts);
  rt.post(to, [&counts] { ++counts.calls; });
  co_return;
}
task<> listens_in_background(ending_counts& counts) {
  const ending_note note(counts);
  signal_set set{SIGUSR2};
  set.set_background(true);
  static_cast<void>(co_await set.next());
}

/// What a plan gives, as text: the same for any number of workers.
std::string outcome_of(const ending_plan& plan, unsigned workers, bool stealing) {
  ending_counts counts;
  std::string text;
  int tasks = 0;
  {
    runtime rt(ending_options(workers, stealing, plan.driver));
    std::uint64_t number = plan.seed;
    const auto any_color = [&number] { return color(number++ % 7); };
    for (int i = 0; i != plan.yields; ++i) rt.spawn(any_color(), yields_often(counts));
    for (int i = 0; i != plan.stuck; ++i) rt.spawn(any_color(), waits_in_vain(counts));
    for (int i = 0; i != plan.hops; ++i) rt.spawn(any_color(), hops_in_time(any_color(), counts));
    for (int i = 0; i != plan.sleepers; ++i) rt.spawn(any_color(), sleeps_shortly(counts));
    for (int i = 0; i != plan.stops; ++i) rt.spawn(any_color(), stops_the_run(rt, counts));
    for (int i = 0; i != plan.posts_of_tasks; ++i)
      rt.spawn(any_color(), posts_a_call(rt, any_color(), counts));
    for (int i = 0; i != plan.posts; ++i) rt.post(any_color(), [&counts] { ++counts.calls; });
    if (plan.listens) rt.spawn(listens_in_background(counts));
    tasks = plan.yields + plan.stuck + plan.hops + plan.sleepers + plan.stops +
            plan.posts_of_tasks + plan.listens;
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i != plan.threads_that_drop; ++i)
        threads.emplace_back([work = outside_work(rt), i] {
          for (int k = 0; k != 50 * i; ++k) std::this_thread::yield();
        });
      for (int i = 0; i != plan.threads_that_post; ++i)
        threads.emplace_back(
            [&rt, &counts, to = any_color(), work = outside_work(rt), i]() mutable {
              for (int k = 0; k != 50 * i; ++k) std::this_thread::yield();
              rt.post(to, [&counts, kept = std::move(work)] { ++counts.answers; });
            });
      for (int i = 0; i <= plan.stops; ++i) rt.run();
    }
    text += "ended " + std::to_string(counts.ended) + ", calls " + std::to_string(counts.calls) +
            ", answers " + std::to_string(counts.answers);
    try {
      if (plan.program == 0) rt.run(sleeps_shortly(counts));
      if (plan.program == 1) rt.run(waits_in_vain(counts));
      if (plan.program == 2) {
        const outside_work forgotten(rt);
        rt.run(waits_in_vain(counts));
      }
      text += "; ran";
    } catch (const failure& f) {
      text += f.code() == std::errc::resource_deadlock_would_occur ? "; in vain" : f.what();
    }
    ++tasks;
    text += ", ended " + std::to_string(counts.ended);
    for (int i = 0; i != plan.late_posts; ++i) rt.post(any_color(), [&counts] { ++counts.calls; });
    const time_point began = rt.io().now();
    text += "; left " + std::to_string(rt.drain());
    if (rt.io().now() - began > 8s) text += ", and drain() took its whole time";
    text += ", ended " + std::to_string(counts.ended) + " of " + std::to_string(tasks) +
            ", calls " + std::to_string(counts.calls);
    try {
      rt.run(sleeps_shortly(counts));
      text += "; ran again";
    } catch (const failure& f) {
      text += std::string("; again: ") + f.what();
    }
    for (int i = 0; i != plan.late_posts; ++i) rt.post(any_color(), [&counts] { ++counts.calls; });
  }
  return text + ", calls " + std::to_string(counts.calls);
}

}  // namespace

HEDDLE_TEST(endings, "D1 any number of workers gives the answers of one, and returns") {
  const bool has_ring = driver_maker("io_uring").missing().empty();
  for_seeds(60, [has_ring](std::uint64_t seed) {
    const hang_watch watch(seed, 40);
    ending_plan plan(seed);
    if (!has_ring) plan.driver = "epoll";
    const std::string alone = outcome_of(plan, 1, true);
    EXPECT_NE(alone.find("ran again"), std::string::npos) << alone;
    for (const unsigned workers : {2U, 4U})
      for (const bool stealing : {false, true})
        EXPECT_EQ(outcome_of(plan, workers, stealing), alone)
            << workers << " workers, stealing " << stealing;
  });
}

namespace {

task<> reads_what_a_thread_writes(int fd, bool& got) {
  const watched_descriptor theirs(fd);
  static_cast<void>(co_await theirs.ready(POLLIN));
  got = true;
}

/// Returns when each of several workers has parked at least once; one alone does not count that.
void until_parked(runtime& rt, unsigned workers) {
  const auto parked = [&rt] {
    std::size_t n = 0;
    for (const worker_statistics& w : rt.read_workers()) n += w.parks != 0 ? 1 : 0;
    return n;
  };
  while (workers > 1 && parked() != workers) std::this_thread::yield();
}

}  // namespace

HEDDLE_TEST(endings, "an operation in the background on one worker hides none of another worker") {
  for (const char* driver : {"epoll", "poll"})
    for (const unsigned workers : {1U, 2U}) {
      SCOPED_TRACE(std::string(driver) + ", workers: " + std::to_string(workers));
      const hang_watch watch("an operation in the background");
      ending_counts counts;
      bool got = false;
      runtime rt(ending_options(workers, false, driver));
      int ends[2];
      ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
      rt.spawn(listens_in_background(counts));
      rt.spawn(color(1), reads_what_a_thread_writes(ends[0], got));
      std::jthread writer([&] {
        until_parked(rt, workers);  // then the program could have been given up
        EXPECT_EQ(::write(ends[1], "x", 1), 1);
      });
      rt.run();
      EXPECT_TRUE(got);
      writer.join();
      ::close(ends[0]);
      ::close(ends[1]);
    }
}

HEDDLE_TEST(endings, "work that a thread drops while all workers sleep ends the wait") {
  for (const unsigned workers : {1U, 2U, 4U})
    for (const bool stealing : {false, true}) {
      SCOPED_TRACE(workers);
      const hang_watch watch("work that is dropped");
      ending_counts counts;
      runtime rt(ending_options(workers, stealing));
      std::jthread dropper([&rt, workers, work = outside_work(rt)]() mutable {
        until_parked(rt, workers);
        const outside_work dropped = std::move(work);
      });
      EXPECT_THROW(rt.run(waits_in_vain(counts)), failure);
    }
}

HEDDLE_TEST(endings, "calls that were posted before drain() run, and may post others") {
  for (const unsigned workers : {1U, 2U}) {
    int first = 0, second = 0;
    std::atomic<int> again = 0;
    std::function<void()> forever;
    {
      runtime rt(ending_options(workers, true));
      rt.post([&] { ++first; });
      EXPECT_EQ(rt.drain(), 0U);
      EXPECT_EQ(first, 1);
      rt.post(color(5), [&] { ++second; });
      forever = [&] {
        ++again;
        rt.post(forever);
      };
      rt.post(forever);
      const time_point began = rt.io().now();
      EXPECT_EQ(rt.drain(), 0U);
      EXPECT_LT(rt.io().now() - began, 5s) << "a call that posts itself keeps the runtime";
      EXPECT_GE(again.load(), 1);
    }
    EXPECT_EQ(second, 1);
  }
}

HEDDLE_TEST(endings, "preblock events fire in drain(), with any number of workers") {
  for (const unsigned workers : {1U, 2U}) {
    std::function<void()> arms_again;
    runtime rt(ending_options(workers, true));
    rendezvous<> r;
    rt.preblock(r.make_event());
    arms_again = [&] { rt.preblock(function_event<>(arms_again)); };
    arms_again();
    const time_point began = rt.io().now();
    EXPECT_EQ(rt.drain(), 0U);
    EXPECT_LT(rt.io().now() - began, 5s) << "it slept although nothing was left";
    EXPECT_TRUE(r.has_ready());
  }
}

HEDDLE_TEST(endings, "after the error about a wait in vain, and after drain(), programs run") {
  for (const unsigned workers : {1U, 2U}) {
    ending_counts counts;
    runtime rt(ending_options(workers, true));
    for (int round = 0; round != 3; ++round) {
      rt.spawn(color(3), waits_in_vain(counts));
      EXPECT_THROW(rt.run(waits_in_vain(counts)), failure);
      EXPECT_EQ(counts.canceled.load(), 2 * (round + 1)) << "all tasks are cancelled";
      rt.run(sleeps_shortly(counts));
      rt.run(hops_in_time(color(3), counts));
      rt.spawn(color(4), waits_in_vain(counts));
      rt.once();
      EXPECT_EQ(rt.drain(), 0U);
      rt.run(sleeps_shortly(counts));
      counts.canceled = 2 * (round + 1);
    }
  }
}

namespace {

task<> resists(bool& ends) {
  while (!ends) {
    try {
      co_await shield(sleep_for(1ms), 1s);
    } catch (const failure&) {
    }
  }
}

task<> ends_an_hour_after_its_cancellation() {
  rendezvous<> never;
  const event<> kept = never.make_event();
  try {
    co_await never;
  } catch (const failure&) {
  }
  static_cast<void>(co_await as_expected(shield(sleep_for(1h), 2h)));
}

}  // namespace

HEDDLE_TEST(endings, "while cancelled tasks of any color have not ended, run() says so") {
  for (const unsigned number : {0U, 3U}) {
    SCOPED_TRACE("color " + std::to_string(number));
    runtime_options options = ending_options(1, true);
    options.drain_timeout = 20ms;
    ending_counts counts;
    bool ends = false;
    runtime rt(std::move(options));
    rt.spawn(color(number), resists(ends));
    EXPECT_EQ(rt.drain(), 1U);
    try {
      rt.run(sleeps_shortly(counts));
      ADD_FAILURE() << "it ran";
    } catch (const failure& f) {
      EXPECT_EQ(f.code(), std::errc::operation_canceled);
      EXPECT_NE(std::string(f.what()).find("1 task has been cancelled and not ended"),
                std::string::npos)
          << f.what();
    }
    ends = true;
    EXPECT_EQ(rt.drain(), 0U);
    rt.run(sleeps_shortly(counts));
  }
}

HEDDLE_TEST(endings, "the tasks beside a program that waits in vain have drain_timeout to end") {
  runtime_options options = ending_options(1, true);
  options.drain_timeout = 20ms;
  ending_counts counts;
  runtime rt(std::make_unique<sim_driver>(), std::move(options));
  rt.spawn(color(3), ends_an_hour_after_its_cancellation());
  const time_point begin = rt.io().now();
  EXPECT_THROW(rt.run(waits_in_vain(counts)), failure);
  EXPECT_LT(rt.io().now() - begin, 1s);
  EXPECT_THROW(rt.run(sleeps_shortly(counts)), failure);
  rt.run();
  EXPECT_GE(rt.io().now() - begin, 1h);
  rt.run(sleeps_shortly(counts));
}

namespace {

std::atomic<int> late_tasks = 0;

task<> sleeps_for_long() {
  ++late_tasks;
  try {
    co_await sleep_for(1h);
  } catch (const failure&) {
    --late_tasks;
    throw;
  }
}

/// When it is cancelled, it gives a task to another color.
task<> leaves_a_task(unsigned number) {
  rendezvous<> never;
  const event<> kept = never.make_event();
  const auto ended = co_await as_expected(never);
  if (!ended) spawn(color(number + 5), sleeps_for_long());
}

}  // namespace

HEDDLE_TEST(endings, "a program that waits in vain ends the tasks that cancelled ones leave") {
  for (const char* const name : {"io_uring", "epoll"}) {
    if (!driver_maker(name).missing().empty()) continue;
    for (const unsigned workers : {1U, 2U, 4U})
      for (unsigned round = 0; round != 300; ++round) {
        late_tasks = 0;
        ending_counts counts;
        runtime rt(ending_options(workers, true, name));
        for (unsigned number = 0; number <= round % 4; ++number)
          rt.spawn(color(number), leaves_a_task(number));
        EXPECT_THROW(rt.run(waits_in_vain(counts)), failure);
        rt.run(sleeps_shortly(counts));  // a task that was left would begin here
        ASSERT_EQ(late_tasks.load(), 0) << name << ", " << workers << " workers, round " << round;
      }
  }
}

HEDDLE_TEST(endings, "a stop that comes with the last turn does not stop the next run") {
  for (const unsigned workers : {1U, 2U, 4U})
    for (int round = 0; round != 50; ++round) {
      ending_counts counts;
      runtime rt(ending_options(workers, false));
      rt.spawn(color(1), stops_the_run(rt, counts));
      rt.run();
      rt.run();
      ASSERT_EQ(counts.ended.load(), 1);
      rt.post([&rt] { rt.stop(); });
      rt.run();
      rt.spawn(sleeps_shortly(counts));
      rt.run();
      ASSERT_EQ(counts.ended.load(), 2) << workers << " workers, round " << round;
    }
}

namespace {

task<> destroys(std::unique_ptr<runtime>& rt) {
  co_await yield();
  rt.reset();
}
task<> runs_inside(runtime& rt) {
  co_await yield();
  rt.run();
}

}  // namespace

DRIVER_TEST(endings,
            "a runtime goes on after one with several workers that began later has ended") {
  ending_counts counts;
  runtime outer(make(), ending_options(1, false));
  outer.run(sleeps_shortly(counts));
  {
    runtime inner(make(), ending_options(2, false));
    inner.run(sleeps_shortly(counts));
  }
  outer.run(sleeps_shortly(counts));
}

HEDDLE_TEST(endings, "runtimes of one thread that do not end like a stack are told the rule") {
  EXPECT_DEATH(
      {
        std::vector<std::unique_ptr<runtime>> all;
        for (int i = 0; i != 2; ++i)
          all.push_back(std::make_unique<runtime>(std::make_unique<virtual_driver>()));
        all.erase(all.begin());
      },
      "a runtime is destroyed while it is its thread's latest one.*opposite order");
  EXPECT_DEATH(
      {
        runtime outer(std::make_unique<virtual_driver>());
        runtime inner(std::make_unique<virtual_driver>());
        outer.run();
      },
      "a runtime is run while it is its thread's latest one.*opposite order");
}

HEDDLE_TEST(endings, "a runtime that its own task runs or destroys is told the rule") {
  EXPECT_DEATH(
      {
        auto rt = std::make_unique<runtime>(std::make_unique<virtual_driver>());
        rt->run(destroys(rt));
      },
      "a runtime is destroyed from outside of its own tasks and calls.*runtime::stop");
  EXPECT_DEATH(
      {
        runtime rt(std::make_unique<virtual_driver>());
        rt.run(runs_inside(rt));
      },
      "a runtime is run from outside of its own tasks and calls");
  EXPECT_DEATH(
      {
        runtime rt(std::make_unique<virtual_driver>());
        rt.post([&rt] { rt.drain(); });
        rt.run();
      },
      "a runtime is drained from outside of its own tasks and calls");
  EXPECT_DEATH(
      {
        auto rt = std::make_unique<runtime>(std::make_unique<virtual_driver>());
        std::thread([&rt] { rt.reset(); }).join();
      },
      "a runtime is destroyed on the thread that built it.*one thread");
}

HEDDLE_TEST(endings, "workers are counted while they count") {
  ending_counts counts;
  runtime rt(ending_options(2, true));
  std::atomic<bool> over = false;
  for (unsigned c = 0; c != 6; ++c)
    rt.spawn(color(c), [](ending_counts& of) -> task<> {
      for (int i = 0; i != 100; ++i) co_await hops_in_time(color(static_cast<unsigned>(i % 5)), of);
    }(counts));
  std::jthread reader([&] {
    std::uint64_t last = 0;
    while (!over) {
      std::uint64_t frames = 0;
      for (const worker_statistics& w : rt.read_workers()) frames += w.frames;
      EXPECT_GE(frames, last);
      last = frames;
    }
  });
  rt.run();
  over = true;
  reader.join();
  EXPECT_EQ(counts.ended.load(), 600);
}

}  // namespace heddle::test
