// SPDX-License-Identifier: MIT
// Timeouts around the waits of this room: the one that waits leaves its line and takes nothing.
#include "heddle/heddle.hh"
#include "heddle/sync/channel.hh"
#include "heddle/sync/mutex.hh"
#include "heddle/sync/semaphore.hh"
#include "support/drivers.hh"
#include "support/test.hh"

using namespace heddle;
using namespace std::chrono_literals;

DRIVER_TEST(timeout, "who waits for a lock leaves the line, and the next one is not kept waiting") {
  runtime rt(make());
  rt.run([]() -> task<> {
    mutex m;
    semaphore units(2);
    {
      const auto held = co_await m.lock();
      const auto late = co_await as_expected(with_timeout(m.lock(), 1ms));
      EXPECT_EQ(late.error(), std::errc::timed_out);
      const auto at_once = co_await as_expected(with_timeout(m.lock(), 0ms));
      EXPECT_EQ(at_once.error(), std::errc::timed_out);
    }
    const auto free = co_await as_expected(with_timeout(m.lock(), 1ms));
    EXPECT_TRUE(free.has_value());
    const auto one = co_await units.acquire();
    const auto both = co_await as_expected(with_timeout(units.acquire(2), 1ms));
    EXPECT_EQ(both.error(), std::errc::timed_out);
    const auto other = co_await as_expected(with_timeout(units.acquire(), 1ms));
    EXPECT_TRUE(other.has_value());
  }());
}

DRIVER_TEST(timeout, "a value that was not pushed in time is not there, and a pop loses none") {
  runtime rt(make());
  rt.run([]() -> task<> {
    channel<int> c(1);
    const auto nothing = co_await as_expected(with_timeout(c.pop(), 1ms));
    EXPECT_EQ(nothing.error(), std::errc::timed_out);
    co_await with_timeout(c.push(1), 1h);
    const auto full = co_await as_expected(with_timeout(c.push(2), 1ms));
    EXPECT_EQ(full.error(), std::errc::timed_out);
    EXPECT_EQ(co_await with_timeout(c.pop(), 1h), 1);
    EXPECT_TRUE(c.empty());
    scope s;
    s.spawn([](channel<int>& from) -> task<> {
      const auto got = co_await with_timeout(from.pop(), 1h);
      EXPECT_EQ(got, 3);
    }(c));
    co_await yield();
    co_await c.push(3);
    co_await s.join();
  }());
}
