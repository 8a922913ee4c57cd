// SPDX-License-Identifier: MIT
// bus::each: a queue that misses no raise, its limit, and its end before and after the bus.
#include <optional>
#include <string>
#include <vector>

#include "heddle/bus/bus.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/sleep.hh"
#include "heddle/core/yield.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

namespace {

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

struct each_word : topic<const std::string&> {};
struct each_pair : topic<int, std::string> {};
struct each_tick : topic<> {};
struct each_key : haltable_topic<int> {};

HEDDLE_TEST(each, "a queue gives every raise in order, also those between two waits") {
  virtual_runtime v;
  bus b;
  std::string seen;
  const auto read = [](bus& on, std::string& out) -> task<> {
    auto words = on.each<each_word>();
    for (int i = 0; i < 4; ++i) {
      const std::string word = co_await words.next();
      out += word;
      co_await sleep_for(10ms);  // the next ones come meanwhile
    }
  };
  v.rt.root().spawn(read, std::ref(b), std::ref(seen));
  const auto write = [](bus& on) -> task<> {
    co_await yield();
    for (const char* w : {"a", "b", "c", "d"}) on.raise<each_word>(w);
  };
  v.rt.root().spawn(write, std::ref(b));
  v.rt.run();
  EXPECT_EQ(seen, "abcd");
  EXPECT_EQ(b.handlers<each_word>(), 0u);
}

HEDDLE_TEST(each, "raises beyond the limit are dropped and counted") {
  virtual_runtime v;
  bus b;
  auto pairs = b.each<each_pair>(2);
  for (int i = 0; i < 5; ++i) b.raise<each_pair>(i, "x");
  EXPECT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs.dropped(), 3u);
  const auto take = [](raise_queue<each_pair>& from) -> task<int> {
    const auto [n, text] = co_await from.next();
    co_return n + static_cast<int>(text.size());
  };
  EXPECT_EQ(v.rt.run(take(pairs)), 1);
  pairs.clear();
  EXPECT_TRUE(pairs.empty());
}

HEDDLE_TEST(each, "a raise that a handler or a filter halts is not queued") {
  virtual_runtime v;
  bus b;
  auto keys = b.each<each_key>(8);
  b.bind<each_key>([](int key) { return key == 1 ? flow::halt : flow::go_on; });
  b.filter<each_key>([](int key) { return key == 2 ? flow::halt : flow::go_on; });
  for (int key = 0; key < 4; ++key) static_cast<void>(b.raise<each_key>(key));
  EXPECT_EQ(keys.size(), 2u);
}

HEDDLE_TEST(each, "several tasks that wait on one queue get one raise each") {
  virtual_runtime v;
  bus b;
  auto words = b.each<each_word>();
  std::string seen;
  const auto take = [](raise_queue<each_word>& from, std::string& out, char mark) -> task<> {
    const std::string word = co_await from.next();
    out += mark + word;
  };
  v.rt.root().spawn(take, std::ref(words), std::ref(seen), '1');
  v.rt.root().spawn(take, std::ref(words), std::ref(seen), '2');
  while (v.rt.once()) {
  }
  b.raise<each_word>("a");
  b.raise<each_word>("b");
  v.rt.run();
  EXPECT_EQ(seen, "1a2b");
}

/// Whether two clicks come within 300 ms, counted from the first.
task<bool> double_clicked(raise_queue<each_tick>& clicks) {
  co_await clicks.next();
  const auto second = co_await as_expected(with_timeout(clicks.next(), 300ms));
  co_return second.has_value();
}

HEDDLE_TEST(each, "a double click is two raises within a span") {
  virtual_runtime v;
  bus b;
  std::string seen;
  const auto watch = [](bus& on, std::string& out) -> task<> {
    auto clicks = on.each<each_tick>(16);
    for (int i = 0; i < 2; ++i) {
      const bool twice = co_await double_clicked(clicks);
      out += twice ? 'd' : 's';
    }
  };
  v.rt.root().spawn(watch, std::ref(b), std::ref(seen));
  const auto click = [](bus& on) -> task<> {
    co_await sleep_for(10ms);
    on.raise<each_tick>();
    co_await sleep_for(400ms);
    on.raise<each_tick>();
    co_await sleep_for(200ms);
    on.raise<each_tick>();
  };
  v.rt.root().spawn(click, std::ref(b));
  v.rt.run();
  EXPECT_EQ(seen, "sd");
}

HEDDLE_TEST(each, "a wait that is cancelled takes no raise") {
  virtual_runtime v;
  bus b;
  auto words = b.each<each_word>();
  const auto run = [](bus& on, raise_queue<each_word>& from) -> task<std::string> {
    const auto none = co_await as_expected(with_timeout(from.next(), 5ms));
    EXPECT_EQ(none.error(), std::errc::timed_out);
    on.raise<each_word>("kept");
    co_return co_await from.next();
  };
  EXPECT_EQ(v.rt.run(run(b, words)), "kept");
}

HEDDLE_TEST(each, "after the end of the bus a queue gives what it has, and then ends") {
  virtual_runtime v;
  auto b = std::make_optional<bus>();
  auto words = b->each<each_word>();
  b->raise<each_word>("last");
  std::string seen;
  const auto read = [](raise_queue<each_word>& from, std::string& out) -> task<> {
    for (;;) {
      auto word = co_await as_expected(from.next());
      if (!word) {
        out += word.error() == std::errc::operation_canceled ? " canceled" : " failed";
        co_return;
      }
      out += *word;
    }
  };
  v.rt.root().spawn(read, std::ref(words), std::ref(seen));
  while (v.rt.once()) {
  }
  EXPECT_EQ(seen, "last");
  b.reset();
  v.rt.run();
  EXPECT_EQ(seen, "last canceled");
}

HEDDLE_TEST(each, "a queue that ends in a raise is unbound, and that raise does not reach it") {
  virtual_runtime v;
  bus b;
  std::optional<raise_queue<each_tick>> ticks = b.each<each_tick>();
  b.bind<each_tick>([&ticks] { ticks.reset(); });
  b.raise<each_tick>();
  b.raise<each_tick>();
  EXPECT_FALSE(ticks.has_value());
  EXPECT_EQ(b.handlers<each_tick>(), 1u);
}

}  // namespace
