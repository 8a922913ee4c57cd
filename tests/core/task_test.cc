// SPDX-License-Identifier: MIT
// Tasks, tamed functions, scopes, cancellation, adapters and start().
#include "heddle/core/task.hh"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/core/twait.hh"
#include "heddle/heddle.hh"
#include "support/drivers.hh"
#include "support/reporting_runtime.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

using namespace heddle;
using namespace std::chrono_literals;
using heddle::test::reporting_runtime;
using heddle::test::virtual_runtime;

namespace {

task<int> value(int n) { co_return n; }
task<int> later(int n, nanoseconds after) {
  co_await sleep_for(after);
  co_return n;
}
task<> fails(const char* why, nanoseconds after) {
  co_await sleep_for(after);
  throw std::runtime_error(why);
}
task<std::unique_ptr<int>> owned(int n) { co_return std::make_unique<int>(n); }
task<int&> same(int& n) { co_return n; }

task<long> deep(long depth) {
  if (depth == 0) co_return 0;
  co_return 1 + co_await deep(depth - 1);
}
task<long> many(long count) {
  long sum = 0;
  for (long i = 0; i < count; ++i) sum += co_await value(1);
  co_return sum;
}

}  // namespace

namespace {
template <class T>
concept awaitable_as = requires(T&& t) { static_cast<T&&>(t).operator co_await(); };
}  // namespace

HEDDLE_TEST(task, "a task is lazy, and destroying one that has not started runs nothing") {
  virtual_runtime v;
  bool ran = false;
  {
    task<> t = [](bool& flag) -> task<> {
      flag = true;
      co_return;
    }(ran);
  }
  EXPECT_FALSE(ran);
  static_assert(!std::is_copy_constructible_v<task<>>);
  static_assert(awaitable_as<task<>> && !awaitable_as<task<>&>);
}

HEDDLE_TEST(task, "results may be values, move-only objects and references") {
  virtual_runtime v;
  EXPECT_EQ(v.rt.run(value(4)), 4);
  EXPECT_EQ(*v.rt.run(owned(5)), 5);
  int n = 1;
  EXPECT_EQ(&v.rt.run(same(n)), &n);
}

