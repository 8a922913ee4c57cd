// SPDX-License-Identifier: MIT
// Colors: who runs where, never two at once, messages, visits, cancellation and shutdown over
// colors, policies. Most bodies run with one worker, with four simulated ones in seeded orders, and
// with four threads.
#include <atomic>
#include <functional>
#include <thread>

#include "heddle/core/combine.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/sleep.hh"
#include "heddle/core/twait.hh"
#include "heddle/core/yield.hh"
#include "heddle/sched/checked.hh"
#include "heddle/sched/runtime.hh"
#include "heddle/sync/atomically.hh"
#include "support/seeds.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

struct seeded_driver : virtual_driver {
  explicit seeded_driver(std::uint64_t s) : seed(s) {}
  std::uint64_t random() noexcept override { return seed; }
  std::uint64_t seed;
};

/// The body on one worker, on simulated workers in many orders, and on threads.
void in_every_world(const std::function<void(runtime&)>& body, runtime_options options = {}) {
  {
    SCOPED_TRACE("one worker");
    options.workers = 1;
    runtime rt(std::make_unique<virtual_driver>(), options);
    body(rt);
  }
  for_seeds(30, [&](std::uint64_t seed) {
    options.workers = 2 + static_cast<unsigned>(seed % 3);
    runtime rt(std::make_unique<seeded_driver>(seed), options);
    body(rt);
  });
  for (const char* driver : {"epoll", "poll"}) {
    SCOPED_TRACE(std::string("four threads, ") + driver);
    options.workers = 4;
    options.driver = driver;
    runtime rt(options);
    body(rt);
  }
}

/// Counts who is inside; two at once are an error.
struct one_at_a_time {
  std::atomic<int> inside{0};
  long visits = 0;  // plain: its color guards it
  void enter() {
    EXPECT_EQ(inside.fetch_add(1), 0);
    ++visits;
  }
  void leave() { inside.fetch_sub(1); }
};

task<> visit_often(one_at_a_time& place, int times) {
  for (int i = 0; i != times; ++i) {
    place.enter();
    place.leave();
    co_await yield();
  }
}

task<> spawn_all(std::vector<one_at_a_time>& places, int tasks, int times) {
  scope s;
  for (int i = 0; i != tasks; ++i) {
    const std::size_t c = static_cast<std::size_t>(i) % places.size();
    s.spawn(color(c + 1), visit_often(places[c], times));
  }
  co_await s.join();
}

HEDDLE_TEST(color, "frames of one color never run at once, and all of them run") {
  in_every_world([](runtime& rt) {
    std::vector<one_at_a_time> places(7);
    rt.run(spawn_all(places, 70, 50));
    for (const one_at_a_time& p : places) EXPECT_EQ(p.visits, 500);
  });
}

task<int> doubled_in(color c, int n, std::uint32_t* seen) {
  co_await enter(c);
  *seen = worker::here().color;
  co_return 2 * n;
}

task<> visit_and_come_home(int& result) {
  const std::uint32_t home = worker::here().color;
  std::uint32_t seen = 0;
  result = co_await doubled_in(color(9), 21, &seen);
  EXPECT_EQ(seen, 9U);
  EXPECT_EQ(worker::here().color, home);
}

HEDDLE_TEST(color, "a function that enters a color gives its result in the caller's color") {
  in_every_world([](runtime& rt) {
    int result = 0;
    rt.run(visit_and_come_home(result));
    EXPECT_EQ(result, 42);
  });
}

task<> tour(std::vector<std::uint32_t>& seen) {
  for (const int c : {3, 4, 3, 0, 5}) {
    co_await enter(color(c));
    seen.push_back(worker::here().color);
    co_await yield();
  }
}

task<> send_on_tour(std::vector<std::uint32_t>& seen) {
  co_await tour(seen);
  seen.push_back(worker::here().color);
}

HEDDLE_TEST(color, "a function may go from color to color, and its caller stays where it was") {
  in_every_world([](runtime& rt) {
    std::vector<std::uint32_t> seen;
    rt.run(send_on_tour(seen));
    EXPECT_EQ(seen, (std::vector<std::uint32_t>{3, 4, 3, 0, 5, 0}));
  });
}

