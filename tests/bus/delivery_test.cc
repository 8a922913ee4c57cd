// SPDX-License-Identifier: MIT
// Raises that happen later, tasks that wait for raises, and handlers that are tasks; on virtual
// time.
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "heddle/bus/bus.hh"
#include "heddle/core/combine.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/sleep.hh"
#include "heddle/core/tamed.hh"
#include "heddle/core/yield.hh"
#include "support/drivers.hh"
#include "support/virtual_runtime.hh"
#include "support/wait_until.hh"

namespace {

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

struct word : topic<const std::string&> {};
struct pair : topic<int, std::string> {};
struct tick : topic<> {};
struct held : topic<std::shared_ptr<int>> {};
struct key : haltable_topic<int> {};

struct log {
  explicit log(bus& b) {
    b.bind<word>([this](const std::string& s) { text += s; });
  }
  std::string text;
};

HEDDLE_TEST(delivery,
            "a posted raise runs later, in the order of posting, with its own arguments") {
  virtual_runtime v;
  bus b;
  log l(b);
  {
    std::string s = "a";
    b.post<word>(s);
    s = "b";
    b.post<word>(s);
  }
  EXPECT_EQ(l.text, "");
  EXPECT_EQ(b.deliveries(), 2u);
  v.rt.run();
  EXPECT_EQ(l.text, "ab");
  EXPECT_EQ(b.deliveries(), 0u);
}

HEDDLE_TEST(delivery, "a handler that posts is not entered again before it has returned") {
  virtual_runtime v;
  bus b;
  std::string out;
  b.bind<pair>([&](int n, const std::string& s) {
    out += '(' + s;
    if (n > 0) b.post<pair>(n - 1, s + "'");
    out += ')';
  });
  b.raise<pair>(2, std::string("x"));
  v.rt.run();
  EXPECT_EQ(out, "(x)(x')(x'')");
}

HEDDLE_TEST(delivery, "delayed raises come in the order of their times") {
  virtual_runtime v;
  bus b;
  log l(b);
  b.after<word>(30ms, "c");
  b.after<word>(10ms, "a");
  b.after<word>(10ms, "b");
  b.after<word>(0ms, "0");
  v.rt.run();
  EXPECT_EQ(l.text, "0abc");
}

HEDDLE_TEST(delivery,
            "a delayed raise that is cancelled does not happen, and frees its arguments") {
  virtual_runtime v;
  bus b;
  auto witness = std::make_shared<int>(1);
  int raised = 0;
  b.bind<held>([&](const std::shared_ptr<int>& p) { raised += *p; });
  delayed first = b.after<held>(10ms, witness);
  delayed second = b.after<held>(0ms, witness);  // its frame is queued already
  const delayed third = b.after<held>(20ms, witness);
  EXPECT_EQ(witness.use_count(), 4);
  EXPECT_TRUE(first);
  EXPECT_TRUE(first.cancel());
  EXPECT_TRUE(second.cancel());
  EXPECT_FALSE(second.cancel());
  EXPECT_FALSE(first);
  EXPECT_EQ(witness.use_count(), 2);
  v.rt.run();
  EXPECT_EQ(raised, 1);
  EXPECT_FALSE(third);
  EXPECT_FALSE(delayed(third).cancel());
  EXPECT_EQ(witness.use_count(), 1);
}

HEDDLE_TEST(delivery, "a cancelled raise keeps nobody waiting for its time") {
  virtual_runtime v;
  bus b;
  delayed kept = b.after<tick>(1h);
  EXPECT_TRUE(kept.cancel());
  const time_point before = clock::now();
  v.rt.run();
  EXPECT_LT(clock::now() - before, 1min);
}

HEDDLE_TEST(delivery, "a raise cannot be cancelled from inside itself") {
  virtual_runtime v;
  bus b;
  delayed own;
  bool canceled = true;
  b.bind<tick>([&] { canceled = own.cancel(); });
  own = b.after<tick>(1ms);
  v.rt.run();
  EXPECT_FALSE(canceled);
}

HEDDLE_TEST(delivery, "what is posted to a bus that goes is forgotten") {
  virtual_runtime v;
  auto witness = std::make_shared<int>(1);
  delayed late;
  {
    bus b;
    b.bind<held>([&](const std::shared_ptr<int>&) { ADD_FAILURE() << "the bus is gone"; });
    b.post<held>(witness);
    late = b.after<held>(1s, witness);
  }
  EXPECT_EQ(witness.use_count(), 1);
  EXPECT_FALSE(late);
  v.rt.run();
}

HEDDLE_TEST(delivery, "an exception of a posted raise is reported, and the loop goes on") {
  virtual_runtime v;
  bus b;
  log l(b);
  b.bind<tick>([] { throw std::runtime_error("in a handler"); });
  b.post<tick>();
  b.post<word>("after");
  v.rt.run();
  ASSERT_EQ(v.reports.size(), 1u);
  EXPECT_EQ(v.reports[0].kind, diagnostic_kind::unhandled_exception);
  EXPECT_EQ(l.text, "after");
  EXPECT_FALSE(b.in_raise());
}

std::string posted_at(unsigned line) {
  return "\n  posted at " + std::string(__FILE__) + ':' + std::to_string(line) + '\n';
}

HEDDLE_TEST(delivery, "the report of a posted raise's exception names the topic and the line") {
  virtual_runtime v;
  bus b;
  b.bind<tick>([] { throw std::runtime_error("in a handler"); });
  b.bind<pair>([](int, const std::string&) { throw std::runtime_error("in another"); });
  const unsigned first = __LINE__ + 1;
  b.post<tick>();
  b.post<pair>(1, "x");
  b.after<pair>(1ms, 2, "y");
  std::jthread([&b] { b.post<tick>(); }).join();
  v.rt.run();
  ASSERT_EQ(v.reports.size(), 4u);
  std::vector<unsigned> lines;
  for (const diagnostic& d : v.reports) {
    const std::string text = to_string(d);
    lines.push_back(resolve_site(d.made).line);
    EXPECT_EQ(text.find("nobody joins"), std::string::npos) << text;
    EXPECT_NE(text.find(posted_at(lines.back())), std::string::npos) << text;
    const bool ticks = text.find("in a handler") != std::string::npos;
    EXPECT_NE(text.find(ticks ? "a posted raise of " : "::pair in "), std::string::npos) << text;
    EXPECT_NE(text.find(ticks ? "::tick in " : " ended with an exception: in another"),
              std::string::npos)
        << text;
  }
  std::ranges::sort(lines);
  EXPECT_EQ(lines, (std::vector<unsigned>{first, first + 1, first + 2, first + 3}));
}

HEDDLE_TEST(delivery, "posting beyond the limit is refused with the limit's name") {
  virtual_runtime v;
  bus b({.deliveries_max = 2});
  b.post<tick>();
  delayed second = b.after<tick>(1s);
  try {
    b.post<tick>();
    ADD_FAILURE() << "posted a third raise";
  } catch (const failure& e) {
    EXPECT_EQ(e.code(), std::errc::no_buffer_space);
    EXPECT_NE(std::string(e.what()).find("bus_options::deliveries_max"), std::string::npos);
  }
  second.cancel();
  b.post<tick>();
  EXPECT_EQ(b.deliveries(), 2u);
}

/// Posts from another thread; false when that is refused.
template <class T, class... Us>
bool posts_from_afar(bus& b, Us... args) {
  bool posted = true;
  std::jthread([&] {
    try {
      b.post<T>(std::move(args)...);
    } catch (const failure& e) {
      EXPECT_EQ(e.code(), std::errc::no_buffer_space);
      posted = false;
    }
  }).join();
  return posted;
}

HEDDLE_TEST(delivery, "another thread's post beyond the limit is refused in that thread") {
  virtual_runtime v;
  bus b({.deliveries_max = 2});
  int raises = 0;
  b.bind<tick>([&raises] { ++raises; });
  for (int round = 0; round < 3; ++round) {
    raises = 0;
    EXPECT_TRUE(posts_from_afar<tick>(b));
    EXPECT_TRUE(posts_from_afar<tick>(b));
    EXPECT_FALSE(posts_from_afar<tick>(b));
    v.rt.run();
    EXPECT_EQ(raises, 2);
  }
  b.post<tick>();
  EXPECT_TRUE(posts_from_afar<tick>(b));
  EXPECT_FALSE(posts_from_afar<tick>(b));
  b.post<tick>();
  v.rt.run();
  EXPECT_EQ(raises, 5);
  EXPECT_TRUE(v.reports.empty());
}

HEDDLE_TEST(delivery, "another thread's post that fails on arrival is reported") {
  struct brittle {
    explicit brittle(int throws_after) : left(throws_after) {}
    brittle(const brittle& other) : left(other.left - 1) {
      if (left < 0) throw std::runtime_error("no more copies");
    }
    int left;
  };
  struct broken : topic<brittle> {};
  virtual_runtime v;
  bus b;
  b.bind<broken>([](const brittle&) { ADD_FAILURE() << "raised"; });
  int copies = 0;  // as many as the way takes, less the one on arrival
  for (;; ++copies) {
    std::jthread([&] {
      try {
        b.post<broken>(brittle(copies));
      } catch (const std::runtime_error&) {
      }
    }).join();
    v.rt.run();
    if (!v.reports.empty()) break;
    ASSERT_LT(copies, 20);
  }
  EXPECT_EQ(v.reports[0].kind, diagnostic_kind::unhandled_exception);
  EXPECT_EQ(b.deliveries(), 0u);
}

HEDDLE_TEST(delivery, "a bus built without a runtime refuses to post") {
  bus b;
  EXPECT_DEATH(b.post<tick>(), "need.* a runtime");
}

using thread_list = std::vector<std::thread::id>;

task<> wait_for_raises(bus& b, const thread_list& seen, std::size_t count) {
  while (seen.size() < count) static_cast<void>(co_await with_timeout(b.next<pair>(), 10s));
}

DRIVER_TEST(delivery, "another thread's post is raised on the bus's own thread") {
  if (!make.real()) GTEST_SKIP() << "no threads in the simulation";
  runtime rt(make());
  bus b;
  thread_list seen;
  b.bind<pair>([&](int, const std::string& s) {
    EXPECT_EQ(s, "from afar");
    seen.push_back(std::this_thread::get_id());
  });
  std::jthread other([&b] {
    for (int i = 0; i < 8; ++i) b.post<pair>(i, "from afar");
  });
  rt.run(wait_for_raises(b, seen, 8));
  EXPECT_EQ(seen, thread_list(8, std::this_thread::get_id()));
}

HEDDLE_TEST(delivery, "another thread's post to a bus that has gone is forgotten") {
  virtual_runtime v;
  int raised = 0;
  const auto count = [&raised](int, const std::string&) { ++raised; };
  bus other;
  other.bind<pair>(count);
  {
    bus b;
    b.bind<pair>(count);
    std::jthread([&b] { b.post<pair>(1, "too late"); }).join();
  }
  std::jthread([&other] { other.post<pair>(2, "behind it"); }).join();
  v.rt.run(wait_until([&raised] { return raised != 0; }));
  v.rt.run();
  EXPECT_EQ(raised, 1) << "only the second";
}

task<std::string> three_words(bus& b) {
  std::string out;
  for (int i = 0; i < 3; ++i) out += co_await b.next<word>();
  co_return out;
}

HEDDLE_TEST(next, "a task waits for the next raise and gets copies of its arguments") {
  virtual_runtime v;
  bus b;
  b.after<word>(1ms, "one ");
  b.after<word>(2ms, "two ");
  b.after<word>(3ms, "three");
  b.after<word>(4ms, "four");
  EXPECT_EQ(v.rt.run(three_words(b)), "one two three");
}

task<std::string> pair_and_tick(bus& b) {
  auto [n, s] = co_await b.next<pair>();
  co_await b.next<tick>();
  co_return s + std::to_string(n);
}

HEDDLE_TEST(next, "several arguments come as a tuple, none as nothing") {
  virtual_runtime v;
  bus b;
  b.after<pair>(1ms, 7, "seven");
  b.after<tick>(2ms);
  EXPECT_EQ(v.rt.run(pair_and_tick(b)), "seven7");
}

task<> note_next(bus& b, std::string& out, char c) { out += c + co_await b.next<word>(); }

HEDDLE_TEST(next, "every waiting task is woken by one raise, in the order of waiting") {
  virtual_runtime v;
  bus b;
  std::string out;
  v.rt.spawn(note_next(b, out, '1'));
  v.rt.spawn(note_next(b, out, '2'));
  b.bind<word>([&](const std::string&) { out += 'h'; }, 1000);
  b.after<word>(1ms, "w");
  b.after<word>(2ms, "x");
  v.rt.run();
  EXPECT_EQ(out, "h1w2wh");
  EXPECT_EQ(b.handlers<word>(), 1u);  // the waiters' own is not counted
}

tamed note_next_at_once(bus& b, std::string& out) { out += co_await b.next<word>(); }

HEDDLE_TEST(next, "a wait that begins during a raise is for a later one") {
  virtual_runtime v;
  bus b;
  std::string out;
  note_next_at_once(b, out);
  bool first = true;
  b.bind<word>([&](const std::string&) {
    if (std::exchange(first, false)) note_next_at_once(b, out);
  });
  b.after<word>(1ms, "a");
  b.after<word>(2ms, "b");
  v.rt.run();
  EXPECT_EQ(out, "ab");
}

task<std::string> next_or_timeout(bus& b) {
  const auto got = co_await as_expected(with_timeout(b.next<word>(), 5ms));
  co_return got ? *got : got.error().message();
}

HEDDLE_TEST(next, "a wait for a raise can have a deadline, and be forgotten") {
  virtual_runtime v;
  bus b;
  b.after<word>(10ms, "late");
  EXPECT_EQ(v.rt.run(next_or_timeout(b)), timed_out_error().message());
  b.after<word>(1ms, "in time");
  EXPECT_EQ(v.rt.run(next_or_timeout(b)), "in time");
  v.rt.run();
}

task<bool> outlive(std::unique_ptr<bus>& b) {
  const auto got = co_await as_expected(b->next<word>());
  co_return !got && got.error() == std::errc::operation_canceled;
}
task<> end_bus(std::unique_ptr<bus>& b) {
  co_await sleep_for(1ms);
  b.reset();
}

HEDDLE_TEST(next, "a wait ends with operation_canceled when the bus goes") {
  virtual_runtime v;
  auto b = std::make_unique<bus>();
  v.rt.spawn(end_bus(b));
  EXPECT_TRUE(v.rt.run(outlive(b)));
}

HEDDLE_TEST(next, "a raise that a handler halts does not reach the tasks that wait") {
  virtual_runtime v;
  bus b;
  b.bind<key>([](int k) { return k == 1 ? flow::halt : flow::go_on; });
  b.after<key>(1ms, 1);
  b.after<key>(2ms, 2);
  const auto wait = [](bus& on) -> task<int> { co_return co_await on.next<key>(); };
  EXPECT_EQ(v.rt.run(wait(b)), 2);
}

struct slow_part {
  std::string out;
  task<> on_word(const std::string& s) {
    co_await sleep_for(1ms);
    out += s;
  }
};

HEDDLE_TEST(task_handler, "a handler that is a task starts after the raise, with copies") {
  virtual_runtime v;
  bus b;
  slow_part p;
  b.bind<word, &slow_part::on_word>(&p, 1);
  b.bind<word>([&](const std::string&) { p.out += '.'; }, 2);
  {
    std::string s = "a";
    b.raise<word>(s);
    s = "b";
    b.raise<word>(s);
  }
  EXPECT_EQ(p.out, "..");
  v.rt.run();
  EXPECT_EQ(p.out, "..ab");
}

HEDDLE_TEST(task_handler, "a closure that is a task lives as long as each task of it") {
  virtual_runtime v;
  bus b;
  auto out = std::make_shared<std::string>();
  const binding n = b.bind<word>([out](const std::string& s) -> task<> {
    co_await sleep_for(1ms);
    *out += s;
  });
  b.raise<word>("x");
  b.unbind(n);
  v.rt.run();
  EXPECT_EQ(*out, "x");
  EXPECT_EQ(out.use_count(), 1);
}

task<> fail_on(scope& s, int) {
  bus b({.tasks = &s});
  b.bind<tick>([]() -> task<> {
    co_await sleep_for(1ms);
    throw std::runtime_error("a part failed");
  });
  b.raise<tick>();
  co_await sleep_for(1s);
}

HEDDLE_TEST(task_handler, "tasks run in the scope that the bus was given") {
  virtual_runtime v;
  EXPECT_THROW(v.rt.run(with_scope(fail_on, 0)), std::runtime_error);
}

HEDDLE_TEST(task_handler, "a task may handle a haltable topic, and never halts it") {
  virtual_runtime v;
  bus b;
  int sum = 0;
  b.bind<key>([&sum](int k) -> task<> {
    co_await yield();
    sum += k;
  });
  EXPECT_EQ(b.raise<key>(3), flow::go_on);
  v.rt.run();
  EXPECT_EQ(sum, 3);
}

}  // namespace