HEDDLE_TEST(task, "a million awaits in a row and a chain of 100,000 need no stack") {
  virtual_runtime v;
  EXPECT_EQ(v.rt.run(many(1'000'000)), 1'000'000);
  EXPECT_EQ(v.rt.run(deep(100'000)), 100'000);
}

HEDDLE_TEST(task, "an exception is rethrown where the task is awaited") {
  virtual_runtime v;
  EXPECT_THROW(v.rt.run(fails("no", 1ms)), std::runtime_error);
}

HEDDLE_TEST(task, "an exception that nobody joins is reported with the lines it left through") {
  virtual_runtime v;
  v.rt.spawn([]() -> task<> { co_await fails("lost", 1ms); }());
  v.rt.run();
  ASSERT_EQ(v.reports.size(), 1u);
  EXPECT_EQ(v.reports[0].kind, diagnostic_kind::unhandled_exception);
}

HEDDLE_TEST(task, "a suspended minimal task takes 40 bytes") {
#if defined(__clang__) && defined(__OPTIMIZE__)
  virtual_runtime v;
  static bool stop;
  stop = false;
  const auto minimal = []() -> task<> {
    while (!stop) co_await yield();
  };
  constexpr std::size_t count = 1'000'000;
  const std::size_t before = v.rt.main_worker().memory.home().chunks_taken();
  for (std::size_t i = 0; i < count; ++i) v.rt.spawn(minimal());
  v.rt.once();
  const std::size_t bytes =
      (v.rt.main_worker().memory.home().chunks_taken() - before) * slab_chunk_bytes;
  EXPECT_LE(static_cast<double>(bytes) / count, 40.2);  // a chunk has a header
  stop = true;
  v.rt.run();
#else
  GTEST_SKIP() << "the size of frames is Clang's";
#endif
}

namespace {
struct thing {
  explicit thing(int start = 0) : n(start) {}
  int n;
  tamed add(int by, event<int> done) {
    co_await sleep_for(1ms);
    done(n += by);
  }
  tamed get(event<int> done) const {
    done(n);
    co_return;
  }
  static tamed fixed(event<int> done) {
    done(42);
    co_return;
  }
  virtual ~thing() = default;
  virtual tamed who(event<std::string> done) {
    done("base");
    co_return;
  }
};
struct other_thing : thing {
  tamed who(event<std::string> done) override {
    done("derived");
    co_return;
  }
};
template <class T>
tamed twice(T value, event<T> done) {
  co_await yield();
  done(value + value);
}
tamed first_part(bool& ran) {
  ran = true;
  co_await sleep_for(1ms);
}
tamed by_value(std::string text, std::string& seen) {
  co_await sleep_for(1ms);
  seen = text;
}
task<int> call_all() {
  thing t(5);
  other_thing o;
  int a = 0, b = 0, c = 0, d = 0;
  std::string s, who;
  twait {
    t.add(2, mkevent(a));
    std::as_const(t).get(mkevent(b));
    thing::fixed(mkevent(c));
    twice(4, mkevent(d));
    twice(std::string("x"), mkevent(s));
    static_cast<thing&>(o).who(mkevent(who));
  }
  co_return s == "xx" && who == "derived" ? a * 1000 + b * 100 + c + d : -1;
}
}  // namespace

DRIVER_TEST(tamed, "K1 a tamed function runs at once up to its first wait") {
  reporting_runtime v(make);
  bool ran = false;
  first_part(ran);
  EXPECT_TRUE(ran);
  v.rt.run();
}

DRIVER_TEST(tamed, "K2 parameters by value are captured at the call") {
  reporting_runtime v(make);
  std::string text = "before", seen;
  by_value(text, seen);
  text = "after";
  v.rt.run();
  EXPECT_EQ(seen, "before");
}

DRIVER_TEST(tamed, "K5 member, const, static, virtual and template functions may be tamed") {
  reporting_runtime v(make);
  EXPECT_EQ(v.rt.run(call_all()), 7000 + 500 + 42 + 8);
}

namespace {
task<> body_with_failure(scope& s, int& canceled) {
  s.spawn(fails("first", 1ms));
  s.spawn([](int& count) -> task<> {
    try {
      co_await sleep_for(1h);
    } catch (const std::system_error& e) {
      if (e.code() == std::errc::operation_canceled) ++count;
      throw;
    }
  }(canceled));
  co_return;
}
task<int> body_with_value(scope& s, int& done) {
  for (int i = 0; i < 10; ++i)
    s.spawn([](int& count) -> task<> {
      co_await yield();
      ++count;
    }(done));
  co_return 5;
}
}  // namespace

DRIVER_TEST(scope, "the first failure cancels the rest and is rethrown") {
  reporting_runtime v(make);
  int canceled = 0;
  try {
    v.rt.run(with_scope(body_with_failure, std::ref(canceled)));
    FAIL();
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "first");
  }
  EXPECT_EQ(canceled, 1);
}

HEDDLE_TEST(scope, "children end before with_scope returns its value") {
  virtual_runtime v;
  int done = 0;
  EXPECT_EQ(v.rt.run(with_scope(body_with_value, std::ref(done))), 5);
  EXPECT_EQ(done, 10);
}

DRIVER_TEST(adapters,
            "all gives every result, and any gives the first and everything that finished") {
  reporting_runtime v(make);
  v.rt.run([]() -> task<> {
    auto [a, b] = co_await all(later(1, 1ms), later(2, 2ms));
    EXPECT_EQ(a + b, 3);
    auto won = co_await any(later(1, 1min), later(2, 1ms), sleep_for(1h));
    EXPECT_EQ(won.index, 1u);
    EXPECT_EQ(std::get<1>(won.results), 2);
    EXPECT_FALSE(std::get<0>(won.results));
    auto both = co_await any(value(1), value(2));
    EXPECT_TRUE(std::get<0>(both.results) && std::get<1>(both.results));
    std::vector<task<int>> list;
    for (int i = 0; i < 5; ++i) list.push_back(later(i, 1ms));
    const std::vector<int> got = co_await all(std::move(list));
    EXPECT_EQ(got, (std::vector<int>{0, 1, 2, 3, 4}));
  }());
}

DRIVER_TEST(adapters, "a timeout throws timed_out, and a result that was there is not lost") {
  reporting_runtime v(make);
  v.rt.run([]() -> task<> {
    const time_point start = clock::now();
    auto late = co_await as_expected(with_timeout(later(1, 1h), 2ms));
    EXPECT_EQ(late.error(), std::errc::timed_out);
    EXPECT_LT(clock::now() - start, 1min);
    EXPECT_EQ(co_await with_timeout(later(7, 1ms), 1min), 7);
    EXPECT_EQ(co_await with_timeout(value(3), 0ms), 3);
    rendezvous<> r;
    event<> e = r.make_event();
    bool timed_out = false;
    try {
      co_await with_timeout(r, 1ms);
    } catch (const failure& f) {
      timed_out = f.code() == std::errc::timed_out;
    }
    EXPECT_TRUE(timed_out);
    e.trigger();
    co_await r;
  }());
}

namespace {

/// Waits alone, and notes whether a timer was armed when it was asked to suspend.
struct lone_wait : wait {
  lone_wait(bool& armed, bool suspends) noexcept
      : wait(kind_of_wait), armed_before(armed), suspends_(suspends) {}
  lone_wait(const lone_wait& other) noexcept : lone_wait(other.armed_before, other.suspends_) {}
  static bool await_ready() noexcept { return false; }
  template <frame_promise P>
  bool await_suspend(std::coroutine_handle<P> h) noexcept {
    armed_before = runtime::here().next_wake() != never;
    if (suspends_) park(*this, link_of(h), worker::running());
    return suspends_;
  }
  bool await_resume() const noexcept { return asked; }

  static const wait_kind kind_of_wait;
  bool& armed_before;
  bool asked = false;

 private:
  bool suspends_;
};
const wait_kind lone_wait::kind_of_wait{"lone", [](wait& x, worker& w) noexcept {
                                          static_cast<lone_wait&>(x).asked = true;
                                          wake(x, w);
                                        }};

task<bool> within(lone_wait inner, nanoseconds span) {
  co_return co_await with_timeout(inner, span);
}

/// A description; its awaiter counts itself and cannot move.
class counted_wait {
 public:
  explicit counted_wait(int& made) noexcept : made_(made) {}
  counted_wait(counted_wait&&) = default;

  class awaiter {
   public:
    explicit awaiter(int& made) noexcept : made_(++made) {}
    awaiter(const awaiter&) = delete;
    [[nodiscard]] static bool await_ready() noexcept { return true; }
    static void await_suspend(std::coroutine_handle<>) noexcept {}
    [[nodiscard]] int await_resume() const noexcept { return made_; }

   private:
    int made_;
  };
  [[nodiscard]] awaiter operator co_await() noexcept { return awaiter(made_); }

 private:
  int& made_;
};

task<> adapt_a_description() {
  int made = 0;
  cancel_source stop;
  auto all_around =
      as_expected(with_timeout(with_cancel(stop, with_deadline(counted_wait(made), never)), 1h));
  EXPECT_EQ(made, 0);  // nothing has begun
  EXPECT_EQ((co_await all_around).value(), 1);
  EXPECT_EQ(made, 1);
  counted_wait again(made);  // an lvalue is kept by reference, and begins each time
  auto around = with_timeout(again, 1h);
  EXPECT_EQ(co_await around, 2);
  EXPECT_EQ(co_await around, 3);
  const auto won = co_await any(with_timeout(counted_wait(made), 1h), sleep_for(1h));
  EXPECT_EQ(std::get<0>(won.results), 4);
}

}  // namespace

HEDDLE_TEST(adapters,
            "what waits is made once, where it stays, however deep it stands in adapters") {
  virtual_runtime v;
  v.rt.run(adapt_a_description());
  EXPECT_EQ(v.rt.next_wake(), never);
}

HEDDLE_TEST(adapters, "a source of cancels is made, canceled and destroyed where no worker runs") {
  cancel_source unused;
  unused.cancel();
  EXPECT_TRUE(unused.canceled());
}

HEDDLE_TEST(adapters, "a timeout around one wait arms a timer only when the function suspends") {
  virtual_runtime v;
  bool armed = true;
  EXPECT_FALSE(v.rt.run(within(lone_wait(armed, false), 1h)));
  EXPECT_FALSE(armed);
  armed = true;
  EXPECT_TRUE(v.rt.run(within(lone_wait(armed, true), 1h)));  // asked after an hour
  EXPECT_FALSE(armed);
  EXPECT_EQ(v.rt.next_wake(), never);
}

DRIVER_TEST(adapters, "a timeout around one wait keeps every rule of one around a task") {
  reporting_runtime v(make);
  v.rt.run([]() -> task<> {
    constexpr auto timed_out = std::errc::timed_out;
    const time_point start = clock::now();
    // The wait ends first, and the timer goes with it.
    co_await with_timeout(sleep_for(1ms), 1h);
    const bool alone = runtime::here().next_wake() == never;
    EXPECT_TRUE(alone);
    // Adapters inside and outside.
    auto slept = co_await as_expected(with_timeout(sleep_for(1h), 1ms));
    EXPECT_EQ(slept.error(), timed_out);
    result<void> inside = co_await with_timeout(as_expected(sleep_for(1h)), 1ms);
    EXPECT_EQ(inside.error(), timed_out);
    auto inner = co_await as_expected(with_timeout(with_timeout(sleep_for(1h), 1ms), 1h));
    EXPECT_EQ(inner.error(), timed_out);
    auto outer = co_await as_expected(with_timeout(with_timeout(sleep_for(1h), 2h), 1ms));
    EXPECT_EQ(outer.error(), timed_out);
    auto due = co_await as_expected(with_deadline(with_timeout(sleep_for(1h), 1min), start + 9ms));
    EXPECT_EQ(due.error(), timed_out);
    // What is due already ends the wait where it would begin.
    auto at_once = co_await as_expected(with_timeout(sleep_for(1h), 0ms));
    EXPECT_EQ(at_once.error(), timed_out);
    auto twice = co_await as_expected(with_timeout(with_timeout(sleep_for(1h), 0ms), 1h));
    EXPECT_EQ(twice.error(), timed_out);
    // A request from outside is no timeout.
    cancel_source stop;
    scope s;
    s.spawn([](cancel_source& source) -> task<> {
      auto ended = co_await as_expected(with_cancel(source, with_timeout(sleep_for(1h), 30min)));
      EXPECT_EQ(ended.error(), std::errc::operation_canceled);
    }(stop));
    co_await yield();
    stop.cancel();
    co_await s.join();
    EXPECT_LT(clock::now() - start, 1min);
  }());
}

DRIVER_TEST(adapters, "a deadline is inherited, and the outer one wins when it is earlier") {
  reporting_runtime v(make);
  v.rt.run([]() -> task<> {
    const time_point start = clock::now();
    auto r =
        co_await as_expected(with_deadline(with_timeout(later(1, 1h), 1min), clock::now() + 1ms));
    EXPECT_EQ(r.error(), std::errc::timed_out);
    EXPECT_LT(clock::now() - start, 1min);
  }());
}

DRIVER_TEST(adapters, "with_cancel ends waits now and later, and shield lets cleanup go on") {
  reporting_runtime v(make);
  v.rt.run([]() -> task<> {
    cancel_source stop;
    scope s;
    int cleaned = 0;
    s.spawn([](cancel_source& source, int& done) -> task<> {
      auto r = co_await as_expected(with_cancel(source, sleep_for(1h)));
      EXPECT_EQ(r.error(), std::errc::operation_canceled);
      auto again = co_await as_expected(with_cancel(source, sleep_for(1h)));
      EXPECT_EQ(again.error(), std::errc::operation_canceled);
      ++done;
    }(stop, cleaned));
    s.spawn([](int& done) -> task<> {
      auto r = co_await as_expected(sleep_for(1h));
      EXPECT_FALSE(r);
      co_await shield(sleep_for(1ms), 1min);
      auto bounded = co_await as_expected(shield(sleep_for(1h), 5ms));
      EXPECT_EQ(bounded.error(), std::errc::timed_out);
      ++done;
    }(cleaned));
    co_await sleep_for(1ms);
    stop.cancel();
    co_await sleep_for(1ms);
    s.cancel();
    co_await s.join();
    EXPECT_EQ(cleaned, 2);
  }());
}

DRIVER_TEST(adapters, "a new wait in a cancelled context ends at once, a yield too") {
  reporting_runtime v(make);
  v.rt.run([]() -> task<> {
    scope s;
    int thrown = 0;
    s.spawn([](int& count) -> task<> {
      try {
        for (;;) co_await yield();
      } catch (const failure&) {
        ++count;
      }
      try {
        co_await sleep_for(1h);
      } catch (const failure&) {
        ++count;
      }
    }(thrown));
    co_await sleep_for(1ms);
    s.cancel();
    co_await s.join();
    EXPECT_EQ(thrown, 2);
  }());
}

DRIVER_TEST(start, "tasks, tamed calls and operations can be joined to events") {
  reporting_runtime v(make);
  v.rt.run([]() -> task<> {
    int x = 0;
    bool ran = false;
    result<int> r;
    twait {
      start(later(4, 1ms), mkevent(x));
      start(first_part(ran), mkevent());
      start(sleep_for(1ms), mkevent());
      start(later(9, 1ms), mkevent(r));
    }
    EXPECT_EQ(x, 4);
    EXPECT_EQ(r, 9);
  }());
}

DRIVER_TEST(start, "what was started is cancelled when its event becomes empty") {
  reporting_runtime v(make);
  v.rt.run([]() -> task<> {
    bool canceled = false;
    {
      rendezvous<> r;
      start([](bool& flag) -> task<> { flag = !co_await as_expected(sleep_for(1h)); }(canceled),
            r.make_event());
    }
    co_await yield();
    co_await yield();
    EXPECT_TRUE(canceled);
  }());
}

namespace {
task<> innermost() { co_await sleep_for(1h); }
task<> middle() { co_await innermost(); }
}  // namespace

HEDDLE_TEST(dump, "a dump lists suspended tasks by line, with who awaits whom") {
  virtual_runtime v;
  v.rt.spawn(middle());
  v.rt.once();
  const std::string text = v.rt.dump();
  EXPECT_NE(text.find("1 task"), std::string::npos) << text;
  EXPECT_NE(text.find("sleep"), std::string::npos) << text;
  EXPECT_NE(text.find("innermost"), std::string::npos) << text;
  EXPECT_NE(text.find("awaited at"), std::string::npos) << text;
  EXPECT_NE(text.find("middle"), std::string::npos) << text;
  const std::string json = v.rt.dump_json();
  EXPECT_NE(json.find("\"state\":\"sleep\""), std::string::npos) << json;
  EXPECT_NE(json.find("task_test.cc:"), std::string::npos) << json;
}

namespace {

task<std::string> says_late() {
  co_await sleep_for(1h);
  co_return "late";
}
task<std::vector<int>> two_numbers() { co_return {1, 2}; }
task<int&> refers_to(int& x) { co_return x; }

task<> bounds_all(std::string& log) {
  const auto pair = co_await as_expected(with_timeout(all(says_late(), says_late()), 1ms));
  EXPECT_EQ(pair.error(), std::errc::timed_out);
  std::vector<task<std::string>> many;
  for (int i = 0; i < 3; ++i) many.push_back(says_late());
  const auto vector = co_await as_expected(with_timeout(all(std::move(many)), 1ms));
  EXPECT_EQ(vector.error(), std::errc::timed_out);
  std::vector<task<>> silent;
  silent.push_back([]() -> task<> { co_await sleep_for(1h); }());
  const auto none = co_await as_expected(with_timeout(all(std::move(silent)), 1ms));
  EXPECT_EQ(none.error(), std::errc::timed_out);
  const auto scoped =
      co_await as_expected(with_timeout(with_scope([](scope& s) -> task<> {
                                          s.spawn([]() -> task<> { co_await sleep_for(1h); }());
                                          co_return;
                                        }),
                                        1ms));
  EXPECT_EQ(scoped.error(), std::errc::timed_out);
  log += "done";
}

}  // namespace

DRIVER_TEST(adapters, "what a time limit cuts short has not succeeded: all(), with_scope()") {
  reporting_runtime v(make);
  std::string log;
  v.rt.run(bounds_all(log));
  EXPECT_EQ(log, "done");
  EXPECT_TRUE(v.reports.empty());
}

HEDDLE_TEST(task, "a scope that its owner cancels has no failure") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    scope s;
    s.spawn([]() -> task<> { co_await sleep_for(1h); }());
    co_await yield();
    s.cancel();
    co_await s.join();
  }());
}

