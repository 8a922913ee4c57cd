// SPDX-License-Identifier: MIT
// What lives in one color and is used from two is reported, with the kind of object, both lines,
// the line that made it, and what to use instead.
#include <optional>
#include <string>
#include <vector>

#include "heddle/heddle.hh"
#include "heddle/sync/barrier.hh"
#include "heddle/sync/broadcast.hh"
#include "heddle/sync/channel.hh"
#include "heddle/sync/condition.hh"
#include "heddle/sync/latch.hh"
#include "heddle/sync/mutex.hh"
#include "heddle/sync/semaphore.hh"
#include "heddle/sync/shared_channel.hh"
#include "heddle/sync/shared_mutex.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

struct seen {
  std::string text;
  unsigned made, first, second;
};

/// Uses the object in color 1 and then in color 2, and gives what was reported.
template <class T>
std::vector<seen> use_in_two(T& object, task<> (*use)(T&), unsigned workers) {
  std::vector<seen> reports;
  runtime_options options;
  options.workers = workers;
  options.report = [&](const diagnostic& d) {
    if (d.kind == diagnostic_kind::wrong_color)
      reports.push_back({to_string(d), resolve_site(d.object_made).line, resolve_site(d.made).line,
                         resolve_site(d.waits).line});
  };
  runtime rt(options);
  rt.run([](T& o, task<> (*f)(T&)) -> task<> {
    for (int c = 1; c != 3; ++c) {
      scope s;
      s.spawn(color(c), f(o));
      co_await s.join();
    }
  }(object, use));
  return reports;
}

template <class T>
void expect_report(T& (*make)(std::optional<T>&, unsigned& line), task<> (*use)(T&),
                   const unsigned& used, const std::string& kind, const std::string& remedy) {
  for (const unsigned workers : {1U, 2U}) {
    SCOPED_TRACE(kind + ", workers: " + std::to_string(workers));
    std::optional<T> room;
    unsigned made = 0;
    T& object = make(room, made);
    const std::vector<seen> reports = use_in_two(object, use, workers);
    ASSERT_EQ(reports.size(), 1U);
    const std::string& text = reports[0].text;
    EXPECT_NE(text.find(kind + " of one color was used in another"), std::string::npos) << text;
    EXPECT_NE(text.find(remedy), std::string::npos) << text;
    EXPECT_EQ(reports[0].made, made);
    EXPECT_EQ(reports[0].first, used);
    EXPECT_EQ(reports[0].second, used);
  }
}

unsigned used = 0;
}  // namespace

HEDDLE_TEST(one_color, "a mutex used from two colors is reported with its lines and the remedy") {
  expect_report<mutex>(
      [](std::optional<mutex>& room, unsigned& line) -> mutex& {
        line = __LINE__ + 1;
        return room.emplace(std::source_location::current());
      },
      [](mutex& m) -> task<> {
        used = __LINE__ + 1;
        auto held = co_await m.lock();
      },
      used, "a mutex", "atomically()");
}

HEDDLE_TEST(one_color, "the same for the other locks") {
  expect_report<shared_mutex>(
      [](std::optional<shared_mutex>& room, unsigned& line) -> shared_mutex& {
        line = __LINE__ + 1;
        return room.emplace(std::source_location::current());
      },
      [](shared_mutex& m) -> task<> {
        used = __LINE__ + 1;
        auto held = co_await m.lock_shared();
      },
      used, "a shared mutex", "atomically()");
  expect_report<semaphore>(
      [](std::optional<semaphore>& room, unsigned& line) -> semaphore& {
        line = __LINE__ + 1;
        return room.emplace(2, std::source_location::current());
      },
      [](semaphore& s) -> task<> {
        used = __LINE__ + 1;
        auto held = s.try_acquire();
        co_return;
      },
      used, "a semaphore", "atomically()");
}

HEDDLE_TEST(one_color, "the same for channels, which name the one that works across colors") {
  expect_report<channel<int>>(
      [](std::optional<channel<int>>& room, unsigned& line) -> channel<int>& {
        line = __LINE__ + 1;
        return room.emplace(8, std::source_location::current());
      },
      [](channel<int>& c) -> task<> {
        used = __LINE__ + 1;
        co_await c.push(1);
      },
      used, "a channel", "shared_channel");
  expect_report<channel<int>>(
      [](std::optional<channel<int>>& room, unsigned& line) -> channel<int>& {
        line = __LINE__ + 1;
        return room.emplace(8, std::source_location::current());
      },
      [](channel<int>& c) -> task<> {
        used = __LINE__ + 1;
        static_cast<void>(c.try_pop());
        co_return;
      },
      used, "a channel", "shared_channel");
  expect_report<broadcast<int>>(
      [](std::optional<broadcast<int>>& room, unsigned& line) -> broadcast<int>& {
        line = __LINE__ + 1;
        return room.emplace(8, std::source_location::current());
      },
      [](broadcast<int>& b) -> task<> {
        used = __LINE__ + 1;
        b.send(1);
        co_return;
      },
      used, "a broadcast", "shared_channel");
}

HEDDLE_TEST(one_color, "the same for conditions, latches and barriers") {
  expect_report<condition>(
      [](std::optional<condition>& room, unsigned& line) -> condition& {
        line = __LINE__ + 1;
        return room.emplace(std::source_location::current());
      },
      [](condition& c) -> task<> {
        used = __LINE__ + 1;
        c.notify_all();
        co_return;
      },
      used, "a condition", "atomically()");
  expect_report<latch>(
      [](std::optional<latch>& room, unsigned& line) -> latch& {
        line = __LINE__ + 1;
        return room.emplace(2, std::source_location::current());
      },
      [](latch& l) -> task<> {
        used = __LINE__ + 1;
        l.count_down();
        co_return;
      },
      used, "a latch", "atomically()");
  expect_report<barrier>(
      [](std::optional<barrier>& room, unsigned& line) -> barrier& {
        line = __LINE__ + 1;
        return room.emplace(1, std::source_location::current());
      },
      [](barrier& b) -> task<> {
        used = __LINE__ + 1;
        const bool last = co_await b.arrive();
        EXPECT_TRUE(last);
      },
      used, "a barrier", "atomically()");
}

HEDDLE_TEST(one_color, "what was made elsewhere than it is used is no mistake") {
  mutex outside;
  std::size_t reports = 0;
  runtime_options options;
  options.workers = 2;
  options.report = [&](const diagnostic&) { ++reports; };
  runtime rt(options);
  mutex here;
  shared_channel<int> across(color(9), 2);
  rt.run([](mutex& a, mutex& b, shared_channel<int>& c) -> task<> {
    scope s;
    s.spawn(color(3), [](mutex& first, mutex& second) -> task<> {
      auto one = co_await first.lock();
      auto two = co_await second.lock();
    }(a, b));
    s.spawn(color(4), [](shared_channel<int>& to) -> task<> { co_await to.push(1); }(c));
    s.spawn(color(5), [](shared_channel<int>& from) -> task<> {
      const std::optional<int> got = co_await from.pop();
      EXPECT_EQ(got, 1);
    }(c));
    co_await s.join();
  }(outside, here, across));
  EXPECT_EQ(reports, 0U);
}

}  // namespace heddle::test
