// SPDX-License-Identifier: MIT
// The lines in the report of an exception that no task catches: those of its own way, and no
// others.
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "heddle/core/hedged.hh"
#include "heddle/heddle.hh"
#include "support/drivers.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

using namespace heddle;
using namespace std::chrono_literals;
using heddle::test::virtual_driver;

namespace {

/// A runtime on virtual time that keeps the texts of its reports.
struct text_runtime {
  explicit text_runtime(unsigned workers = 1)
      : rt(std::make_unique<virtual_driver>(), options_with(workers)) {}
  /// The functions in a report, innermost first, as their names without return type.
  [[nodiscard]] std::vector<std::string> functions(std::size_t report) const {
    std::vector<std::string> names;
    const std::string& text = texts.at(report);
    for (std::size_t at = 0; (at = text.find("\n  in ", at)) != text.npos;) {
      at += 6;
      std::string line = text.substr(at, text.find('\n', at) - at);
      for (const std::string_view nameless : {"(anonymous namespace)::", "{anonymous}::"})
        if (const auto found = line.find(nameless); found != line.npos)
          line.erase(found, nameless.size());
      std::string name = line.substr(0, line.find('('));
      name.erase(0, name.find_last_of(": ") + 1);
      names.push_back(std::move(name));
    }
    return names;
  }

  std::vector<std::string> texts;
  runtime rt;

 private:
  runtime_options options_with(unsigned workers) {
    runtime_options options;
    options.workers = workers;
    options.report = [this](const diagnostic& d) { texts.push_back(to_string(d)); };
    return options;
  }
};

using names = std::vector<std::string>;

task<> way_fails() {
  co_await sleep_for(1ms);
  throw std::runtime_error("of way_fails");
}
task<> way_passes_on() { co_await way_fails(); }
task<> way_fails_later() {
  co_await sleep_for(10ms);
  throw std::runtime_error("of way_fails_later");
}
task<> way_catches_many() {
  for (int i = 0; i != 40; ++i) {
    try {
      co_await way_passes_on();
    } catch (const std::runtime_error&) {
    }
  }
}
/// The new exception usually has the address of the one that was caught.
task<> way_replaces() {
  bool failed = false;
  try {
    co_await way_fails();
  } catch (const std::runtime_error&) {
    failed = true;
  }
  if (failed) throw std::runtime_error("of way_replaces");
}
task<> way_in_scope() {
  scope s;
  s.spawn(way_passes_on());
  co_await s.join();
}
task<> way_in_any() { co_await any(way_passes_on(), sleep_for(1h)); }
task<> way_in_timeout() { co_await with_timeout(way_passes_on(), 1h); }
task<> way_in_hedged() {
  co_await hedged(2, 1s, [](std::size_t) { return way_passes_on(); });
}
task<> way_in_with_scope() {
  co_await with_scope([](scope&) -> task<> { co_await way_passes_on(); });
}
task<> way_in_color() {
  scope s;
  s.spawn(color(7), way_passes_on());
  co_await s.join();
}
task<> way_after_enter() {
  co_await enter(color(9));
  co_await way_passes_on();
}
task<> way_sleeps() { co_await sleep_for(1h); }
task<> way_in_cancelled_scope() {
  scope s;
  s.spawn(way_passes_on());
  for (int i = 0; i != 3; ++i) s.spawn(way_sleeps());
  co_await s.join();
}
task<> way_descends(int depth) {
  if (depth == 0) {
    co_await way_fails();
  } else {
    co_await way_descends(depth - 1);
  }
}

std::exception_ptr kept_error;
task<> way_keeps() {
  try {
    co_await way_passes_on();
  } catch (...) {
    kept_error = std::current_exception();
  }
}
task<> way_throws_kept() {
  co_await sleep_for(20ms);
  std::rethrow_exception(kept_error);
}
task<> way_above_kept() { co_await way_throws_kept(); }
task<> way_throws_kept_too() {
  co_await sleep_for(30ms);
  std::rethrow_exception(kept_error);
}

task<> way_throws_number() {
  co_await sleep_for(1ms);
  throw 7;
}

int alive = 0;
struct counted_error : std::runtime_error {
  counted_error() : std::runtime_error("counted") { ++alive; }
  counted_error(const counted_error& other) : std::runtime_error(other) { ++alive; }
  ~counted_error() override { --alive; }
};
task<> way_throws_counted() {
  co_await sleep_for(1ms);
  throw counted_error();
}

names of_one(task<> (*t)()) {
  text_runtime v;
  v.rt.spawn(t());
  v.rt.run();
  EXPECT_EQ(v.texts.size(), 1u);
  return v.texts.empty() ? names() : v.functions(0);
}

}  // namespace

