// SPDX-License-Identifier: MIT
// Rule H1: channels, bounded and not, with functions and events at their ends; broadcasts.
#include "heddle/sync/channel.hh"

#include <memory>
#include <string>
#include <vector>

#include "heddle/core/twait.hh"
#include "heddle/heddle.hh"
#include "heddle/sync/broadcast.hh"
#include "support/drivers.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

using namespace heddle;
using namespace std::chrono_literals;
using heddle::test::virtual_runtime;

namespace {

task<> takes_all(channel<int>& from, std::vector<int>& got) {
  while (auto n = co_await from.pop()) got.push_back(*n);
}
task<> gives(channel<int>& to, int first, int count) {
  for (int i = 0; i < count; ++i) co_await to.push(first + i);
}
task<> producers_and_consumers(std::size_t capacity, std::vector<int>& got) {
  channel<int> c(capacity);
  scope consumers;
  for (int i = 0; i < 3; ++i) consumers.spawn(takes_all(c, got));
  {
    scope producers;
    for (int i = 0; i < 4; ++i) producers.spawn(gives(c, 100 * i, 50));
    co_await producers.join();
  }
  c.close();
  co_await consumers.join();
}

}  // namespace

DRIVER_TEST(channel, "H1 every value that is pushed is popped once, whatever the capacity") {
  for (const std::size_t capacity :
       {std::size_t{0}, std::size_t{1}, std::size_t{7}, channel<int>::unbounded}) {
    runtime rt(make());
    std::vector<int> got;
    rt.run(producers_and_consumers(capacity, got));
    std::sort(got.begin(), got.end());
    ASSERT_EQ(got.size(), 200u) << capacity;
    for (int i = 0; i < 200; ++i)
      ASSERT_EQ(got[static_cast<std::size_t>(i)], i / 50 * 100 + i % 50);
  }
}

HEDDLE_TEST(channel, "H1 both ends can be pushed to and popped from") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    channel<int> c(channel<int>::unbounded);
    co_await c.push(2);
    co_await c.push(3);
    co_await c.push_front(1);
    EXPECT_EQ(c.size(), 3u);
    EXPECT_EQ(co_await c.pop_back(), 3);
    EXPECT_EQ(co_await c.pop(), 1);
    EXPECT_EQ(co_await c.pop(), 2);
    EXPECT_TRUE(c.empty());
    int newest = 0;
    co_await c.push(4);
    co_await c.push(5);
    twait { c.pop_back(mkevent(newest)); }
    EXPECT_EQ(newest, 5);
    channel<int> full(2);
    co_await full.push(1);
    co_await full.push(2);
    scope s;
    s.spawn([](channel<int>& to) -> task<> { co_await to.push_front(0); }(full));
    co_await yield();
    EXPECT_EQ(co_await full.pop(), 1);
    EXPECT_EQ(co_await full.pop(), 0);  // which waited while 2 stood there
    EXPECT_EQ(co_await full.pop(), 2);
    co_await s.join();
  }());
}

HEDDLE_TEST(channel, "H1 a value goes to the oldest live waiter, and dead ones are skipped") {
  virtual_runtime v;
  channel<int> c(4);
  int a = 0, b = 0, younger = 0;
  rendezvous<int> kept;
  {
    rendezvous<> gone;
    c.pop(gone.make_event(a));
    c.pop(kept.make_event(1, b));
    c.pop(kept.make_event(4, younger));
  }
  EXPECT_TRUE(c.try_push(5));
  EXPECT_EQ(a, 0);
  EXPECT_EQ(b, 5);
  EXPECT_EQ(younger, 0);
  EXPECT_TRUE(kept.has_ready());
  EXPECT_TRUE(c.try_push(7));
  EXPECT_EQ(younger, 7);
  EXPECT_TRUE(c.try_push(6));
  c.pop(kept.make_event(2, a));  // a value that is queued comes at once
  EXPECT_EQ(a, 6);
  c.close();
  event<int> late = kept.make_event(3, b);
  c.pop(late);
  EXPECT_FALSE(late);  // unblocked, with its slot untouched
  EXPECT_EQ(b, 5);
}

