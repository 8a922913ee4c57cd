// SPDX-License-Identifier: MIT
// Two-phase choice: a branch of any() that loses takes nothing from locks and channels, whatever
// the order in which things happen. A storm of seeded interleavings runs on the simulation driver.
#include "heddle/core/detail/choice.hh"

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "heddle/heddle.hh"
#include "heddle/sim/driver.hh"
#include "heddle/sync/channel.hh"
#include "heddle/sync/condition.hh"
#include "heddle/sync/mutex.hh"
#include "heddle/sync/semaphore.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

using namespace heddle;
using namespace std::chrono_literals;
using heddle::test::virtual_runtime;

namespace {

task<> one_of_two_channels(channel<int>& a, channel<int>& b, std::string& log) {
  auto won = co_await any(a.pop(), b.pop());
  log += won.index == 0 ? 'a' : 'b';
  EXPECT_NE(static_cast<bool>(std::get<0>(won.results)),
            static_cast<bool>(std::get<1>(won.results)));
}

}  // namespace

HEDDLE_TEST(choice, "when two channels fill in one turn, one value is taken and one stays") {
  virtual_runtime v;
  channel<int> a(4), b(4);
  std::string log;
  v.rt.spawn(one_of_two_channels(a, b, log));
  for (int i = 0; i < 3; ++i) v.rt.once();  // both branches wait now
  EXPECT_TRUE(b.try_push(1));
  EXPECT_TRUE(a.try_push(2));
  v.rt.run();
  EXPECT_EQ(log, "b");
  EXPECT_EQ(a.size(), 1u);
  EXPECT_EQ(b.size(), 0u);
}

HEDDLE_TEST(choice, "what is ready already is taken by one branch only") {
  virtual_runtime v;
  channel<int> a(4), b(4);
  std::string log;
  EXPECT_TRUE(a.try_push(1) && b.try_push(2));
  v.rt.spawn(one_of_two_channels(a, b, log));
  v.rt.run();
  EXPECT_EQ(log, "a");
  EXPECT_EQ(b.size(), 1u);
}

HEDDLE_TEST(choice, "a lock passes over a waiter whose choice went elsewhere") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    mutex m;
    channel<int> c(1);
    std::string log;
    scope s;
    auto held = co_await m.lock();
    s.spawn([](mutex& lock, channel<int>& from, std::string& seen) -> task<> {
      auto won = co_await any(lock.lock(), from.pop());
      seen += won.index == 0 ? 'm' : 'c';
      EXPECT_FALSE(std::get<0>(won.results));
    }(m, c, log));
    co_await sleep_for(1ms);
    s.spawn([](mutex& lock, std::string& seen) -> task<> {
      auto mine = co_await lock.lock();
      seen += 'n';
    }(m, log));
    co_await sleep_for(1ms);
    EXPECT_TRUE(c.try_push(1));
    held.release();  // the first in line has made its choice: the next one gets it
    co_await s.join();
    EXPECT_TRUE(log == "nc" || log == "cn") << log;
    EXPECT_FALSE(m.locked());
  }());
}

HEDDLE_TEST(choice, "a notification passes over a waiter whose choice went elsewhere") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    condition a, b;
    std::string log;
    scope s;
    s.spawn([](condition& x, condition& y, std::string& seen) -> task<> {
      auto won = co_await any(x.wait(), y.wait());
      seen += won.index == 0 ? 'x' : 'y';
    }(a, b, log));
    co_await sleep_for(1ms);
    s.spawn([](condition& y, std::string& seen) -> task<> {
      co_await y.wait();
      seen += 'z';
    }(b, log));
    co_await sleep_for(1ms);
    EXPECT_TRUE(a.notify_one());
    EXPECT_TRUE(b.notify_one());  // for the second one
    co_await s.join();
    EXPECT_TRUE(log == "zx" || log == "xz") << log;
  }());
}

HEDDLE_TEST(choice, "adapters pass the choice on to what they keep") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    channel<int> a(4), b(4);
    EXPECT_TRUE(a.try_push(1) && b.try_push(2));
    auto won = co_await any(with_timeout(a.pop(), 1s), as_expected(with_timeout(b.pop(), 1s)));
    EXPECT_EQ(won.index, 0u);
    EXPECT_EQ(b.size(), 1u);
  }());
}

HEDDLE_TEST(choice, "all takes from every branch") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    mutex m, n;
    {
      auto both = co_await all(m.lock(), n.lock());
      EXPECT_TRUE(m.locked() && n.locked());
    }
    EXPECT_FALSE(m.locked() || n.locked());
  }());
}

HEDDLE_TEST(choice, "two branches of one choice do not deal with each other") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    channel<int> c(0);
    auto won = co_await any(c.push(1), c.pop(), sleep_for(1ms));
    EXPECT_EQ(won.index, 2u);
    EXPECT_FALSE(std::get<0>(won.results) || std::get<1>(won.results));
  }());
}