task<> fail_in(color c) {
  co_await enter(c);
  throw std::runtime_error("there");
}
task<> catch_here(bool& caught) {
  try {
    co_await fail_in(color(8));
  } catch (const std::runtime_error&) {
    caught = worker::here().color == 0;
  }
}

HEDDLE_TEST(color, "an exception leaves a color with the function") {
  in_every_world([](runtime& rt) {
    bool caught = false;
    rt.run(catch_here(caught));
    EXPECT_TRUE(caught);
  });
}

task<> trigger_from(color c, event<int> done, int value) {
  co_await enter(c);
  done.trigger(value);
}

task<> gather_from_colors(long& sum) {
  std::vector<int> slots(100, -1);
  scope s;
  rendezvous<int> r;
  for (int i = 0; i != 100; ++i)
    s.spawn(trigger_from(color(i % 10), r.make_event(i, slots[static_cast<std::size_t>(i)]), i));
  for (int i = 0; i != 100; ++i) {
    const int id = co_await r;
    EXPECT_EQ(slots[static_cast<std::size_t>(id)], id);
    sum += id;
  }
  co_await s.join();
}

HEDDLE_TEST(color, "events triggered in other colors arrive as messages with their values") {
  in_every_world([](runtime& rt) {
    long sum = 0;
    rt.run(gather_from_colors(sum));
    EXPECT_EQ(sum, 4950);
  });
}

task<> copy_and_drop(color c, event<int> e, int copies) {
  co_await enter(c);
  std::vector<event<int>> kept;
  for (int i = 0; i != copies; ++i) kept.push_back(e);
  co_await yield();
  if (c.number == 1) e.trigger(7);
}

task<> share_an_event(int& got) {
  rendezvous<> r;
  scope s;
  {
    const event<int> e = r.make_event(got);
    for (int c = 1; c != 5; ++c) s.spawn(copy_and_drop(color(c), e, 50));
  }
  co_await r;
  co_await s.join();
}

HEDDLE_TEST(color, "handles of one event may be copied and dropped in many colors") {
  in_every_world([](runtime& rt) {
    int got = 0;
    rt.run(share_an_event(got));
    EXPECT_EQ(got, 7);
  });
}

task<> drop_in(color c, event<> e) {
  co_await enter(c);
  e = {};
}
task<> wait_for_dropped() {
  rendezvous<> r;
  scope s;
  s.spawn(drop_in(color(3), r.make_event()));
  co_await r;
  co_await s.join();
}

HEDDLE_TEST(color, "an event whose last handle goes away in another color is reported, once") {
  std::atomic<int> reports{0};
  runtime_options options;
  options.report = [&](const diagnostic& d) {
    if (d.kind == diagnostic_kind::abandoned_event) ++reports;
  };
  int worlds = 0;
  in_every_world(
      [&](runtime& rt) {
        rt.run(wait_for_dropped());
        ++worlds;
      },
      options);
  EXPECT_EQ(reports, worlds);
}

task<> sleep_in(color c, bool& canceled) {
  co_await enter(c);
  const auto slept = co_await as_expected(sleep_for(1h));
  canceled = !slept && slept.error() == std::errc::operation_canceled;
}
task<> time_out(bool& canceled) { co_await with_timeout(sleep_in(color(6), canceled), 1ms); }

HEDDLE_TEST(color, "a timeout reaches what waits in another color") {
  in_every_world([](runtime& rt) {
    bool canceled = false;
    rt.run(time_out(canceled));
    EXPECT_TRUE(canceled);
  });
}

task<> fail_soon(color c) {
  co_await enter(c);
  co_await yield();
  throw std::logic_error("one of them");
}
task<> first_failure(int& canceled) {
  bool ended[8] = {};
  try {
    scope s;
    for (int i = 0; i != 8; ++i) s.spawn(color(i), sleep_in(color(i + 8), ended[i]));
    s.spawn(fail_soon(color(20)));
    co_await s.join();
  } catch (const std::logic_error&) {
    for (const bool e : ended) canceled += e;
  }
}