HEDDLE_TEST(task, "several functions may join one scope, and each is told its failure") {
  virtual_runtime v;
  int told = 0;
  v.rt.run([](int& count) -> task<> {
    scope s;
    s.spawn([]() -> task<> {
      co_await sleep_for(1ms);
      throw std::runtime_error("bad");
    }());
    const auto joins = [](scope& of, int& n) -> task<> {
      try {
        co_await of.join();
      } catch (const std::runtime_error&) {
        ++n;
      }
    };
    co_await all(joins(s, count), joins(s, count), joins(s, count));
    EXPECT_THROW(co_await s.join(), std::runtime_error);
  }(told));
  EXPECT_EQ(told, 3);
}

HEDDLE_TEST(adapters, "a shield goes on past a deadline from above, for as long as its own bound") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    const time_point begin = clock::now();
    const auto outer = co_await as_expected(with_timeout(shield(sleep_for(1h), 20ms), 10ms));
    EXPECT_EQ(outer.error(), std::errc::timed_out);
    EXPECT_EQ((clock::now() - begin) / 1ms, 20);
    const auto cleans = []() -> task<> {
      static_cast<void>(co_await as_expected(sleep_for(1h)));
      co_await shield(with_timeout(sleep_for(5ms), 8ms), 20ms);
      const auto late = co_await as_expected(shield(with_timeout(sleep_for(1h), 8ms), 20ms));
      EXPECT_EQ(late.error(), std::errc::timed_out);
    };
    static_cast<void>(co_await as_expected(with_timeout(cleans(), 10ms)));
    EXPECT_EQ((clock::now() - begin) / 1ms, 20 + 10 + 5 + 8);
  }());
}

