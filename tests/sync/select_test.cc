// SPDX-License-Identifier: MIT
// select() and select_ok() as a program uses them: branches with handlers, on every driver, and in
// a storm of seeded interleavings on the simulation.
#include "heddle/core/select.hh"

#include <random>
#include <string>
#include <vector>

#include "heddle/heddle.hh"
#include "heddle/sync/broadcast.hh"
#include "heddle/sync/channel.hh"
#include "heddle/sync/latch.hh"
#include "heddle/sync/mutex.hh"
#include "support/drivers.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

using namespace heddle;
using namespace std::chrono_literals;
using heddle::test::virtual_runtime;

namespace {

struct job {
  int number = 0;
};

task<int> fail_after(nanoseconds span, const char* why) {
  co_await sleep_for(span);
  throw std::runtime_error(why);
}
task<int> answer_after(nanoseconds span, int answer) {
  co_await sleep_for(span);
  co_return answer;
}

/// A branch that ends with a result although it is asked to end.
task<int> stubborn(nanoseconds span, int answer) {
  co_await shield(sleep_for(span), 1s);
  co_return answer;
}

template <class A>
task<std::string> failure_of(A what) {
  try {
    co_await std::move(what);
  } catch (const std::exception& e) {
    co_return e.what();
  }
  co_return "no failure";
}

}  // namespace

DRIVER_TEST(select, "the handler of the first branch runs with its value, plain or as a task") {
  runtime rt(make());
  rt.run([]() -> task<> {
    channel<job> jobs(4);
    std::string log;
    co_await jobs.push(job{7});
    jobs.close();
    for (bool open = true; open;) {
      co_await select(on(
                          jobs.pop(),
                          [&](job j) -> task<> {
                            co_await sleep_for(1ms);
                            log += std::to_string(j.number);
                          },
                          [&] { open = false; }),
                      on(sleep_for(1h), [&] { log += "late"; }));
      log += ';';
    }
    EXPECT_EQ(log, "7;;");
    co_await select(on(jobs.pop(), [&](std::optional<job> j) { log = j ? "job" : "closed"; }));
    EXPECT_EQ(log, "closed");
    co_await select(on(sleep_for(1ms), [&] { log = "tick"; }), on(sleep_for(1h), [&] {}));
    EXPECT_EQ(log, "tick");
  }());
}

DRIVER_TEST(select, "it gives the common type of the handlers' values") {
  runtime rt(make());
  rt.run([]() -> task<> {
    channel<int> numbers(1);
    co_await numbers.push(20);
    const auto found = co_await select(on(numbers.pop(), [](int n) { return n + 1; }),
                                       on(sleep_for(1h), []() -> task<long> { co_return 5; }));
    static_assert(std::is_same_v<decltype(found), const long>);
    EXPECT_EQ(found, 21);
    const std::string text =
        co_await select(on(numbers.pop(), [](int) { return std::string("number"); }),
                        on(sleep_for(1ms), [] { return "nothing"; }));
    EXPECT_EQ(text, "nothing");
    // Without a handler the value of the branch is that of select().
    EXPECT_EQ(co_await select(answer_after(1h, 1), answer_after(1ms, 2)), 2);
  }());
}

HEDDLE_TEST(select, "a handler that takes a value makes a closed channel a failure") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    channel<int> c(1);
    c.close();
    int calls = 0;
    try {
      co_await select(on(c.pop(), [&](int) { ++calls; }), on(sleep_for(1h), [&] { ++calls; }));
    } catch (const std::system_error& e) {
      EXPECT_EQ(e.code(), std::errc::broken_pipe);
      calls += 10;
    }
    EXPECT_EQ(calls, 10);
    // One that takes nothing does not ask which end it was.
    co_await select(on(c.pop(), [&] { ++calls; }));
    EXPECT_EQ(calls, 11);
  }());
}

