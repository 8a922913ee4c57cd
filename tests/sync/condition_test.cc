// SPDX-License-Identifier: MIT
// Conditions, latches, barriers, locks by name, and windows.
#include "heddle/sync/condition.hh"

#include <stdexcept>
#include <string>

#include "heddle/core/lifetime.hh"
#include "heddle/heddle.hh"
#include "heddle/sync/barrier.hh"
#include "heddle/sync/broadcast.hh"
#include "heddle/sync/latch.hh"
#include "heddle/sync/lock_table.hh"
#include "heddle/sync/windowed.hh"
#include "support/drivers.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

using namespace heddle;
using namespace std::chrono_literals;
using heddle::test::virtual_runtime;

namespace {
task<> waits(condition& c, std::string& log, char name) {
  const auto woken = co_await as_expected(with_timeout(c.wait(), 1s));
  log += woken ? name : '-';
}
}  // namespace

HEDDLE_TEST(condition, "a notification wakes the one that waits longest, and no one without") {
  virtual_runtime v;
  condition c;
  std::string log;
  for (char name = 'a'; name < 'e'; ++name) v.rt.spawn(waits(c, log, name));
  EXPECT_FALSE(c.notify_one());
  v.rt.once();
  EXPECT_TRUE(c.notify_one());
  EXPECT_EQ(log, "");
  v.rt.once();
  EXPECT_EQ(log, "a");
  EXPECT_EQ(c.notify_all(), 3u);
  v.rt.run();
  EXPECT_EQ(log, "abcd");
  v.rt.spawn(waits(c, log, 'e'));
  v.rt.run();
  EXPECT_EQ(log, "abcd-");
  EXPECT_EQ(c.waiting(), 0u);
}

HEDDLE_TEST(condition, "a wait under a lock gives it up and holds it again, also when cancelled") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    mutex m;
    condition changed;
    bool ready = false;
    scope s;
    s.spawn([](mutex& lock, condition& on, bool& flag) -> task<> {
      auto held = co_await lock.lock();
      while (!flag) co_await on.wait(held);
      EXPECT_TRUE(held);
      const auto ended = co_await as_expected(with_timeout(on.wait(held), 1ms));
      EXPECT_EQ(ended.error(), std::errc::timed_out);
      EXPECT_TRUE(held);
    }(m, changed, ready));
    co_await yield();
    {
      auto held = co_await m.lock();
      ready = true;
      changed.notify_all();
    }
    co_await s.join();
    EXPECT_FALSE(m.locked());
  }());
}

HEDDLE_TEST(latch, "waiters go on when the count is zero, and later ones at once") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    latch l(2);
    scope s;
    int passed = 0;
    for (int i = 0; i < 3; ++i)
      s.spawn([](latch& on, int& count) -> task<> {
        co_await on.wait();
        ++count;
      }(l, passed));
    co_await yield();
    l.count_down();
    co_await yield();
    EXPECT_EQ(passed, 0);
    co_await l.arrive_and_wait();
    co_await l.wait();
    co_await s.join();
    EXPECT_EQ(passed, 3);
  }());
}

namespace {
task<> rounds(barrier& b, std::string& log, int count, int& last) {
  for (int i = 0; i < count; ++i) {
    log += static_cast<char>('0' + i);
    const bool was_last = co_await b.arrive();
    last += was_last ? 1 : 0;
  }
}
}  // namespace

HEDDLE_TEST(barrier, "all go on when the last has come, again and again") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    barrier b(3);
    std::string log;
    int last = 0;
    scope s;
    for (int i = 0; i < 3; ++i) s.spawn(rounds(b, log, 4, last));
    co_await s.join();
    EXPECT_EQ(log, "000111222333");
    EXPECT_EQ(last, 4);
    EXPECT_EQ(b.phase(), 4u);
  }());
}

HEDDLE_TEST(barrier, "an arrival that times out is taken back, and a party may leave") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    barrier b(2);
    const auto alone = co_await as_expected(with_timeout(b.arrive(), 1ms));
    EXPECT_EQ(alone.error(), std::errc::timed_out);
    scope s;
    s.spawn([](barrier& on) -> task<> { static_cast<void>(co_await on.arrive()); }(b));
    co_await yield();
    EXPECT_EQ(b.phase(), 0u);
    b.leave();
    co_await s.join();
    EXPECT_EQ(b.phase(), 1u);
  }());
}

HEDDLE_TEST(lock_table, "equal names share a lock, which goes with its last handle") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    lock_table<std::string> table;
    {
      auto a = table.open("a");
      auto same = table.open("a");
      auto other = table.open("b");
      EXPECT_EQ(table.size(), 2u);
      auto held = co_await a->lock();
      EXPECT_FALSE(same->try_lock());
      EXPECT_TRUE(other->try_lock_shared());
      const auto copy = same;
      EXPECT_EQ(copy.name(), "a");
      held.release();
    }
    EXPECT_EQ(table.size(), 0u);
  }());
}