HEDDLE_TEST(choice, "a push and a pop that are branches of two choices meet, and both are made") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    channel<int> c(0), nobody(0);
    scope s;
    s.spawn([](channel<int>& to, channel<int>& other) -> task<> {
      auto won = co_await any(to.push(5), other.pop());
      EXPECT_EQ(won.index, 0u);
    }(c, nobody));
    auto won = co_await any(nobody.pop(), c.pop());
    EXPECT_EQ(won.index, 1u);
    EXPECT_EQ(*std::get<1>(won.results), 5);
    co_await s.join();
  }());
}

namespace {

/// What the storm's tasks share, and what must add up at the end.
struct sea {
  explicit sea(std::uint64_t seed) : random(seed) {}
  std::mt19937_64 random;
  mutex lock;
  semaphore permits{2};
  channel<int> narrow{1}, wide{8}, unbuffered{0};
  int inside = 0;
  std::uint32_t permits_out = 0;
  long pushed = 0, popped = 0, ended = 0;

  [[nodiscard]] std::uint64_t below(std::uint64_t n) { return random() % n; }
  [[nodiscard]] channel<int>& some_channel() {
    const std::uint64_t n = below(3);
    return n == 0 ? narrow : n == 1 ? wide : unbuffered;
  }
  [[nodiscard]] nanoseconds some_time() { return nanoseconds(below(4000) * 1000); }
};

template <class Results>
task<> use_winner(sea& s, Results& won) {
  // Exactly the winner of lock, permit, push and pop has something; a timer may have ended too.
  const bool locked = std::get<0>(won.results).has_value();
  const bool permitted = std::get<1>(won.results) && *std::get<1>(won.results);
  const bool pushed = std::get<2>(won.results).has_value();
  const bool popped = std::get<3>(won.results).has_value();
  const bool nothing = won.index == 4 || (won.index == 1 && !permitted);
  EXPECT_EQ(locked + permitted + pushed + popped, nothing ? 0 : 1);
  if (locked) {
    EXPECT_EQ(++s.inside, 1);
    static_cast<void>(co_await as_expected(shield(sleep_for(s.some_time()), 1h)));
    --s.inside;
  }
  if (permitted) {
    EXPECT_LE(++s.permits_out, 2u);
    static_cast<void>(co_await as_expected(shield(sleep_for(s.some_time()), 1h)));
    --s.permits_out;
  }
  if (pushed) ++s.pushed;
  if (popped) ++s.popped;
}

task<> sails(sea& s, int count) {
  for (int i = 0; i < count; ++i) {
    // What a scope above cancels after it took something is noted as well.
    auto won =
        co_await any(s.lock.lock(), as_expected(with_timeout(s.permits.acquire(), s.some_time())),
                     s.some_channel().push(1), s.some_channel().pop(), sleep_for(s.some_time()));
    co_await use_winner(s, won);
    if (s.below(3) == 0) co_await sleep_for(s.some_time());
  }
  ++s.ended;
}

task<> fleet(sea& s) {
  scope ships;
  for (int i = 0; i < 12; ++i) ships.spawn(sails(s, 30));
  co_await ships.join();
}

}  // namespace

HEDDLE_TEST(choice, "a storm of 40 seeds: what is taken adds up, and nobody takes twice") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    sea s(seed);
    runtime rt(std::make_unique<sim_driver>(sim_options{.seed = seed}));
    rt.run(fleet(s));
    EXPECT_EQ(s.ended, 12);
    EXPECT_GT(s.popped, 10);
    EXPECT_EQ(s.pushed, s.popped + static_cast<long>(s.narrow.size() + s.wide.size()));
    EXPECT_FALSE(s.lock.locked());
    EXPECT_EQ(s.permits.free_units(), 2u);
    EXPECT_EQ(s.lock.waiting() + s.permits.waiting(), 0u);
    if (::testing::Test::HasFailure()) break;
  }
}

HEDDLE_TEST(choice, "a storm that is cancelled at any moment loses and keeps nothing, 40 seeds") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    sea s(seed);
    runtime rt(std::make_unique<sim_driver>(sim_options{.seed = seed}));
    rt.run([](sea& on, nanoseconds span) -> task<> {
      const auto ended = co_await as_expected(with_timeout(fleet(on), span));
      EXPECT_TRUE(ended || ended.error() == std::errc::timed_out);
    }(s, nanoseconds(seed * 97'003)));
    EXPECT_FALSE(s.lock.locked());
    EXPECT_EQ(s.permits.free_units(), 2u);
    EXPECT_EQ(s.inside, 0);
    EXPECT_EQ(s.pushed, s.popped + static_cast<long>(s.narrow.size() + s.wide.size()));
    if (::testing::Test::HasFailure()) break;
  }
}
