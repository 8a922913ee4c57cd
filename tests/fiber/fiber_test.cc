// SPDX-License-Identifier: MIT
// Fibers: values, waits of every kind in plain functions, joins, and many at once.
#include "heddle/fiber/fiber.hh"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/fiber/twait.hh"
#include "heddle/heddle.hh"
#include "heddle/io/blocking.hh"
#include "heddle/io/tcp.hh"
#include "heddle/io/unix.hh"
#include "support/drivers.hh"
#include "support/virtual_runtime.hh"

using namespace heddle;
using heddle::test::virtual_runtime;
using namespace std::chrono_literals;

namespace {

int add(int a, int b) { return a + b; }

int slow_add(int a, int b) {
  await(sleep_for(1s));
  return a + b;
}

/// Waits somewhere deep down, as an ordinary recursive function.
int depth_sum(int depth) {
  if (depth == 0) {
    await(yield());
    return 0;
  }
  return depth + depth_sum(depth - 1);
}

task<int> in_a_task(int n) {
  co_await sleep_for(1s);
  co_return n + 1;
}

int through_a_task(int n) { return await(in_a_task(n)); }

std::string& longer(std::string& text) {
  await(yield());
  text += "!";
  return text;
}

task<> values() {
  EXPECT_EQ(co_await fiber(add, 2, 3), 5);
  EXPECT_EQ(co_await fiber(slow_add, 2, 3), 5);
  EXPECT_EQ(co_await fiber(depth_sum, 100), 5050);
  EXPECT_EQ(co_await fiber(through_a_task, 41), 42);
  std::string text = "so";
  std::string& back = co_await fiber(longer, std::ref(text));
  EXPECT_EQ(&back, &text);
  EXPECT_EQ(text, "so!");
  auto made = co_await fiber([](std::unique_ptr<int>& p) { return std::move(p); },
                             std::make_unique<int>(9));
  EXPECT_EQ(*made, 9);
}

void thrower() {
  await(yield());
  throw std::out_of_range("from a fiber");
}

std::string catcher() {
  try {
    thrower();
  } catch (const std::out_of_range& e) {
    return e.what();
  }
  return "nothing";
}

task<> exceptions() {
  EXPECT_EQ(co_await fiber(catcher), "from a fiber");
  try {
    co_await fiber(thrower);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::out_of_range& e) {
    EXPECT_STREQ(e.what(), "from a fiber");
  }
}

/// Waits inside a catch block while another fiber throws and catches.
std::string handle_slowly(const char* what) {
  try {
    throw std::runtime_error(what);
  } catch (...) {
    await(sleep_for(1s));
    try {
      throw;
    } catch (const std::runtime_error& e) {
      return std::string(e.what()) + std::to_string(std::uncaught_exceptions());
    }
  }
}

task<> waits_in_handlers() {
  std::string a, b;
  rendezvous<> r;
  tfork(r.make_event(a), handle_slowly, "left");
  tfork(r.make_event(b), handle_slowly, "right");
  co_await r;
  co_await r;
  EXPECT_EQ(a, "left0");
  EXPECT_EQ(b, "right0");
}

int both(int n) {
  int a = 0, b = 0;
  fiber_twait {
    tfork(mkevent(a), slow_add, n, 1);
    timer(2s, mkevent());
    start(in_a_task(n), mkevent(b));
  }
  return a + b;
}

int first_of_two() {
  rendezvous<int> r;
  timer(5s, r.make_event(5));
  timer(2s, r.make_event(2));
  return await(r);
}

task<> joins() {
  EXPECT_EQ(co_await fiber(both, 10), 22);
  EXPECT_EQ(co_await fiber(first_of_two), 2);
}

/// A scope in an ordinary function.
int sum_of_children(int count) {
  int sum = 0;
  scope s;
  for (int i = 1; i <= count; ++i)
    s.spawn([](int& to, int n) -> task<> { to += co_await fiber(slow_add, n, 0); }, std::ref(sum),
            i);
  await(s.join());
  return sum;
}

void count_turns(int turns, std::vector<int>& order, int self) {
  for (int i = 0; i < turns; ++i) {
    order.push_back(self);
    await(yield());
  }
}

task<> turns() {
  std::vector<int> order;
  scope s;
  s.spawn(fiber(count_turns, 3, std::ref(order), 1));
  s.spawn(fiber(count_turns, 3, std::ref(order), 2));
  co_await s.join();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 1, 2, 1, 2}));
}

