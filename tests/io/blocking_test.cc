// SPDX-License-Identifier: MIT
// Calls that block: outcomes on every driver; threads, queue, cancellation and reports where there
// is a pool. Gates order the threads, so nothing here depends on how fast a thread is.
#include "heddle/io/blocking.hh"

#include <atomic>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/heddle.hh"
#include "outcome.hh"
#include "support/drivers.hh"

using namespace heddle;
using heddle::test::error_of;
using namespace std::chrono_literals;

namespace {

/// What calls wait for, and how many came there.
struct gate {
  std::promise<void> opener;
  std::shared_future<void> opened{opener.get_future()};
  std::atomic<int> arrived{0};
  std::atomic<int> passed{0};
};

int pass(gate& g, int value) {
  ++g.arrived;
  g.opened.wait();
  ++g.passed;
  return value;
}

int twice(int n) { return 2 * n; }
void append(std::string& to, const std::string& what) { to += what; }
std::string& same(std::string& text) { return text; }
int refuse() { throw std::out_of_range("no such number"); }
int fail() { throw std::system_error(ENOENT, std::generic_category()); }

task<> outcomes() {
  EXPECT_EQ(co_await blocking(twice, 21), 42);
  std::string text = "a";
  co_await blocking(append, std::ref(text), "b");
  EXPECT_EQ(text, "ab");
  std::string& back = co_await blocking(same, std::ref(text));
  EXPECT_EQ(&back, &text);
  auto owned = std::make_unique<int>(7);
  owned = co_await blocking([](std::unique_ptr<int>& p) { return std::move(p); }, std::move(owned));
  EXPECT_EQ(*owned, 7);
}

task<> exceptions() {
  try {
    co_await blocking(refuse);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::out_of_range& e) {
    EXPECT_STREQ(e.what(), "no such number");
  }
  const auto failed = co_await as_expected(blocking(fail));
  EXPECT_EQ(error_of(failed), std::errc::no_such_file_or_directory);
  const auto fine = co_await as_expected(blocking(twice, 1));
  EXPECT_EQ(fine.value_or(0), 2);
}

task<> beside_others() {
  int a = 0, b = 0;
  rendezvous<> r;
  start(blocking(twice, 1), r.make_event(a));
  start(blocking(twice, 2), r.make_event(b));
  co_await r;
  co_await r;
  EXPECT_EQ(a + b, 6);
}

task<> in_cancelled_context() {
  bool ran = false;
  scope s;
  s.cancel();
  std::error_code code;
  s.spawn(
      [](bool& flag, std::error_code& out) -> task<> {
        const auto r = co_await as_expected(blocking([](bool& on) { on = true; }, std::ref(flag)));
        out = error_of(r);
      },
      std::ref(ran), std::ref(code));
  co_await s.join();
  EXPECT_FALSE(ran);
  EXPECT_EQ(code, std::errc::operation_canceled);
}

/// Waits for what another thread does, without a clock of ours.
template <class Ready>
task<> until(Ready ready) {
  for (bool done = ready(); !done; done = ready()) co_await sleep_for(100us);
}

/// One thread, held at a gate; what comes now has to queue.
struct held_thread {
  gate g;
  scope s;
  int value = 0;