HEDDLE_TEST(color,
            "a failure in one color cancels its siblings in others, and the scope waits for them") {
  in_every_world([](runtime& rt) {
    int canceled = 0;
    rt.run(first_failure(canceled));
    EXPECT_EQ(canceled, 8);
  });
}

task<> number_after(color c, nanoseconds span, int n, int& out) {
  co_await enter(c);
  co_await sleep_for(span);
  out = n;
}
task<> race_in_colors(std::size_t& index, int& fast, int& slow) {
  auto won =
      co_await any(number_after(color(1), 1ms, 1, fast), number_after(color(2), 1h, 2, slow));
  index = won.index;
  co_await all(number_after(color(3), 1ms, 3, slow), number_after(color(4), 2ms, 4, fast));
}

HEDDLE_TEST(color, "any and all work over colors") {
  in_every_world([](runtime& rt) {
    std::size_t index = 9;
    int fast = 0, slow = 0;
    rt.run(race_in_colors(index, fast, slow));
    EXPECT_EQ(index, 0U);
    EXPECT_EQ(fast, 4);
    EXPECT_EQ(slow, 3);
  });
}

HEDDLE_TEST(color, "the end of a runtime cancels what waits in every color") {
  std::atomic<int> ended{0};
  int worlds = 0;
  in_every_world([&](runtime& rt) {
    for (int i = 0; i != 40; ++i)
      rt.spawn(color(i), [](std::atomic<int>& count) -> task<> {
        static_cast<void>(co_await as_expected(sleep_for(1h)));
        ++count;
      }(ended));
    rt.run([]() -> task<> { co_await sleep_for(1ms); }());
    ++worlds;
  });
  EXPECT_EQ(ended, 40 * worlds);
}

task<> send_numbers(color to, int sender, int count, std::vector<int>& last, long& got) {
  for (int i = 1; i <= count; ++i) {
    post(to, [sender, i, &last, &got] {
      EXPECT_EQ(last[static_cast<std::size_t>(sender)], i - 1);
      last[static_cast<std::size_t>(sender)] = i;
      ++got;
    });
    if (i % 16 == 0) co_await yield();
  }
}
task<> many_senders(std::vector<int>& last, long& got) {
  {
    scope s;
    for (int c = 0; c != 8; ++c) s.spawn(color(c + 1), send_numbers(color(100), c, 500, last, got));
    co_await s.join();
  }
  co_await enter(color(100));
  while (got != 4000) co_await yield();
}

HEDDLE_TEST(color, "messages of one sender arrive in the order in which they were sent") {
  in_every_world([](runtime& rt) {
    std::vector<int> last(8, 0);
    long got = 0;
    rt.run(many_senders(last, got));
    EXPECT_EQ(got, 4000);
  });
}

task<> count_up(long& n) {
  ++n;
  co_return;
}

