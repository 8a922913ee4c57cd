// SPDX-License-Identifier: MIT
// Task policies: the order of a color's tasks on one and several workers, deadlines, colors that
// move between workers, cancellation, and the end of a runtime.
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "heddle/core/deadline.hh"
#include "heddle/core/lifetime.hh"
#include "heddle/core/rendezvous.hh"
#include "heddle/core/sleep.hh"
#include "heddle/core/yield.hh"
#include "heddle/sched/runtime.hh"
#include "heddle/sync/condition.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

using policy_maker = std::function<std::unique_ptr<task_policy>()>;

/// First in, first out, by a policy.
class fifo_order final : public task_policy {
 public:
  void push(ready_task t) noexcept override { all_.push(t); }
  ready_task pop() noexcept override { return all_.pop(); }

 private:
  task_list all_;
};
std::unique_ptr<task_policy> fifo() { return std::make_unique<fifo_order>(); }

/// The body with one, two and four workers: with real threads, and with simulated workers.
void with_workers(const policy_maker& make, const std::function<void(runtime&)>& body,
                  std::size_t color_batch = 16) {
  for (const unsigned workers : {1u, 2u, 4u})
    for (const bool real : {false, true}) {
      SCOPED_TRACE(std::to_string(workers) + (real ? " threads" : " simulated workers"));
      runtime_options options;
      options.workers = workers;
      options.task_policy = make;
      options.color_batch = color_batch;
      if (real) {
        options.driver = "poll";
        runtime rt(options);
        body(rt);
      } else {
        runtime rt(std::make_unique<virtual_driver>(), options);
        body(rt);
      }
    }
}

/// What the tasks of one color did, in order. Only that color touches it.
struct task_log {
  std::vector<int> steps;
  condition start;
};

task<> note_steps(task_log& to, int name, int steps) {
  for (int i = 0; i != steps; ++i) {
    to.steps.push_back(name);
    co_await yield();
  }
}
task<> prioritized(task_log& to, int name, int steps) {
  const auto starts = [](task_log& log, int which, int count) -> task<> {
    co_await log.start.wait();
    co_await note_steps(log, which, count);
  };
  co_await with_priority(starts(to, name, steps), static_cast<std::uint8_t>(name));
}

/// Runs tasks with these names as priorities. They become ready together.
task<> run_together(task_log& log, std::vector<int> names, int steps) {
  scope s;
  for (const int name : names) s.spawn(prioritized(log, name, steps));
  co_await yield();  // until all wait
  log.start.notify_all();
  co_await s.join();
}

HEDDLE_TEST(task_policy, "the highest priority runs first, equal ones take turns") {
  with_workers(&priorities, [](runtime& rt) {
    for (int c = 1; c != 9; ++c) {
      task_log log;
      rt.run(run_together(log, {0, 3, 255, 3, 7}, 3));
      EXPECT_EQ(log.steps, (std::vector<int>{255, 255, 255, 7, 7, 7, 3, 3, 3, 3, 3, 3, 0, 0, 0}));
    }
  });
}

struct color_logs {
  std::array<task_log, 32> of;
};

task<> spawn_in(color c, task_log& to) {
  co_await enter(c);
  const std::vector<int> levels{1, 9, 5};  // GCC 12 takes no list inside a co_await
  co_await run_together(to, levels, 40);
}

HEDDLE_TEST(task_policy, "each color keeps the order when it is left and moves to other workers") {
  // Batches of 5 frames: each color is left many times with tasks in the policy.
  with_workers(
      &priorities,
      [](runtime& rt) {
        color_logs logs;
        rt.run([&]() -> task<> {
          scope s;
          for (std::size_t i = 0; i != logs.of.size(); ++i)
            s.spawn(spawn_in(color(i + 1), logs.of[i]));
          co_await s.join();
        });
        std::vector<int> wanted;
        for (const int name : {9, 5, 1}) wanted.insert(wanted.end(), 40, name);
        for (const task_log& log : logs.of) EXPECT_EQ(log.steps, wanted);
      },
      5);
}

/// A virtual clock that each frame of work moves.
struct busy_clock : virtual_driver {
  static inline busy_clock* here = nullptr;
  busy_clock() { here = this; }
};

task<> job(std::size_t& met, condition& start) {
  co_await start.wait();
  busy_clock::here->t += 1ms;
  const time_point due = worker::here().current_context().deadline();
  if (busy_clock::here->now() <= due) ++met;
}