  task<> hold() {
    s.spawn(
        [](held_thread& self) -> task<> {
          self.value = co_await blocking(pass, std::ref(self.g), 5);
        },
        std::ref(*this));
    co_await until([this] { return g.arrived == 1; });
  }
};

driver_options one_thread(std::uint32_t queue = 100) {
  driver_options o;
  o.pool_threads_max = 1;
  o.pool_queue_max = queue;
  return o;
}

task<> queued_is_taken_back() {
  held_thread h;
  co_await h.hold();
  int calls = 0;
  const auto late =
      co_await as_expected(with_timeout(blocking([](int& n) { ++n; }, std::ref(calls)), 1ms));
  EXPECT_EQ(error_of(late), std::errc::timed_out);
  EXPECT_GE(blocking_statistics().taken_back, 1u);
  h.g.opener.set_value();
  co_await h.s.join();
  EXPECT_EQ(h.value, 5);
  co_await blocking([] {});  // after the place where it would have run
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(blocking_statistics().queued, 0u);
}

task<> push_later(std::vector<int>& to, int n) {
  static_cast<void>(co_await as_expected(
      blocking([](std::vector<int>& v, int value) { v.push_back(value); }, std::ref(to), n)));
}

task<> one_of_many_is_taken_back() {
  held_thread h;
  co_await h.hold();
  std::vector<int> order;
  rendezvous<> r;
  event<> ends[3] = {r.make_event(), r.make_event(), r.make_event()};
  for (int i = 0; i < 3; ++i) start(push_later(order, i), ends[i]);
  EXPECT_EQ(blocking_statistics().queued, 3u);
  ends[1].unblock();  // nobody wants it any more
  co_await yield();
  EXPECT_EQ(blocking_statistics().queued, 2u);
  h.g.opener.set_value();
  for (int i = 0; i < 3; ++i) co_await r;
  co_await h.s.join();
  EXPECT_EQ(order, (std::vector<int>{0, 2}));
}

task<> running_is_waited_for() {
  held_thread h;
  co_await h.hold();
  h.s.cancel();
  co_await yield();
  EXPECT_EQ(h.s.live(), 1u);  // it is still there
  h.g.opener.set_value();
  co_await h.s.join();
  EXPECT_EQ(h.value, 5);  // and what it gave is not lost
}

task<> stop_token_is_told() {
  const auto until_stopped = [](std::stop_token stop, std::atomic<int>& running) {
    running = 1;
    while (!stop.stop_requested()) std::this_thread::yield();
    return 3;
  };
  std::atomic<int> running = 0;
  int got = 0;
  scope s;
  s.spawn([](decltype(until_stopped)& call, std::atomic<int>& flag,
             int& out) -> task<> { out = co_await blocking(call, std::ref(flag)); },
          until_stopped, std::ref(running), std::ref(got));
  co_await until([&running] { return running == 1; });
  s.cancel();
  co_await s.join();
  EXPECT_EQ(got, 3);
}

task<> full_queue() {
  held_thread h;
  co_await h.hold();
  int a = 0;
  rendezvous<> r;
  start(blocking(twice, 1), r.make_event(a));
  try {
    co_await blocking(twice, 2);
    ADD_FAILURE() << "the limit of one was not kept";
  } catch (const failure& f) {
    EXPECT_EQ(f.code(), std::errc::resource_unavailable_try_again);
    EXPECT_NE(std::string(f.what()).find("pool_queue_max"), std::string::npos);
  }
  h.g.opener.set_value();
  co_await r;
  co_await h.s.join();
  EXPECT_EQ(a, 2);
  const pool_statistics now = blocking_statistics();
  EXPECT_EQ(now.refused, 1u);
  EXPECT_EQ(now.queued_peak, 1u);
}

task<> side_by_side(int threads) {
  std::latch meeting(threads);
  scope s;
  for (int i = 0; i < threads; ++i)
    s.spawn(
        [](std::latch& at) -> task<> {
          co_await blocking([](std::latch& l) { l.arrive_and_wait(); }, std::ref(at));
        },
        std::ref(meeting));
  co_await s.join();  // ends only if all of them run at once
  const pool_statistics now = blocking_statistics();
  EXPECT_EQ(now.threads_peak, static_cast<std::uint32_t>(threads));
  EXPECT_EQ(now.finished, static_cast<std::uint64_t>(threads));
  EXPECT_EQ(now.wait_ns.count(), now.finished);
  EXPECT_EQ(now.run_ns.count(), now.finished);
}

task<> never_more_threads(int calls, std::uint32_t most) {
  scope s;
  std::atomic<int> ran = 0;
  for (int i = 0; i < calls; ++i)
    s.spawn(
        [](std::atomic<int>& n) -> task<> {
          co_await blocking([](std::atomic<int>& k) { ++k; }, std::ref(n));
        },
        std::ref(ran));
  co_await s.join();
  EXPECT_EQ(ran, calls);
  EXPECT_LE(blocking_statistics().threads_peak, most);
}

task<> grows_and_shrinks() {
  co_await side_by_side(3);
  co_await until([] { return blocking_statistics().threads == 0; });
  EXPECT_EQ(blocking_statistics().threads_idle, 0u);
  EXPECT_EQ(co_await blocking(twice, 4), 8);  // and grows again
  EXPECT_EQ(blocking_statistics().threads_peak, 3u);
}

/// What was reported, by whichever worker.
class report_log {
 public:
  void add(const diagnostic& d) {
    const std::lock_guard hold(lock_);
    reports_.push_back(d);
    texts_.push_back(to_string(d));
    holders_.emplace_back(d.holders.begin(), d.holders.end());
  }
  [[nodiscard]] std::string text(std::size_t i) {
    const std::lock_guard hold(lock_);
    return texts_.at(i);
  }
  [[nodiscard]] std::vector<resource_holder> holders(std::size_t i) {
    const std::lock_guard hold(lock_);
    return holders_.at(i);
  }
  [[nodiscard]] std::vector<diagnostic> all() {
    const std::lock_guard hold(lock_);
    return reports_;
  }