HEDDLE_TEST(color, "100,000 colors may have work at once") {
  for (const unsigned workers : {1U, 4U}) {
    runtime_options options;
    options.workers = workers;
    options.driver = "epoll";
    runtime rt(options);
    std::vector<long> counts(100'000);
    for (std::size_t i = 0; i != counts.size(); ++i) rt.spawn(color(i), count_up(counts[i]));
    rt.run([]() -> task<> { co_return; }());
    rt.run();
    long sum = 0;
    for (const long n : counts) sum += n;
    EXPECT_EQ(sum, 100'000);
  }
}

HEDDLE_TEST(color, "a color that waits behind a long run moves to another worker") {
  runtime_options options;
  options.workers = 2;
  options.driver = "epoll";
  runtime rt(options);
  std::atomic<bool> ran{false};
  // Even places belong to the first worker at first: both would wait for it.
  rt.run([](std::atomic<bool>& ran) -> task<> {
    spawn(color(2), [](std::atomic<bool>& flag) -> task<> {
      flag = true;
      co_return;
    }(ran));
    const auto begin = std::chrono::steady_clock::now();
    while (!ran && std::chrono::steady_clock::now() - begin < 20s) {
    }
    EXPECT_TRUE(ran);
    co_return;
  }(ran));
}

HEDDLE_TEST(color, "also when all workers had gone to rest before") {
  runtime_options options;
  options.workers = 2;
  options.driver = "epoll";
  runtime rt(options);
  rt.run([]() -> task<> {
    for (int i = 0; i != 5; ++i) {
      co_await sleep_for(30ms);
      std::atomic<bool> ran{false};
      spawn(color(2), [](std::atomic<bool>& flag) -> task<> {
        flag = true;
        co_return;
      }(ran));
      const auto begin = std::chrono::steady_clock::now();
      while (!ran && std::chrono::steady_clock::now() - begin < 20s) {
      }
      EXPECT_TRUE(ran) << "nothing else ends the other worker's sleep";
    }
  }());
}

namespace {

task<> rests(const bool& over) {
  while (!over) co_await sleep_for(1ms);
}

task<> looks(int times, std::size_t at_least) {
  for (int i = 0; i != times; ++i) {
    EXPECT_GE(runtime::here().suspended().size(), at_least);
    co_await yield();
  }
}

task<> short_task(bool again, std::atomic<int>& live) {
  if (again) co_await yield();
  --live;
}

task<> spawns_and_yields(const std::atomic<bool>& over, int first, std::atomic<int>& live) {
  while (!over) {
    for (int i = 0; i != 20 && live < 1000; ++i) {
      ++live;
      spawn(color(static_cast<std::uint64_t>(1 + (first + i) % 6)), short_task(i % 2 == 0, live));
    }
    co_await yield();
  }
}

}  // namespace

HEDDLE_TEST(color, "several workers may look at everything at once, and each sees it") {
  runtime_options options;
  options.workers = 3;
  options.driver = "epoll";
  runtime rt(options);
  rt.run([]() -> task<> {
    bool over = false;
    scope resting, looking;
    for (int i = 0; i != 20; ++i) resting.spawn(rests(over));
    for (std::uint64_t i = 1; i != 4; ++i) looking.spawn(color(i), looks(200, 15));
    co_await looking.join();
    over = true;
    co_await resting.join();
  }());
}

HEDDLE_TEST(color, "figures of colors can be read while other workers run them") {
  runtime_options options;
  options.workers = 2;
  options.driver = "epoll";
  runtime rt(options);
  rt.run([]() -> task<> {
    std::atomic<bool> over = false;
    std::atomic<int> live = 0;
    scope s;
    for (int i = 1; i != 7; ++i)
      s.spawn(color(static_cast<std::uint64_t>(i)), spawns_and_yields(over, i, live));
    for (int i = 0; i != 300; ++i) {
      for (const color_statistics& c : runtime::here().read_colors()) EXPECT_LT(c.waiting, 2000u);
      co_await sleep_for(100us);
    }
    over = true;
    co_await s.join();
    while (live != 0) co_await yield();
  }());
}

HEDDLE_TEST(color, "one seed gives one order") {
  const auto order_of = [](std::uint64_t seed) {
    std::vector<int> order;
    runtime_options options;
    options.workers = 3;
    runtime rt(std::make_unique<seeded_driver>(seed), options);
    for (int i = 0; i != 12; ++i)
      rt.spawn(color(i), [](int n, std::vector<int>& out) -> task<> {
        for (int k = 0; k != 3; ++k) {
          out.push_back(n);
          co_await yield();
        }
      }(i, order));
    rt.run();
    return order;
  };
  EXPECT_EQ(order_of(5), order_of(5));
  EXPECT_NE(order_of(5), order_of(6));
}

std::vector<int> order_under(std::function<std::unique_ptr<policy>()> make,
                             const std::function<void(runtime&, std::vector<int>&)>& fill) {
  runtime_options options;
  options.policy = std::move(make);
  options.workers = 1;
  runtime rt(std::make_unique<virtual_driver>(), options);
  std::vector<int> order;
  fill(rt, order);
  rt.run();
  return order;
}

task<> note(int n, std::vector<int>& out) {
  out.push_back(n);
  co_return;
}

HEDDLE_TEST(policy, "first come, first served") {
  EXPECT_EQ(order_under({},
                        [](runtime& rt, std::vector<int>& out) {
                          for (const int c : {3, 1, 2}) rt.spawn(color(c), note(c, out));
                        }),
            (std::vector<int>{3, 1, 2}));
}

HEDDLE_TEST(policy, "strict priorities run lower levels first") {
  EXPECT_EQ(
      order_under([] { return strict_priorities([](color c) { return c.number % 2 ? 0U : 9U; }); },
                  [](runtime& rt, std::vector<int>& out) {
                    for (const int c : {2, 1, 4, 3}) rt.spawn(color(c), note(c, out));
                  }),
      (std::vector<int>{1, 3, 2, 4}));
}

task<> note_by(time_point due, color c, int n, std::vector<int>& out) {
  co_await with_deadline(
      [](color to, int number, std::vector<int>& order) -> task<> {
        co_await enter(to);
        order.push_back(number);
      }(c, n, out),
      due);
}

HEDDLE_TEST(policy, "the earliest deadline runs first") {
  EXPECT_EQ(order_under([] { return earliest_deadline(); },
                        [](runtime& rt, std::vector<int>& out) {
                          const time_point now = rt.io().now();
                          rt.spawn(note_by(now + 3h, color(1), 3, out));
                          rt.spawn(note_by(now + 1h, color(2), 1, out));
                          rt.spawn(note_by(now + 2h, color(3), 2, out));
                        }),
            (std::vector<int>{1, 2, 3}));
}

task<> use_turns(int n, int turns, std::vector<int>& out) {
  for (int i = 0; i != turns; ++i) {
    out.push_back(n);
    co_await yield();
  }
}

HEDDLE_TEST(policy, "weighted shares give time in proportion") {
  runtime_options options;
  const std::vector<int> order =
      order_under([] { return weighted_shares([](color c) { return c.number == 1 ? 3U : 1U; }); },
                  [](runtime& rt, std::vector<int>& out) {
                    rt.spawn(color(1), use_turns(1, 600, out));
                    rt.spawn(color(2), use_turns(2, 600, out));
                  });
  const auto ones = std::count(order.begin(), order.begin() + 400, 1);
  EXPECT_NEAR(static_cast<double>(ones), 300, 40);
}

HEDDLE_TEST(policy, "a shuffle is another order for another seed, and loses nothing") {
  const auto order = [](std::uint64_t seed) {
    return order_under([seed] { return seeded_shuffle(seed); },
                       [](runtime& rt, std::vector<int>& out) {
                         for (int c = 1; c != 20; ++c) rt.spawn(color(c), note(c, out));
                       });
  };
  std::vector<int> a = order(1);
  EXPECT_EQ(a, order(1));
  EXPECT_NE(a, order(2));
  std::sort(a.begin(), a.end());
  for (int i = 0; i != 19; ++i) EXPECT_EQ(a[static_cast<std::size_t>(i)], i + 1);
}

HEDDLE_TEST(color_heap, "gives the least key first, and ties in the order of the pushes") {
  struct node : ready_color {
    int n = 0;
  };
  for_seeds(200, [](std::uint64_t seed) {
    std::vector<node> nodes(50);
    color_heap heap;
    std::uint64_t state = seed;
    for (int i = 0; i != 50; ++i) {
      state = state * 6364136223846793005 + 1442695040888963407;
      nodes[static_cast<std::size_t>(i)].key = (state >> 33) % 10;
      nodes[static_cast<std::size_t>(i)].n = i;
      heap.push(nodes[static_cast<std::size_t>(i)]);
    }
    const node* last = nullptr;
    int count = 0;
    while (ready_color* c = heap.pop()) {
      const auto* now = static_cast<node*>(c);
      if (last != nullptr) EXPECT_LE(last->key, now->key);
      last = now;
      ++count;
    }
    EXPECT_EQ(count, 50);
  });
}

HEDDLE_TEST(checked,
            "a value of one color that is touched in another is reported with both lines") {
  std::vector<diagnostic> reports;
  runtime_options options;
  options.workers = 1;
  options.report = [&](const diagnostic& d) { reports.push_back(d); };
  runtime rt(std::make_unique<virtual_driver>(), options);
  checked<int> n(1);
  rt.run([](checked<int>& value) -> task<> {
    value.get() = 2;
    co_await [](checked<int>& v) -> task<> {
      co_await enter(color(4));
      v.get() = 3;
    }(value);
  }(n));
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].kind, diagnostic_kind::wrong_color);
  EXPECT_EQ(resolve_site(reports[0].waits).line, resolve_site(reports[0].made).line + 3);
}