HEDDLE_TEST(select, "a branch that loses takes nothing, and has ended when the handler runs") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    channel<int> a(4), b(4);
    mutex m;
    EXPECT_TRUE(a.try_push(1) && b.try_push(2));
    int ended = 0;
    co_await select(on(b.pop(),
                       [&](int n) {
                         EXPECT_EQ(n, 2);
                         EXPECT_EQ(ended, 1);
                       }),
                    on(a.pop(), [](int) { ADD_FAILURE(); }),
                    on(m.lock(), [](auto) { ADD_FAILURE(); }),
                    on(
                        [](int& out) -> task<> {
                          try {
                            co_await sleep_for(1h);
                          } catch (const std::system_error&) {
                            ++out;
                            throw;
                          }
                        }(ended),
                        [] { ADD_FAILURE(); }));
    EXPECT_EQ(a.size(), 1u);
    EXPECT_FALSE(m.locked());
  }());
}

HEDDLE_TEST(select, "a lock is held while the handler runs that does not ask for it") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    mutex m;
    co_await select(on(m.lock(), [&] { EXPECT_TRUE(m.locked()); }));
    EXPECT_FALSE(m.locked());
    co_await select(on(m.lock(), [&](const auto& held) -> task<> {
      co_await sleep_for(1ms);
      EXPECT_TRUE(held && m.locked());
    }));
    EXPECT_FALSE(m.locked());
  }());
}

HEDDLE_TEST(select, "a result that a branch brings although it lost goes to its late handler") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    std::string log;
    co_await select(on(stubborn(5ms, 7), [&](int) { log += "won"; }).late([&](int n) {
      log += "late " + std::to_string(n) + ", ";
    }),
                    on(sleep_for(1ms), [&] { log += "timer"; }));
    EXPECT_EQ(log, "late 7, timer");
    log.clear();
    co_await select(
        on(answer_after(1ms, 7), [&](int) { log += "won"; }).late([&](int) { log += "late"; }),
        on(sleep_for(1h), [&] { log += "timer"; }));
    EXPECT_EQ(log, "won");
  }());
}

HEDDLE_TEST(select, "a branch that a condition leaves out does not begin") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    channel<int> c(1);
    EXPECT_TRUE(c.try_push(1));
    const auto got = co_await select(on(c.pop(), [](int n) { return n; }).when(c.empty()),
                                     on(answer_after(1ms, 2), [](int n) { return n; }).when(true));
    EXPECT_EQ(got, 2);
    EXPECT_EQ(c.size(), 1u);
  }());
}

HEDDLE_TEST(select, "a failure of the first branch, and of a handler, arrives") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    int calls = 0;
    const auto count = [&](int) { ++calls; };
    EXPECT_EQ(co_await failure_of(
                  select(on(fail_after(1ms, "first"), count), on(answer_after(2ms, 1), count))),
              "first");
    EXPECT_EQ(calls, 0);
    // The other one had its result: it is not lost, and neither is the failure.
    EXPECT_EQ(co_await failure_of(
                  select(on(fail_after(1ms, "first"), count), on(stubborn(2ms, 1), count))),
              "first");
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(co_await failure_of(select(on(sleep_for(1ms),
                                            []() -> task<> {
                                              throw std::runtime_error("handler");
                                              co_return;
                                            }))),
              "handler");
  }());
}

HEDDLE_TEST(select, "cancelled from outside it ends, or runs the handler of what it has") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    int calls = 0;
    const auto outcome =
        co_await as_expected(with_timeout(select(on(sleep_for(1h), [&] { ++calls; })), 1ms));
    EXPECT_EQ(outcome.error(), std::errc::timed_out);
    EXPECT_EQ(calls, 0);
    static_cast<void>(co_await as_expected(
        with_timeout(select(on(stubborn(2ms, 1), [&](int) { ++calls; })), 1ms)));
    EXPECT_EQ(calls, 1);
    const auto failed = co_await as_expected(
        with_timeout(select_ok(fail_after(1us, "early"), answer_after(1h, 1)), 1ms));
    EXPECT_EQ(failed.error(), std::errc::timed_out);
  }());
}