 private:
  std::mutex lock_;
  std::vector<diagnostic> reports_;
  std::vector<std::string> texts_;
  std::vector<std::vector<resource_holder>> holders_;
};

task<> pile_up(report_log& log) {
  held_thread h;
  co_await h.hold();
  int a = 0, b = 0;
  rendezvous<> r;
  start(blocking(twice, 1), r.make_event(a));
  start(blocking(twice, 2), r.make_event(b));
  // Two reports: the second when the wait has doubled.
  co_await until([&log] { return log.all().size() >= 2; });
  h.g.opener.set_value();
  co_await r;
  co_await r;
  co_await h.s.join();
  const std::vector<diagnostic> reports = log.all();
  EXPECT_EQ(reports[0].kind, diagnostic_kind::blocking_pile_up);
  EXPECT_EQ(reports[0].count, 2u);
  EXPECT_NE(reports[0].waits, 0u);
  // The call that holds the only thread, by line and age.
  const std::vector<resource_holder> first = log.holders(0), second = log.holders(1);
  EXPECT_EQ(first.size(), 1u);
  EXPECT_EQ(second.size(), 1u);
  if (first.empty() || second.empty()) co_return;
  EXPECT_NE(first[0].at, 0u);
  EXPECT_GE(second[0].age, first[0].age);
  EXPECT_NE(log.text(0).find(" ms: the call at tests/io/blocking_test.cc:"), std::string::npos)
      << log.text(0);
  co_await sleep_for(20ms);
  EXPECT_EQ(log.all().size(), reports.size()) << "an empty queue is watched no more";
}

void run_on(std::unique_ptr<driver> io, task<> (*program)()) {
  runtime rt(std::move(io));
  rt.run(program());
}

/// The tests that need a pool; the simulated world calls on the spot.
#define POOL_TEST(sentence, limits, program)                           \
  DRIVER_TEST(blocking, sentence) {                                    \
    if (!make.real()) GTEST_SKIP() << "the simulation has no threads"; \
    run_on(make(limits), program);                                     \
  }                                                                    \
  static_assert(true)

}  // namespace

DRIVER_TEST(blocking, "values and references come back to the task") { run_on(make(), &outcomes); }
DRIVER_TEST(blocking, "exceptions come back to the task") { run_on(make(), &exceptions); }
DRIVER_TEST(blocking, "a call can be joined to an event") { run_on(make(), &beside_others); }
DRIVER_TEST(blocking, "in a cancelled context nothing is called") {
  run_on(make(), &in_cancelled_context);
}