HEDDLE_TEST(
    watch,
    "each color's turns and frames are counted, and a slow handler is reported with its line") {
  std::vector<diagnostic> reports;
  std::vector<std::uint32_t> lines;
  runtime_options options;
  options.workers = 1;
  options.watch = true;
  options.slow_handler = 20us;
  options.report = [&](const diagnostic& d) {
    reports.push_back(d);
    lines.push_back(resolve_site(d.made).line);
  };
  auto io = std::make_unique<virtual_driver>();
  virtual_driver& time = *io;
  runtime rt(std::move(io), options);
  std::uint32_t line = 0;
  rt.spawn(color(5), [](virtual_driver& t, std::uint32_t& at) -> task<> {
    at = std::source_location::current().line() + 1;
    co_await yield();
    t.t += 1ms;
    co_await yield();
  }(time, line));
  rt.run();
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].kind, diagnostic_kind::slow_handler);
  EXPECT_EQ(lines[0], line);
  EXPECT_GE(reports[0].took, nanoseconds(1ms));
  const std::vector<color_statistics> colors = rt.read_colors();
  const auto five = std::find_if(colors.begin(), colors.end(),
                                 [](const auto& c) { return c.number == color(5); });
  ASSERT_NE(five, colors.end());
  EXPECT_EQ(five->frames, 3U);
  EXPECT_GE(five->longest, nanoseconds(1ms));
  EXPECT_NE(to_text(colors).find("     5"), std::string::npos);
  EXPECT_NE(to_json(rt.read_workers(), colors).find("\"color\":5"), std::string::npos);
}