/// A fiber's stack carries a task that starts at once, and that task starts a fiber.
int fiber_on_a_fiber() {
  int inner = 0;
  rendezvous<> r;
  start([](int& out) -> task<int> { co_return out = co_await fiber(slow_add, 3, 4); }(inner),
        r.make_event());
  EXPECT_TRUE(in_fiber());
  await(r);
  return inner;
}

task<> fibers_in_turn() { EXPECT_EQ(co_await fiber(fiber_on_a_fiber), 7); }
task<> scope_inside() { EXPECT_EQ(co_await fiber(sum_of_children, 10), 55); }

/// A conversation in two plain functions over a connection.
void answer(unix_stream peer) {
  char name[16];
  const std::size_t n = await(peer.read_some(name));
  await(peer.write("hello " + std::string(name, n)));
}

std::string converse(unix_stream peer) {
  await(peer.write("fiber"));
  std::string got(11, '\0');
  await(peer.read(got));
  return got;
}

task<> io() {
  auto [left, right] = unix_pair();
  scope s;
  s.spawn(fiber(answer, right));
  EXPECT_EQ(co_await fiber(converse, left), "hello fiber");
  co_await s.join();
  EXPECT_EQ(co_await fiber([] { return await(blocking(add, 20, 22)); }), 42);
}

task<> many(int count) {
  int sum = 0;
  scope s;
  for (int i = 0; i < count; ++i)
    s.spawn([](int& to) -> task<> { to += co_await fiber(depth_sum, 3); }, std::ref(sum));
  co_await s.join();
  EXPECT_EQ(sum, count * 6);
  EXPECT_EQ(read_fibers().running, 0u);
  EXPECT_LE(read_fibers().stacks_made, static_cast<std::size_t>(count));
}

}  // namespace

#define FIBER_TEST(sentence, program)                               \
  HEDDLE_TEST(fiber, sentence) {                                    \
    virtual_runtime v;                                              \
    v.rt.run((program)());                                          \
    EXPECT_TRUE(v.reports.empty()) << to_string(v.reports.front()); \
    EXPECT_FALSE(in_fiber());                                       \
  }                                                                 \
  static_assert(true)

FIBER_TEST("gives what its function returns, however deep it waited", &values);
FIBER_TEST("throws what leaves its function where it is awaited", &exceptions);
FIBER_TEST("may wait while it handles an exception", &waits_in_handlers);
FIBER_TEST("joins tasks, fibers and timers in one statement", &joins);
FIBER_TEST("takes turns with others", &turns);
FIBER_TEST("a fiber starts a task that starts a fiber", &fibers_in_turn);
FIBER_TEST("opens a scope in an ordinary function", &scope_inside);
FIBER_TEST("runs beside a thousand others", [] { return many(1000); });

DRIVER_TEST(fiber, "does input and output on every driver") {
  runtime rt(make());
  rt.run(io());
}

HEDDLE_TEST(fiber, "await() outside of a fiber says what to write instead") {
  virtual_runtime v;
  EXPECT_DEATH(await(yield()), "in a task write co_await");
}

HEDDLE_TEST(fiber, "a dump shows the line in the fiber, and who awaits it") {
  virtual_runtime v;
  v.rt.spawn([](int n) -> task<> { co_await fiber(slow_add, n, n); }(1));
  v.rt.main_worker().run_ready(100);
  const auto waiting = v.rt.suspended();
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_STREQ(waiting[0].state, "sleep");
  ASSERT_GE(waiting[0].chain.size(), 2u);
  const source_line inner = resolve_site(waiting[0].chain[0]);
  EXPECT_NE(function_name(inner).find("slow_add"), std::string::npos) << function_name(inner);
  EXPECT_NE(std::string(resolve_site(waiting[0].chain[1]).file).find("fiber_test"),
            std::string::npos);
}

HEDDLE_TEST(fiber, "one that asks for hooks is told what to link where the program has none") {
  virtual_runtime v;
  bool ran = false;
  std::string what;
  v.rt.run([](bool& flag, std::string& text) -> task<> {
    try {
      co_await fiber(fiber_options{.hooks = true}, [](bool* f) { *f = true; }, &flag);
    } catch (const failure& e) {
      text = e.what();
    }
  }(ran, what));
  EXPECT_FALSE(ran);
  EXPECT_NE(what.find("heddle::hook"), std::string::npos) << what;
}
