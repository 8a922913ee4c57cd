// SPDX-License-Identifier: MIT
// Guards, which decide about one handler, and filters, which decide about a whole raise: order,
// halting, changes during a raise, and what a profile says of them.
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/bus/bus.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

namespace {

using namespace heddle;
using namespace heddle::test;

struct guarded_number : topic<int> {};
struct guarded_key : haltable_topic<int> {};
struct guarded_text : topic<std::string&> {};
struct guarded_tick : topic<> {};

struct even_counter {
  int count = 0;
  void on_number(int n) { count += n; }
};

int last_seen = 0;
void note_number(int n) { last_seen = n; }
bool is_even(int n) { return n % 2 == 0; }

HEDDLE_TEST(guard, "a guarded handler runs only in raises that its guard lets through") {
  bus b;
  even_counter c;
  std::string seen;
  b.bind_if<guarded_number, &even_counter::on_number>(&is_even, &c);
  b.bind_if<guarded_number, &note_number>([](int n) { return n < 3; });
  b.bind_if<guarded_number>([](int n) { return n > 2; },
                            [&seen](int n) { seen += std::to_string(n); });
  EXPECT_EQ(b.handlers<guarded_number>(), 3u);
  last_seen = 0;
  for (int n = 0; n < 6; ++n) b.raise<guarded_number>(n);
  EXPECT_EQ(c.count, 0 + 2 + 4);
  EXPECT_EQ(last_seen, 2);
  EXPECT_EQ(seen, "345");
}

HEDDLE_TEST(guard, "a guard is asked when its handler's turn comes, and sees what came before") {
  bus b;
  std::string text;
  b.bind<guarded_text>([](std::string& s) { s += 'a'; }, 1);
  b.bind_if<guarded_text>([](const std::string& s) { return s == "a"; },
                          [](std::string& s) { s += 'b'; }, 2);
  b.bind_if<guarded_text>([](const std::string& s) { return s == "a"; },
                          [](std::string& s) { s += 'c'; }, 3);
  b.raise<guarded_text>(text);
  EXPECT_EQ(text, "ab");
}

HEDDLE_TEST(guard, "a guarded handler of a haltable topic halts only if its guard agrees") {
  bus b;
  int later = 0;
  b.bind_if<guarded_key>([](int key) { return key == 27; }, [](int) { return flow::halt; });
  b.bind<guarded_key>([&later](int) { ++later; }, 1);
  EXPECT_EQ(b.raise<guarded_key>(1), flow::go_on);
  EXPECT_EQ(b.raise<guarded_key>(27), flow::halt);
  EXPECT_EQ(later, 1);
}

HEDDLE_TEST(guard, "unbind_all ends the guarded member functions of an object") {
  bus b;
  even_counter c;
  b.bind_if<guarded_number, &even_counter::on_number>(&is_even, &c);
  EXPECT_EQ(b.unbind_all(&c), 1u);
  b.raise<guarded_number>(2);
  EXPECT_EQ(c.count, 0);
}

task<> add_later(int n) {
  last_seen += n;
  co_return;
}

HEDDLE_TEST(guard, "a guarded task is spawned only for raises that its guard lets through") {
  virtual_runtime v;
  bus b;
  last_seen = 0;
  b.bind_if<guarded_number, &add_later>(&is_even);
  b.bind_if<guarded_number>([](int n) { return n == 3; }, [](int n) { return add_later(n * 100); });
  for (int n = 1; n < 5; ++n) b.raise<guarded_number>(n);
  EXPECT_EQ(last_seen, 0);
  v.rt.run();
  EXPECT_EQ(last_seen, 2 + 4 + 300);
}

HEDDLE_TEST(guard, "an exception of a guard ends the raise") {
  bus b;
  int later = 0;
  b.bind_if<guarded_number>([](int) -> bool { throw std::runtime_error("guard"); }, &note_number);
  b.bind<guarded_number>([&later](int) { ++later; }, 1);
  EXPECT_THROW(b.raise<guarded_number>(1), std::runtime_error);
  EXPECT_EQ(later, 0);
}

HEDDLE_TEST(filter, "a filter runs before all handlers, and may halt any raise") {
  bus b;
  std::string seen;
  b.bind<guarded_number>([&seen](int n) { seen += std::to_string(n); }, -1000000);
  b.filter<guarded_number>([&seen](int n) {
    seen += 'f';
    return n == 2 ? flow::halt : flow::go_on;
  });
  for (int n = 1; n < 4; ++n) b.raise<guarded_number>(n);
  EXPECT_EQ(seen, "f1ff3");
  EXPECT_EQ(b.handlers<guarded_number>(), 1u);
}

HEDDLE_TEST(filter, "a raise of a haltable topic answers halt if a filter or a handler halts it") {
  bus b;
  int handled = 0;
  b.bind<guarded_key>([&handled](int key) {
    ++handled;
    return key == 2 ? flow::halt : flow::go_on;
  });
  b.filter<guarded_key>([](int key) { return key == 1 ? flow::halt : flow::go_on; });
  EXPECT_EQ(b.raise<guarded_key>(0), flow::go_on);
  EXPECT_EQ(b.raise<guarded_key>(1), flow::halt);
  EXPECT_EQ(b.raise<guarded_key>(2), flow::halt);
  EXPECT_EQ(handled, 2);
}

HEDDLE_TEST(filter, "filters run in ascending order, and one that halts ends the rest") {
  bus b;
  std::string seen;
  for (const int order : {3, -2, 1})
    b.filter<guarded_number>(
        [&seen, order](int n) {
          seen += std::to_string(order) + ' ';
          return order == n ? flow::halt : flow::go_on;
        },
        order);
  b.raise<guarded_number>(1);
  EXPECT_EQ(seen, "-2 1 ");
}

HEDDLE_TEST(filter, "a filter without handlers runs") {
  bus b;
  int asked = 0;
  const binding f = b.filter<guarded_tick>([&asked] {
    ++asked;
    return flow::halt;
  });
  b.raise<guarded_tick>();
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(b.unbind(f));
  b.raise<guarded_tick>();
  EXPECT_EQ(asked, 1);
}

HEDDLE_TEST(filter, "filters and handlers that are unbound in a raise no longer run in it") {
  bus b;
  std::string seen;
  binding second_filter;
  binding handler;
  b.filter<guarded_tick>([&] {
    b.unbind(second_filter);
    b.unbind(handler);
    return flow::go_on;
  });
  second_filter = b.filter<guarded_tick>([&] {
    seen += 'f';
    return flow::halt;
  });
  handler = b.bind<guarded_tick>([&] { seen += 'h'; });
  b.bind<guarded_tick>([&] { seen += 'i'; }, 1);
  b.raise<guarded_tick>();
  EXPECT_EQ(seen, "i");
  EXPECT_EQ(b.handlers<guarded_tick>(), 1u);
}

HEDDLE_TEST(filter, "a filter bound in a raise runs from the next outermost raise on") {
  bus b;
  std::string seen;
  b.bind<guarded_number>([&](int n) {
    seen += std::to_string(n);
    if (n != 0) return;
    b.filter<guarded_number>([&](int) {
      seen += 'f';
      return flow::halt;
    });
    b.raise<guarded_number>(1);
  });
  b.raise<guarded_number>(0);
  b.raise<guarded_number>(2);
  EXPECT_EQ(seen, "01f");
}

HEDDLE_TEST(filter, "tasks that wait for the next raise do not see one that a filter halts") {
  virtual_runtime v;
  bus b;
  int got = 0;
  b.filter<guarded_number>([](int n) { return n == 1 ? flow::halt : flow::go_on; });
  const auto wait = [](bus& on, int& out) -> task<> { out = co_await on.next<guarded_number>(); };
  v.rt.root().spawn(wait, std::ref(b), std::ref(got));
  b.post<guarded_number>(1);
  b.post<guarded_number>(2);
  v.rt.run();
  EXPECT_EQ(got, 2);
}

}  // namespace