namespace {
task<> one_call(int& out, int& most, int& ended) {
  most = std::max(most, ++out);
  co_await sleep_for(1ms);
  --out;
  ++ended;
}
task<> fails_third(int i, int& started) {
  ++started;
  co_await sleep_for(1ms);
  if (i == 2) throw std::runtime_error("third");
}
}  // namespace

DRIVER_TEST(windowed, "S5 never more than W calls are out, and flush waits for all") {
  runtime rt(make());
  rt.run([]() -> task<> {
    int out = 0, most = 0, ended = 0;
    windowed w(4);
    for (int i = 0; i < 20; ++i) {
      co_await w.spawn(one_call(out, most, ended));
      EXPECT_LE(w.running(), 4u);
    }
    co_await w.flush();
    EXPECT_EQ(most, 4);
    EXPECT_EQ(ended, 20);
    co_await w.spawn(one_call(out, most, ended));
    co_await w.flush();
    EXPECT_EQ(ended, 21);
  }());
}

HEDDLE_TEST(windowed, "the first failure ends the window and is rethrown") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    int started = 0;
    std::string what;
    try {
      co_await each_windowed(
          100, 3, [&started](std::size_t i) { return fails_third(static_cast<int>(i), started); });
    } catch (const std::runtime_error& e) {
      what = e.what();
    }
    EXPECT_EQ(what, "third");
    EXPECT_LT(started, 10);
  }());
}

namespace {

task<> fills(windowed& w, std::vector<std::string>& log, int tasks) {
  const auto one = [](std::vector<std::string>& to, int i) -> task<> {
    to.push_back("start " + std::to_string(i));
    co_await sleep_for(10ms);
    if (i == 1) throw std::runtime_error("bad");
    to.push_back("end " + std::to_string(i));
  };
  for (int i = 0; i < tasks; ++i) co_await w.spawn(one(log, i));
}

}  // namespace

HEDDLE_TEST(windowed, "a failure is told each time, and nothing is started after it") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    std::vector<std::string> log;
    windowed w(2);
    EXPECT_THROW(co_await fills(w, log, 8), std::runtime_error);
    const std::size_t begun = log.size();
    for (int i = 0; i < 3; ++i) {
      EXPECT_THROW(co_await w.spawn(fills(w, log, 1)), std::runtime_error);
      EXPECT_THROW(co_await w.flush(), std::runtime_error);
    }
    EXPECT_EQ(log.size(), begun);
  }());
}

HEDDLE_TEST(windowed, "with_window waits for what runs however its function ends") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    std::vector<std::string> log;
    EXPECT_THROW(co_await with_window(2, fills, std::ref(log), 8), std::runtime_error);
    log.clear();
    const auto late =
        co_await as_expected(with_timeout(with_window(1, fills, std::ref(log), 8), 5ms));
    EXPECT_EQ(late.error(), std::errc::timed_out);
    EXPECT_EQ(log, std::vector<std::string>{"start 0"});
    log.clear();
    co_await with_window(4, fills, std::ref(log), 1);
    EXPECT_EQ(log.size(), 2u);
    const auto each = co_await as_expected(with_timeout(
        each_windowed(8, 2, [](std::size_t) -> task<> { co_await sleep_for(10ms); }), 15ms));
    EXPECT_EQ(each.error(), std::errc::timed_out);
  }());
}

namespace {
struct listener : tamed_class {
  tamed waits(broadcast<int>& b) {
    broadcast<int>::subscription mine(b);
    static_cast<void>(co_await mine.next());
  }
};
}  // namespace

HEDDLE_TEST(broadcast, "a subscriber that is ended before it runs tells nobody that it is over") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    broadcast<int> b(4);
    auto killed = std::make_unique<listener>();
    std::string log;
    const auto reads = [](broadcast<int>& from, std::string& to) -> task<> {
      broadcast<int>::subscription mine(from);
      while (const auto value = co_await mine.next()) to += std::to_string(*value);
      to += from.closed() ? '.' : '!';
    };
    const auto kills = [](broadcast<int>& from, std::unique_ptr<listener>& other) -> task<> {
      broadcast<int>::subscription mine(from);
      static_cast<void>(co_await mine.next());
      other.reset();
    };
    scope s;
    s.spawn(reads(b, log));
    s.spawn(kills(b, killed));
    co_await yield();
    co_await yield();
    killed->waits(b);
    b.send(1);
    co_await sleep_for(1ms);
    b.send(2);
    co_await sleep_for(1ms);
    b.close();
    co_await s.join();
    EXPECT_EQ(log, "12.");
  }());
}