HEDDLE_TEST(workers, "a dump from inside shows what waits in every color") {
  in_every_world([](runtime& rt) {
    std::string text;
    for (int i = 0; i != 5; ++i)
      rt.spawn(color(i),
               []() -> task<> { static_cast<void>(co_await as_expected(sleep_for(1h))); }());
    rt.run([](runtime& inside, std::string& out) -> task<> {
      for (int i = 0; i != 100 && out.find("       5") == std::string::npos; ++i) {
        co_await sleep_for(1ms);
        out = inside.dump();
      }
    }(rt, text));
    EXPECT_NE(text.find("       5"), std::string::npos) << text;
  });
}

HEDDLE_TEST(workers, "a program that can never go on is an error with several workers too") {
  in_every_world([](runtime& rt) {
    EXPECT_THROW(rt.run([]() -> task<> {
      event<> e;
      rendezvous<> r;
      e = r.make_event();
      co_await r;
    }()),
                 failure);
  });
}

/// Beside transactions, which are of every color.
struct changes_seen {
  tvar<int> changes = 0;
  one_at_a_time alone;
  bool over = false;
};

HEDDLE_TEST(color, "who waited in a transaction goes on in its own color") {
  in_every_world([](runtime& rt) {
    changes_seen c;
    rt.run([](changes_seen& all) -> task<> {
      const auto changed = [](transaction& tx, tvar<int>& of, int seen) {
        tx.wait_until(tx.read(of) != seen);
        return tx.read(of);
      };
      const auto waits = [](auto wait_for, changes_seen& it) -> task<> {
        const worker& before = worker::here();
        const std::uint32_t mine = before.color;
        for (int seen = 0; seen < 20;) {
          seen = co_await atomically(wait_for, std::ref(it.changes), seen);
          it.alone.enter();
          EXPECT_EQ(worker::here().color, mine);
          it.alone.leave();
          co_await yield();
        }
      };
      const auto changes = [](changes_seen& it) -> task<> {
        for (int i = 0; i < 20; ++i) {
          co_await atomically([](transaction& tx, tvar<int>& of) { tx.write(of, tx.read(of) + 1); },
                              std::ref(it.changes));
          co_await yield();
        }
      };
      scope s;
      s.spawn(color(5), waits(changed, all));
      s.spawn(color(5), waits(changed, all));
      s.spawn(color(8), changes(all));
      co_await s.join();
    }(c));
  });
}