DRIVER_TEST(select_ok, "branches that fail are set aside for the first that succeeds") {
  runtime rt(make());
  rt.run([]() -> task<> {
    EXPECT_EQ(co_await select_ok(fail_after(0ns, "a"), answer_after(3ms, 5), fail_after(1ms, "b")),
              5);
    EXPECT_EQ(co_await failure_of(select_ok(fail_after(2ms, "late"), fail_after(1ms, "early"))),
              "late");
    std::vector<task<int>> tasks;
    tasks.push_back(fail_after(0ns, "a"));
    tasks.push_back(answer_after(1ms, 8));
    tasks.push_back(answer_after(1h, 9));
    EXPECT_EQ(co_await select_ok(std::move(tasks)), 8);
  }());
}

HEDDLE_TEST(select_ok, "a channel that is closed does not take the choice from the others") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    channel<int> closing(1), other(1);
    int got = 0;
    scope s;
    s.spawn([](channel<int>& a, channel<int>& b, int& out) -> task<> {
      out = co_await select_ok(on(a.pop(), [](int n) { return n; }),
                               on(b.pop(), [](int n) { return n; }));
    }(closing, other, got));
    co_await sleep_for(1ms);
    closing.close();
    EXPECT_TRUE(other.try_push(3));  // in the same turn: the first branch has not run yet
    co_await s.join();
    EXPECT_EQ(got, 3);
    EXPECT_TRUE(other.empty());
    // One that is closed already.
    EXPECT_TRUE(other.try_push(4));
    EXPECT_EQ(co_await select_ok(on(closing.pop(), [](int n) { return n; }),
                                 on(other.pop(), [](int n) { return n; })),
              4);
    // All closed.
    other.close();
    const auto none = co_await as_expected(select_ok(on(closing.pop(), [](int n) { return n; }),
                                                     on(other.pop(), [](int n) { return n; })));
    EXPECT_EQ(none.error(), std::errc::broken_pipe);
  }());
}

namespace {

task<> consume(channel<int>& a, channel<int>& b, long& sum, int& seen) {
  bool a_open = true, b_open = true;
  while (a_open || b_open) {
    const auto add = [&](int n) {
      sum += n;
      ++seen;
    };
    const auto add_later = [&](int n) -> task<> {
      co_await yield();
      add(n);
    };
    co_await select(on(a.pop(), add, [&] { a_open = false; }).when(a_open),
                    on(b.pop(), add_later, [&] { b_open = false; }).when(b_open),
                    on(sleep_for(1us), [] {}));
  }
}

task<> produce(channel<int>& to, unsigned seed, int count) {
  std::mt19937 random(seed);
  for (int i = 1; i <= count; ++i) {
    if (random() % 3 == 0) co_await sleep_for(nanoseconds(random() % 3000));
    co_await to.push(i);
  }
  to.close();
}

}  // namespace

HEDDLE_TEST(select, "in a storm of two channels, readers and timers no value is lost or doubled") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    virtual_runtime v;
    v.rt.run([](unsigned number) -> task<> {
      channel<int> a(number % 3), b(number % 2);
      long sum = 0;
      int seen = 0;
      scope s;
      for (int i = 0; i < 3; ++i) s.spawn(consume(a, b, sum, seen));
      s.spawn(produce(a, number, 50));
      s.spawn(produce(b, number + 1000, 50));
      co_await s.join();
      EXPECT_EQ(seen, 100) << "seed " << number;
      EXPECT_EQ(sum, 2 * 50 * 51 / 2) << "seed " << number;
    }(seed));
  }
}

HEDDLE_TEST(select, "a dump lists each branch under its own line") {
  virtual_runtime v;
  channel<int> jobs(1);
  const int first = __LINE__ + 2;
  v.rt.spawn([](channel<int>& from) -> task<> {
    auto pops = on(from.pop(), [](int) {});
    auto sleeps = on(sleep_for(1h), [] {});
    auto asks = on(answer_after(1h, 1), [](int) {});
    co_await select(std::move(pops), std::move(sleeps), std::move(asks));
  }(jobs));
  for (int i = 0; i < 3; ++i) v.rt.once();
  const std::string text = v.rt.dump();
  for (int i = 0; i < 3; ++i)
    EXPECT_NE(text.find("select_test.cc:" + std::to_string(first + i)), text.npos) << text;
  EXPECT_EQ(text.find("heddle/core"), text.npos) << text;
  jobs.close();
}