HEDDLE_TEST(exception_way, "a report names the tasks that the exception left, innermost first") {
  EXPECT_EQ(of_one(&way_passes_on), (names{"way_fails", "way_passes_on"}));
}

HEDDLE_TEST(exception_way, "exceptions that were caught before are no part of a report") {
  text_runtime v;
  v.rt.run(way_catches_many());
  v.rt.spawn(way_fails_later());
  v.rt.run();
  ASSERT_EQ(v.texts.size(), 1u);
  EXPECT_EQ(v.functions(0), names{"way_fails_later"}) << v.texts[0];
}

HEDDLE_TEST(exception_way, "exceptions that were reported before are no part of a report") {
  text_runtime v;
  for (int i = 0; i != 5; ++i) v.rt.spawn(way_passes_on());
  v.rt.spawn(way_fails_later());
  v.rt.run();
  ASSERT_EQ(v.texts.size(), 6u);
  for (std::size_t i = 0; i != 5; ++i)
    EXPECT_EQ(v.functions(i), (names{"way_fails", "way_passes_on"})) << v.texts[i];
  EXPECT_EQ(v.functions(5), names{"way_fails_later"}) << v.texts[5];
}

HEDDLE_TEST(exception_way, "an exception thrown after another was caught has a way of its own") {
  EXPECT_EQ(of_one(&way_replaces), names{"way_replaces"});
}

HEDDLE_TEST(exception_way, "the way goes on through scopes, adapters and colors") {
  for (task<> (*const outer)() :
       {&way_in_scope, &way_in_any, &way_in_timeout, &way_in_color, &way_after_enter,
        &way_in_cancelled_scope, &way_in_hedged, &way_in_with_scope}) {
    const names found = of_one(outer);
    std::string all;
    for (const std::string& name : found) (all += name) += ' ';
    SCOPED_TRACE(all);
    ASSERT_GE(found.size(), 3u);
    EXPECT_EQ(found[0], "way_fails");
    EXPECT_EQ(found[1], "way_passes_on");
    EXPECT_EQ(found.back().rfind("way_", 0), 0u) << found.back();
    EXPECT_NE(found.back(), "way_passes_on");
  }
}

HEDDLE_TEST(exception_way, "a pointer to an exception that is thrown twice has two ways") {
  text_runtime v;
  v.rt.run(way_keeps());
  v.rt.spawn(way_above_kept());
  v.rt.spawn(way_throws_kept_too());
  v.rt.run();
  kept_error = nullptr;
  ASSERT_EQ(v.texts.size(), 2u);
  EXPECT_EQ(v.functions(0), (names{"way_throws_kept", "way_above_kept"})) << v.texts[0];
  EXPECT_EQ(v.functions(1), names{"way_throws_kept_too"}) << v.texts[1];
}

HEDDLE_TEST(exception_way, "a long way has a gap, and names the innermost and the outermost task") {
  text_runtime v;
  v.rt.spawn([]() -> task<> { co_await way_descends(100); }());
  v.rt.run();
  ASSERT_EQ(v.texts.size(), 1u);
  const names found = v.functions(0);
  EXPECT_LE(found.size(), 32u);
  EXPECT_EQ(found.front(), "way_fails");
  EXPECT_NE(found.back(), "way_descends") << v.texts[0];
  EXPECT_NE(v.texts[0].find("(further tasks that are not listed)"), std::string::npos);
}