HEDDLE_TEST(workers, "a dump by one worker and the end of the program do not wait for each other") {
  for (int i = 0; i != 100; ++i) {
    runtime_options options;
    options.workers = 3;
    runtime rt(options);
    spawn(color(7), []() -> task<> {
      for (;;) {
        static_cast<void>(runtime::here().suspended());
        co_await yield();
      }
    }());
    rt.run([]() -> task<> { co_await sleep_for(200us); }());
  }
}

HEDDLE_TEST(color, "K7 a slot in a function that went to another color is cut off") {
  in_every_world([](runtime& rt) {
    rt.run([]() -> task<> {
      rendezvous<> r;
      event<int> e;
      int other = 0;
      const auto goes = [](rendezvous<>& on, event<int>& out, int*& where) -> task<> {
        int slot = 0;
        where = &slot;
        out = on.make_event(slot);
        co_await enter(color(5));
      };
      int* where = &other;
      co_await goes(r, e, where);
      EXPECT_EQ(worker::here().foreign_slots, 0u);
      e.trigger(7);
      co_await r;
    }());
  });
}

task<> asks_other_colors(unsigned me, int& sum) {
  for (int i = 0; i < 200; ++i) {
    rendezvous<> r;
    int answer = 0;
    post(color(100 + me), [e = r.make_event(answer), i] { e.trigger(i); });
    co_await r;
    sum += answer;
  }
}
task<> all_ask(std::vector<int>& sums) {
  scope s;
  for (unsigned i = 0; i < sums.size(); ++i) s.spawn(color(1 + i), asks_other_colors(i, sums[i]));
  co_await s.join();
}

// ThreadSanitizer sees here that the record is freed behind what the other color did with it.
HEDDLE_TEST(color, "an event that another color triggers is freed in its own") {
  in_every_world([](runtime& rt) {
    std::vector<int> sums(8);
    rt.run(all_ask(sums));
    for (const int sum : sums) EXPECT_EQ(sum, 199 * 100);
  });
}

task<> triggers(event<int> e, int value) {
  e.trigger(value);
  co_return;
}
task<> cancels_what_others_trigger() {
  scope s;
  for (int i = 0; i < 200; ++i) {
    int value = 0;
    rendezvous<> r;
    s.spawn(color(1 + static_cast<unsigned>(i) % 3), triggers(r.make_event(value), i));
    co_await yield();
  }
  co_await s.join();
}

// ThreadSanitizer sees here that the other color reads nothing that the event's own color writes.
HEDDLE_TEST(color, "an event may be cancelled while another color triggers it") {
  in_every_world([](runtime& rt) { rt.run(cancels_what_others_trigger()); });
}

/// Takes all the memory there is for records of any size.
struct memory_taker {
  memory_taker() {
    for (std::size_t bytes = 2048; bytes != 0; bytes -= 8)
      while (void* const cell = worker::here().memory.try_allocate(bytes))
        taken.emplace_back(cell, bytes);
  }
  ~memory_taker() {
    for (const auto& [cell, bytes] : taken) worker::here().memory.release(cell, bytes);
  }
  std::vector<std::pair<void*, std::size_t>> taken;
};

task<> sleeps_in_full_memory() {
  const memory_taker full;
  for (int i = 0; i < 3; ++i) co_await sleep_for(1ms);
}

HEDDLE_TEST(workers, "timers fire when memory is full") {
  runtime_options options;
  options.workers = 2;
  options.memory_bytes = 1 << 20;
  runtime rt(std::make_unique<virtual_driver>(), options);
  rt.run(sleeps_in_full_memory());
}

HEDDLE_TEST(workers, "a number that cannot be is refused") {
  runtime_options options;
  options.workers = 65;
  EXPECT_THROW(runtime rt(options), failure);
}

}  // namespace
}  // namespace heddle::test