POOL_TEST("a queued call that is cancelled never runs", one_thread(), &queued_is_taken_back);
POOL_TEST("the others keep their order", one_thread(), &one_of_many_is_taken_back);
POOL_TEST("a running call that is cancelled is waited for", one_thread(), &running_is_waited_for);
POOL_TEST("a running call sees its stop token", one_thread(), &stop_token_is_told);
POOL_TEST("a full queue refuses and says what to do", one_thread(1), &full_queue);
POOL_TEST("calls run at once, each on a thread", {}, [] { return side_by_side(4); });

DRIVER_TEST(blocking, "there are never more threads than the limit") {
  if (!make.real()) GTEST_SKIP() << "the simulation has no threads";
  driver_options few;
  few.pool_threads_max = 2;
  run_on(make(few), [] { return never_more_threads(200, 2); });
}

DRIVER_TEST(blocking, "the limit is that of the runtime, whatever its number of workers") {
  if (!make.real()) GTEST_SKIP() << "the simulation has no threads";
  driver_options few;
  few.pool_threads_max = 2;
  runtime_options options;
  options.workers = 4;
  options.io = few;
  runtime rt(make(few), std::move(options));
  rt.run([]() -> task<> {
    scope s;
    std::atomic<int> running = 0, most = 0, wrong = 0;
    for (int i = 0; i < 200; ++i) {
      s.spawn(color(i),
              [](std::atomic<int>& now, std::atomic<int>& peak, std::atomic<int>& bad) -> task<> {
                const auto before = worker::here().color;
                co_await blocking([&] {
                  const int n = ++now;
                  for (int seen = peak; seen < n && !peak.compare_exchange_weak(seen, n);) {
                  }
                  std::this_thread::sleep_for(50us);
                  --now;
                });
                if (worker::here().color != before) ++bad;
              }(running, most, wrong));
    }
    co_await s.join();
    EXPECT_EQ(wrong, 0) << "a result comes back to the caller's color";
    EXPECT_LE(most, 2);
    EXPECT_EQ(blocking_statistics().finished, 200u);
    EXPECT_EQ(blocking_statistics().queued, 0u);
  }());
}

DRIVER_TEST(blocking, "threads without work end, and come again") {
  if (!make.real()) GTEST_SKIP() << "the simulation has no threads";
  driver_options quick;
  quick.pool_idle = 1ms;
  run_on(make(quick), &grows_and_shrinks);
}

DRIVER_TEST(blocking, "calls that pile up are reported with the line that waits") {
  if (!make.real()) GTEST_SKIP() << "the simulation has no threads";
  driver_options limits = one_thread();
  limits.pool_wait_report = 1ms;
  report_log log;
  runtime_options options;
  options.report = [&log](const diagnostic& d) { log.add(d); };
  runtime rt(make(limits), std::move(options));
  rt.run(pile_up(log));
}

DRIVER_TEST(blocking, "calls that waited only a little leave no timer behind") {
  if (!make.real()) GTEST_SKIP() << "the simulation has no threads";
  runtime rt(make(one_thread()));
  rt.run(queued_is_taken_back());
  rt.run(one_of_many_is_taken_back());
  EXPECT_EQ(rt.next_wake(), never);
}

DRIVER_TEST(blocking, "a runtime that ends waits for the call that runs") {
  if (!make.real()) GTEST_SKIP() << "the simulation has no threads";
  gate g;
  {
    runtime rt(make());
    rt.spawn([](gate& at) -> task<> { co_await blocking(pass, std::ref(at), 1); }(g));
    while (g.arrived == 0) rt.once();
    g.opener.set_value();
  }
  EXPECT_EQ(g.passed, 1);
}
