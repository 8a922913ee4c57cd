// SPDX-License-Identifier: MIT
// What finished is given, also when a time limit ends the wait around it at the same moment.
#include <stdexcept>
#include <string>

#include "heddle/core/combine.hh"
#include "heddle/core/deadline.hh"
#include "heddle/heddle.hh"
#include "heddle/io/unix.hh"
#include "heddle/sync/windowed.hh"
#include "support/drivers.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

using namespace heddle;
using namespace std::chrono_literals;
using heddle::test::virtual_runtime;

namespace {

/// Has its result although it is asked to end, as a read has whose bytes were there.
task<int> was_done(int value) {
  co_await shield(sleep_for(5ms), 1h);
  co_return value;
}
task<int> fails_first() {
  co_await sleep_for(1ms);
  throw std::runtime_error("first");
}

task<> sets_late(bool& whole) {
  co_await shield(sleep_for(5ms), 1h);
  whole = true;
}
task<> fails_late() {
  co_await shield(sleep_for(5ms), 1h);
  throw std::runtime_error("late");
}

task<> any_in_a_timeout() {
  const auto won = co_await with_timeout(any(sleep_for(1h), was_done(7)), 1ms);
  EXPECT_EQ(won.index, 1u);
  EXPECT_EQ(std::get<1>(won.results), 7);
  EXPECT_FALSE(std::get<0>(won.results).has_value());
  EXPECT_EQ(won.failure, nullptr);

  std::vector<task<int>> tasks;
  tasks.push_back(fails_first());
  tasks.push_back(was_done(8));
  const auto first = co_await with_timeout(any(std::move(tasks)), 500us);
  EXPECT_EQ(first.index, 1u);
  EXPECT_EQ(first.results[1], 8);

  const auto inner =
      co_await with_timeout(any(any(was_done(9), sleep_for(1h)), sleep_for(2h)), 1ms);
  EXPECT_EQ(inner.index, 0u);
  EXPECT_EQ(std::get<0>(std::get<0>(inner.results)->results), 9);

  const auto none = co_await as_expected(with_timeout(any(sleep_for(1h), sleep_for(2h)), 1ms));
  EXPECT_EQ(none.error(), std::errc::timed_out);
}

task<> all_in_a_timeout() {
  const auto [a, b] = co_await with_timeout(all(was_done(7), was_done(8)), 1ms);
  EXPECT_EQ(a, 7);
  EXPECT_EQ(b, 8);
  std::vector<task<int>> tasks;
  tasks.push_back(was_done(9));
  tasks.push_back(was_done(10));
  const std::vector<int> values = co_await with_timeout(all(std::move(tasks)), 1ms);
  EXPECT_EQ(values, (std::vector{9, 10}));
  bool whole = false;
  std::vector<task<>> without_values;
  without_values.push_back(sets_late(whole));
  co_await with_timeout(all(std::move(without_values)), 1ms);
  EXPECT_TRUE(whole);

  const auto cut = co_await as_expected(with_timeout(all(was_done(7), sleep_for(1h)), 1ms));
  EXPECT_EQ(cut.error(), std::errc::timed_out);
  bool failed = false;
  try {
    static_cast<void>(co_await with_timeout(all(was_done(7), fails_late()), 1ms));
  } catch (const std::runtime_error&) {
    failed = true;
  }
  EXPECT_TRUE(failed);
}

task<> any_with_a_failure() {
  const auto won = co_await any(fails_first(), was_done(7));
  EXPECT_EQ(won.index, 1u);
  EXPECT_EQ(std::get<1>(won.results), 7);
  EXPECT_THROW(std::rethrow_exception(won.failure), std::runtime_error);
  std::string caught;
  try {
    static_cast<void>(co_await any(fails_first(), sleep_for(1h)));
  } catch (const std::runtime_error& e) {
    caught = e.what();
  }
  EXPECT_EQ(caught, "first");
}

task<> sleeps_an_hour() { co_await sleep_for(1h); }
task<int> leaves_a_child(scope& s) {
  s.spawn(sleeps_an_hour());
  co_return co_await was_done(3);
}
task<int> leaves_one_in_the_window(windowed& w) {
  co_await w.spawn(sleeps_an_hour());
  co_return co_await was_done(4);
}
task<int> fails_with_a_child(scope& s) {
  s.spawn(sleeps_an_hour());
  static_cast<void>(co_await was_done(3));
  throw std::runtime_error("body");
}

task<> scopes_in_a_timeout() {
  EXPECT_EQ(co_await with_timeout(with_scope(leaves_a_child), 1ms), 3);
  EXPECT_EQ(co_await with_timeout(with_window(2, leaves_one_in_the_window), 1ms), 4);
  bool failed = false;
  try {
    static_cast<void>(co_await with_timeout(with_scope(fails_with_a_child), 1ms));
  } catch (const std::runtime_error&) {
    failed = true;
  }
  EXPECT_TRUE(failed);
}

constexpr std::size_t bytes_in_all = 300;

struct two_ends {
  stream to, from;
  std::size_t read = 0;
};

task<> writes_single_bytes(two_ends& w) {
  for (std::size_t i = 0; i != bytes_in_all; ++i) {
    co_await sleep_for(std::chrono::microseconds(i * 7 % 41));
    co_await w.to.write(byte_view(std::string_view("x")));
  }
}
task<> reads_with_timeouts(two_ends& w) {
  char byte[1];
  for (unsigned i = 0; i != 20'000 && w.read != bytes_in_all; ++i) {
    const std::chrono::microseconds limit(1 + i * 13 % 37);
    const auto won =
        co_await as_expected(with_timeout(any(w.from.read_some(byte), sleep_for(1h)), limit));
    if (won && std::get<0>(won->results)) w.read += *std::get<0>(won->results);
  }
}
task<> counts_bytes(scope& s, two_ends& w) {
  s.spawn(writes_single_bytes(w));
  s.spawn(reads_with_timeouts(w));
  co_return;
}

}  // namespace

HEDDLE_TEST(combine, "W3 any gives what finished although a time limit ended the other branches") {
  virtual_runtime v;
  v.rt.run(any_in_a_timeout());
}

HEDDLE_TEST(combine, "W3 all gives its values although a time limit ended while they came") {
  virtual_runtime v;
  v.rt.run(all_in_a_timeout());
}

HEDDLE_TEST(combine, "any gives a result and the failure of a branch that ended before") {
  virtual_runtime v;
  v.rt.run(any_with_a_failure());
}

HEDDLE_TEST(scope, "a function's value is given although a time limit ended its tasks") {
  virtual_runtime v;
  v.rt.run(scopes_in_a_timeout());
}

DRIVER_TEST(combine, "no byte is lost when a read in any is ended by a time limit") {
  runtime rt(make());
  two_ends w;
  std::tie(w.to, w.from) = unix_pair();
  rt.run(with_scope(counts_bytes, std::ref(w)));
  EXPECT_EQ(w.read, bytes_in_all);
}