HEDDLE_TEST(channel, "H1 functions and events that wait are served in the order of asking") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
      channel<int> c(capacity);
      scope s;
      int got[4] = {};
      const auto take = [](channel<int>& from, int& out) -> task<> {
        out = (co_await from.pop()).value();
      };
      rendezvous<> told;
      s.spawn(take(c, got[0]));
      s.spawn(take(c, got[1]));
      co_await yield();
      c.pop(told.make_event(got[2]));
      s.spawn(take(c, got[3]));
      co_await yield();
      for (int i = 1; i <= 4; ++i) co_await c.push(i);
      co_await s.join();
      co_await told;
      for (int i = 0; i != 4; ++i) EXPECT_EQ(got[i], i + 1) << capacity;
      const int waiting = 5;
      for (int i = 0; i != waiting; ++i)
        s.spawn([](channel<int>& to, int n) -> task<> { co_await to.push(n); }(c, i));
      co_await yield();
      EXPECT_EQ(c.size(), capacity);
      for (int i = 0; i != waiting; ++i) EXPECT_EQ(co_await c.pop(), i) << capacity;
      co_await s.join();
    }
  }());
}

HEDDLE_TEST(channel, "a full channel makes pushers wait in order, and a timeout takes one out") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    channel<int> c(1);
    scope s;
    co_await c.push(1);
    EXPECT_FALSE(c.try_push(9));
    s.spawn([](channel<int>& to) -> task<> {
      const auto pushed = co_await as_expected(with_timeout(to.push(2), 1ms));
      EXPECT_EQ(pushed.error(), std::errc::timed_out);
    }(c));
    s.spawn([](channel<int>& to) -> task<> { co_await to.push(3); }(c));
    co_await sleep_for(2ms);
    EXPECT_EQ(co_await c.pop(), 1);
    EXPECT_EQ(co_await c.pop(), 3);
    co_await s.join();
  }());
}

HEDDLE_TEST(channel, "many values go through at once, in order, through any capacity") {
  virtual_runtime v;
  for (const std::size_t capacity : {std::size_t{0}, std::size_t{3}, std::size_t{64}}) {
    v.rt.run([](std::size_t room) -> task<> {
      channel<int> c(room);
      scope s;
      s.spawn([](channel<int>& to) -> task<> {
        std::vector<int> values(20);
        for (int i = 0; i < 20; ++i) values[static_cast<std::size_t>(i)] = i;
        co_await to.push_many(values);
        to.close();
      }(c));
      std::vector<int> got;
      for (std::size_t n = 1; n != 0;) {
        n = co_await c.pop_many(got, 7);
        EXPECT_LE(n, 7u);
      }
      co_await s.join();
      EXPECT_EQ(got.size(), 20u);
      EXPECT_TRUE(std::is_sorted(got.begin(), got.end()));
    }(capacity));
  }
}

HEDDLE_TEST(channel, "closing fails pushers, lets the rest be popped, and then gives nothing") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    channel<std::unique_ptr<int>> c(1);
    scope s;
    co_await c.push(std::make_unique<int>(4));
    s.spawn([](channel<std::unique_ptr<int>>& to) -> task<> {
      const auto pushed = co_await as_expected(to.push(std::make_unique<int>(5)));
      EXPECT_EQ(pushed.error(), std::errc::broken_pipe);
    }(c));
    co_await yield();
    c.close();
    const auto again = co_await as_expected(c.push(nullptr));
    EXPECT_EQ(again.error(), std::errc::broken_pipe);
    const auto last = co_await c.pop();
    EXPECT_EQ(**last, 4);
    EXPECT_FALSE(co_await c.pop());
    EXPECT_FALSE(c.try_pop());
    co_await s.join();
  }());
}

HEDDLE_TEST(channel, "a value that was handed over is not lost to a cancel of the same turn") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    channel<int> c(0);
    cancel_source stop;
    scope s;
    int got = 0;
    s.spawn([](channel<int>& from, cancel_source& source, int& out) -> task<> {
      const auto n = co_await as_expected(with_cancel(source, from.pop()));
      out = n && *n ? **n : -1;
    }(c, stop, got));
    co_await yield();
    co_await c.push(8);
    stop.cancel();
    co_await s.join();
    EXPECT_EQ(got, 8);
  }());
}

namespace {
task<> listens(broadcast<int>& from, std::string& seen, bool slowly) {
  broadcast<int>::subscription mine(from);
  while (auto n = co_await mine.next()) {
    seen += static_cast<char>('0' + *n);
    if (slowly) co_await sleep_for(10ms);
  }
  if (mine.missed() != 0) seen += "-" + std::to_string(mine.missed());
}
}  // namespace

HEDDLE_TEST(broadcast, "every subscriber gets every value, and one that falls behind is told") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    broadcast<int> b(2);
    std::string fast, slow;
    scope s;
    b.send(0);  // before they subscribe
    s.spawn(listens(b, fast, false));
    s.spawn(listens(b, slow, true));
    for (int i = 1; i <= 6; ++i) {
      co_await sleep_for(1ms);
      b.send(i);
    }
    b.close();
    co_await s.join();
    EXPECT_EQ(fast, "123456");
    EXPECT_EQ(slow, "156-3");
  }());
}