/// 1,000 jobs of 1 ms each that are ready at once, with deadlines that only one order meets.
std::size_t deadlines_met(policy_maker make) {
  runtime_options options;
  options.workers = 1;
  options.task_policy = std::move(make);
  options.batch = 10'000;  // timers would end late jobs between two batches
  runtime rt(std::make_unique<busy_clock>(), options);
  constexpr nanoseconds slack = 20ms;  // each reading of the clock takes 1 us, too
  std::size_t met = 0;
  rt.run([&]() -> task<> {
    condition start;
    scope s;
    const time_point begin = clock::now();
    for (int i = 0; i != 1000; ++i) {
      const int place = i * 389 % 1000;  // all numbers below 1,000, mixed
      s.spawn([](std::size_t& n, condition& all, time_point due) -> task<> {
        static_cast<void>(co_await as_expected(with_deadline(job(n, all), due)));
      }(met, start, begin + (place + 1) * 1ms + slack));
    }
    co_await yield();
    start.notify_all();
    co_await s.join();
  });
  return met;
}

HEDDLE_TEST(task_policy, "the earliest deadline first meets 1,000 deadlines that FIFO misses") {
  EXPECT_EQ(deadlines_met(&earliest_task), 1000u);
  EXPECT_LT(deadlines_met(&fifo), 600u);
  EXPECT_LT(deadlines_met({}), 600u);
}

HEDDLE_TEST(task_policy, "a FIFO policy gives the order that there is without a policy") {
  std::vector<std::vector<int>> seen;
  for (const policy_maker& make : {policy_maker(), policy_maker(&fifo)}) {
    with_workers(make, [&](runtime& rt) {
      task_log log;
      rt.run([&]() -> task<> {
        scope s;
        for (int i = 0; i != 20; ++i) s.spawn(note_steps(log, i, i % 4 + 1));
        co_await s.join();
      });
      seen.push_back(log.steps);
    });
  }
  for (const auto& steps : seen) EXPECT_EQ(steps, seen.front());
}

task<> wait_for_ever(int& ended) {
  struct note {
    int& n;
    ~note() { ++n; }
  } const at_end{ended};
  for (;;) co_await yield();
}

HEDDLE_TEST(task_policy, "a cancelled task ends, though others are always before it") {
  with_workers(&priorities, [](runtime& rt) {
    int ended = 0;
    rt.run([&]() -> task<> {
      scope low;
      low.spawn(wait_for_ever(ended));
      for (int i = 0; i != 100; ++i) co_await yield();
      low.cancel();
      co_await low.settled();
    });
    EXPECT_EQ(ended, 1);
  });
}

HEDDLE_TEST(task_policy, "the end of a runtime ends tasks that the policy has kept") {
  int ended = 0;
  with_workers(&earliest_task, [&](runtime& rt) {
    rt.run([&]() -> task<> {
      for (int i = 0; i != 50; ++i) spawn(wait_for_ever(ended));
      co_await yield();
    });
  });
  EXPECT_EQ(ended, 6 * 50);
}

HEDDLE_TEST(task_policy, "messages from other colors run although urgent tasks are always ready") {
  with_workers(&priorities, [](runtime& rt) {
    std::atomic<int> answers = 0;
    rt.run([&]() -> task<> {
      bool stop = false;
      const auto urgent = [&]() -> task<> {
        while (!stop) co_await yield();
      };
      const auto asks = [&]() -> task<> {
        for (int i = 0; i != 20; ++i) {
          const auto in_other = [](std::atomic<int>& n) -> task<> {
            co_await enter(color(5));
            ++n;
          };
          co_await with_priority(in_other(answers), 200);
        }
        stop = true;
      };
      scope s;
      s.spawn([&]() -> task<> { co_await with_priority(urgent(), 200); });
      co_await asks();
      co_await s.join();
    });
    EXPECT_EQ(answers, 20);
  });
}

struct watched : tamed_class {};

/// Ends with the object. `wake` triggers the event that it waits for.
tamed count_when_woken(watched&, event<>& wake, int& ran) {
  rendezvous<> r;
  wake = r.make_event();
  co_await r;
  ++ran;
}

task<> destroy_woken(int& ran) {
  auto object = std::make_unique<watched>();
  std::array<event<>, 5> wakes;
  for (event<>& wake : wakes) count_when_woken(*object, wake, ran);
  for (event<>& wake : wakes) wake.trigger();
  co_await yield();  // now the policy has them, and this task is before them
  object.reset();
  co_await yield();
}

HEDDLE_TEST(task_policy, "a frame that is destroyed after its wake leaves the policy, too") {
  with_workers(&priorities, [](runtime& rt) {
    int ran = 0;
    rt.run([&]() -> task<> {
      co_await with_priority(destroy_woken(ran), 200);
      co_await yield();
    });
    EXPECT_EQ(ran, 0);
  });
}

}  // namespace
}  // namespace heddle::test