HEDDLE_TEST(task, "results of any form come through adapters") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    EXPECT_EQ((co_await two_numbers()).size(), 2u);
    int x = 1, y = 2;
    const auto referred = co_await as_expected(refers_to(x));
    EXPECT_EQ(&referred->get(), &x);
    auto [a, b] = co_await all(refers_to(x), refers_to(y));
    EXPECT_EQ(&a.get(), &x);
    EXPECT_EQ(&b.get(), &y);
    std::vector<task<int&>> both;
    both.push_back(refers_to(x));
    both.push_back(refers_to(y));
    EXPECT_EQ(&(co_await all(std::move(both)))[1].get(), &y);
  }());
}

HEDDLE_TEST(adapters, "any() takes a vector of tasks as well") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    const auto after = [](nanoseconds span) -> task<int> {
      co_await sleep_for(span);
      co_return static_cast<int>(span / 1ms);
    };
    std::vector<task<int>> calls;
    for (const auto span : {5ms, 2ms, 9ms}) calls.push_back(after(span));
    const auto won = co_await any(std::move(calls));
    EXPECT_EQ(won.index, 1u);
    EXPECT_EQ(won.results[1], 2);
    EXPECT_FALSE(won.results[0] || won.results[2]);
    std::vector<task<>> silent;
    silent.push_back([]() -> task<> { co_await sleep_for(1ms); }());
    EXPECT_EQ((co_await any(std::move(silent))).index, 0u);
  }());
}