HEDDLE_TEST(exception_way, "an exception of any type has a way, and is destroyed when it is over") {
  EXPECT_EQ(of_one(&way_throws_number), names{"way_throws_number"});
  EXPECT_EQ(of_one(&way_throws_counted), names{"way_throws_counted"});
  EXPECT_EQ(alive, 0);
  text_runtime v;
  v.rt.run([]() -> task<> {
    try {
      co_await way_throws_counted();
    } catch (const counted_error&) {
      EXPECT_GT(alive, 0);
    }
    EXPECT_EQ(alive, 0);
  }());
}

DRIVER_TEST(exception_way, "workers that fail at the same time have ways of their own") {
  runtime_options options;
  options.workers = 2;
  std::vector<std::string> texts;
  options.report = [&](const diagnostic& d) { texts.push_back(to_string(d)); };
  {
    runtime rt(make(), options);
    for (std::uint64_t i = 0; i != 200; ++i) rt.spawn(color(i), way_in_scope());
    rt.run();
  }
  ASSERT_EQ(texts.size(), 200u);
  for (const std::string& text : texts) {
    std::size_t lines = 0;
    for (std::size_t at = 0; (at = text.find("\n  in ", at)) != text.npos; ++at) ++lines;
    ASSERT_EQ(lines, 3u) << text;
  }
}

namespace {

task<> loses_peer(std::errc why) {
  co_await sleep_for(1ms);
  throw failure(std::make_error_code(why), "read");
}

}  // namespace

HEDDLE_TEST(diagnostics,
            "a task whose peer ends the connection is reported only if that is asked") {
  for (const std::errc why :
       {std::errc::connection_reset, std::errc::broken_pipe, std::errc::connection_aborted}) {
    text_runtime v;
    v.rt.spawn(loses_peer(why));
    v.rt.run();
    EXPECT_TRUE(v.texts.empty()) << v.texts[0];
    v.rt.diagnostics().change("lost-peer=report");
    v.rt.spawn(loses_peer(why));
    v.rt.run();
    ASSERT_EQ(v.texts.size(), 1u);
    EXPECT_NE(v.texts[0].find("lost-peer"), std::string::npos) << v.texts[0];
    EXPECT_EQ(v.functions(0), names{"loses_peer"});
  }
  text_runtime v;
  v.rt.spawn(loses_peer(std::errc::permission_denied));
  v.rt.run();
  ASSERT_EQ(v.texts.size(), 1u);
  EXPECT_NE(v.texts[0].find("unhandled-exception"), std::string::npos) << v.texts[0];
}

HEDDLE_TEST(diagnostics, "printed reports are bounded by time, and what was left out is counted") {
  const auto printed = [](int failures, nanoseconds apart, runtime_options options) {
    testing::internal::CaptureStderr();
    {
      runtime rt(std::make_unique<virtual_driver>(), options);
      rt.run([](int n, nanoseconds span) -> task<> {
        for (int i = 0; i != n; ++i) {
          spawn(way_fails());
          co_await sleep_for(span);
        }
        co_await sleep_for(1s);
      }(failures, apart));
    }
    return testing::internal::GetCapturedStderr();
  };
  const auto count = [](const std::string& text, std::string_view what) {
    int n = 0;
    for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; ++at) ++n;
    return n;
  };
  std::string text = printed(500, 1ms, {});
  EXPECT_EQ(count(text, "of way_fails"), 1) << text;
  EXPECT_NE(text.find("heddle: unhandled-exception: 499 more of "), std::string::npos) << text;
  text = printed(500, 10ms, {});  // takes five seconds
  EXPECT_GE(count(text, "of way_fails"), 4) << text;
  EXPECT_LE(count(text, "of way_fails"), 6) << text;
  EXPECT_NE(text.find("more of this line were not printed before"), std::string::npos) << text;
  runtime_options each;
  each.report_pause = {};
  each.reports_per_second_max = 3;
  text = printed(500, 1ms, each);
  EXPECT_EQ(count(text, "of way_fails"), 3) << text;
}