namespace {

task<int> adds_length(int n) {
  const std::string kept(100, 'a');
  co_await sleep_for(1h);
  co_return n + static_cast<int>(kept.size());
}

/// Spawns until there is no memory; what stands in registers then must survive the exception.
[[gnu::noinline]] std::size_t spawns_until_full(scope& s, const std::string& tag, std::size_t a) {
  const std::string local = tag + ", long enough to lie on the heap";
  const auto owned = std::make_unique<std::size_t>(a);
  for (std::size_t n = 0;; ++n) {
    try {
      s.spawn(adds_length(static_cast<int>(n)));
    } catch (const failure& f) {
      EXPECT_EQ(f.code(), std::errc::not_enough_memory);
      EXPECT_EQ(local, tag + ", long enough to lie on the heap");
      EXPECT_EQ(*owned, a);
      return n;
    }
  }
}

}  // namespace

DRIVER_TEST(task, "when memory is full a program is told, goes on, and ends in order") {
  runtime_options options;
  options.memory_bytes = 4 << 20;
  options.workers = 1;  // another one would keep what it freed for itself
  std::vector<diagnostic> reports;
  options.report = [&](const diagnostic& d) { reports.push_back(d); };
  {
    runtime rt(make(), options);
    rt.run([]() -> task<> {
      const auto fills = [](scope& s) -> task<> {
        const std::size_t first = spawns_until_full(s, "first", 1);
        EXPECT_GT(first, 1000u);
        EXPECT_LT(spawns_until_full(s, "again", 2), 2u);
        co_await yield();
        s.cancel();
      };
      co_await with_scope(fills);
      co_await with_scope(fills);  // what was freed is there again
    }());
    for (int i = 0; i < 3; ++i) {  // what is left when the runtime goes
      try {
        for (;;) rt.spawn(adds_length(i));
      } catch (const failure&) {
      }
    }
  }
  EXPECT_TRUE(reports.empty());
}
