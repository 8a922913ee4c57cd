// SPDX-License-Identifier: MIT
// Rules A, S1, S2 and S5: events made of events, callbacks, timeouts on events, reusable events,
// hedged calls.
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/core/adapt.hh"
#include "heddle/core/callback.hh"
#include "heddle/core/hedged.hh"
#include "heddle/core/notify.hh"
#include "heddle/core/reusable_event.hh"
#include "heddle/core/twait.hh"
#include "heddle/heddle.hh"
#include "heddle/sync/condition.hh"
#include "support/drivers.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

using namespace heddle;
using namespace std::chrono_literals;
using heddle::test::virtual_runtime;

HEDDLE_TEST(adapt, "A1 a bound event fires with its value, and is empty once the other has fired") {
  virtual_runtime v;
  rendezvous<> r;
  int slot = 0;
  event<> b = bind(r.make_event(slot), 7);
  EXPECT_TRUE(b);
  b.trigger();
  EXPECT_EQ(slot, 7);
  EXPECT_FALSE(b);
  event<int> e = r.make_event(slot);
  b = bind(e, 8);
  e.trigger(1);
  EXPECT_FALSE(b);
  b.trigger();
  EXPECT_EQ(slot, 1);
  e = r.make_event(slot);
  bind(e, 9).unblock();  // counts as firing
  EXPECT_EQ(slot, 9);
  EXPECT_FALSE(bind(event<int>(), 1));
}

HEDDLE_TEST(adapt, "A2 map fires with f of the value, and an unblock passes without a call") {
  virtual_runtime v;
  rendezvous<> r;
  std::size_t slot = 0;
  int calls = 0;
  const auto length = [&calls](std::string s) {
    ++calls;
    return s.size();
  };
  event<std::string> e = map<std::string>(r.make_event(slot), length);
  e.trigger("four");
  EXPECT_EQ(slot, 4u);
  e = map<std::string>(r.make_event(slot), length);
  e.unblock();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(slot, 4u);
  EXPECT_TRUE(r.join() && r.join() && !r.join());
  EXPECT_TRUE(v.reports.empty());
  bool seen = false;  // f may have no value: then the event has none either
  map<std::unique_ptr<int>>(r.make_event(), [&](std::unique_ptr<int> p) {
    seen = *p == 3;
  }).trigger(std::make_unique<int>(3));
  EXPECT_TRUE(seen);
}

HEDDLE_TEST(adapt, "A3 rebind gives an event of any type and discards the value") {
  virtual_runtime v;
  rendezvous<> r;
  event<std::unique_ptr<int>, std::string> e =
      rebind<std::unique_ptr<int>, std::string>(r.make_event());
  e.trigger(nullptr, "text");
  EXPECT_TRUE(r.join());
  EXPECT_TRUE(v.reports.empty());  // fired, and not dropped
  EXPECT_FALSE(rebind<int>(event<>()));
}

HEDDLE_TEST(adapt, "dropping what was made of an event drops that event, and adapters nest") {
  virtual_runtime v;
  rendezvous<> r;
  int slot = 0;
  event<> b = bind(map<int>(r.make_event(slot), [](int n) { return n + 1; }), 4);
  b.trigger();
  EXPECT_EQ(slot, 5);
  b = bind(map<int>(r.make_event(slot), [](int n) { return n + 1; }), 4);
  b = {};
  ASSERT_EQ(v.reports.size(), 1u);
  EXPECT_EQ(v.reports[0].kind, diagnostic_kind::abandoned_event);
  EXPECT_FALSE(r.has_waiting());
}

HEDDLE_TEST(adapt, "an outstanding bound event with a string takes at most 200 bytes in all") {
  const auto cell = [](std::size_t bytes) { return (bytes + 15) / 16 * 16; };
  using bound = detail::relay<event<std::string>, detail::pass_bound<std::string>>;
  const std::size_t record_with_slot = sizeof(event_record) + sizeof(void*);
  EXPECT_LE(cell(record_with_slot), 64u);
  EXPECT_LE(cell(record_with_slot) + cell(sizeof(event_record)) + cell(sizeof(bound)), 200u);
}

HEDDLE_TEST(event, "E5 the unblocker of an adapted event unblocks, whatever values it carries") {
  virtual_runtime v;
  rendezvous<> r;
  std::string slot = "before";
  event<std::string> e = map<std::string>(r.make_event(slot), [](std::string s) { return s; });
  e.unblocker().trigger();
  EXPECT_EQ(slot, "before");
  EXPECT_TRUE(r.join());
  event<std::string> both = r.make_event(slot) + r.make_event(slot);
  both.unblocker()();
  EXPECT_EQ(slot, "before");
  EXPECT_TRUE(r.join() && r.join());
}

namespace {

task<> event_timeouts(std::size_t& reported) {
  int slot = 1;
  std::error_code outcome = std::make_error_code(std::errc::io_error);
  event<int> kept;
  twait { kept = with_timeout(mkevent(slot), 1ms, outcome); }
  EXPECT_EQ(outcome, std::errc::timed_out);
  EXPECT_EQ(worker::here().foreign_slots, 0u);  // nothing goes on pointing to the stored outcome
  EXPECT_EQ(slot, 1);
  EXPECT_FALSE(kept);
  twait {
    kept = with_timeout(mkevent(slot), 1h, outcome);
    timer(1ms, bind(kept, 5));
  }
  EXPECT_EQ(outcome, std::error_code());
  EXPECT_EQ(slot, 5);
  twait { kept = add_timeout(mkevent(slot), 1ms, 6); }
  EXPECT_EQ(slot, 6);
  twait { kept = with_timeout(mkevent(slot), 1ms); }
  EXPECT_EQ(slot, 6);
  rendezvous<> r;
  event<> silent = r.make_event();
  {
    rendezvous<> gone;
    static_cast<void>(with_timeout(gone.make_event(), 1ms, outcome));
  }
  co_await sleep_for(2ms);
  EXPECT_EQ(outcome, std::error_code());  // a cancelled event has no outcome
  silent.trigger();
  reported = 0;
}

}  // namespace

DRIVER_TEST(notify, "A4 an event with a timeout is unblocked when the time comes first") {
  std::vector<diagnostic> reports;
  runtime_options options;
  options.report = [&](const diagnostic& d) { reports.push_back(d); };
  runtime rt(make(), options);
  std::size_t reported = 1;
  rt.run(event_timeouts(reported));
  EXPECT_EQ(reports.size(), 0u);
}

namespace {
task<> arms_and_ends(rendezvous<>& r, event<>& kept) {
  std::error_code outcome;
  kept = with_timeout(r.make_event(), 1ms, outcome);
  EXPECT_EQ(worker::here().foreign_slots, 1u);  // or there would be nothing to cut off
  co_await yield();
}
task<> outlives_the_outcome(std::size_t& guarded) {
  rendezvous<> r;
  event<> kept;
  co_await arms_and_ends(r, kept);
  guarded = worker::here().foreign_slots;
  co_await r;  // wakes by the timeout, which writes nowhere
}
}  // namespace

HEDDLE_TEST(notify, "K7 the outcome of a timeout is not written into a frame that has ended") {
  virtual_runtime v;
  std::size_t guarded = 9;
  v.rt.run(outlives_the_outcome(guarded));
  EXPECT_EQ(guarded, 0u);
}

HEDDLE_TEST(callback, "A6 an event that calls runs its function once, inside the trigger") {
  virtual_runtime v;
  int calls = 0, sum = 0;
  event<int, int> e = function_event<int, int>([&](int a, int b) {
    ++calls;
    sum = a + b;
  });
  e.trigger(1, 2);
  EXPECT_EQ(sum, 3);
  e.trigger(3, 4);
  EXPECT_EQ(calls, 1);
  function_event<int>([&](int) { ++calls; }).unblock();
  EXPECT_EQ(calls, 1);
  function_event<>([&] { ++calls; }).unblock();
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(v.reports.empty());
  static_cast<void>(function_event<>([&] { ++calls; }));
  EXPECT_EQ(v.reports.size(), 1u);
  EXPECT_EQ(calls, 2);
}

HEDDLE_TEST(callback, "A7 values are appended or written, and nothing on an unblock") {
  virtual_runtime v;
  std::vector<std::string> list;
  push_back_event(list).trigger("a");
  push_back_event(list).unblock();
  push_back_event(list).trigger("b");
  EXPECT_EQ(list, (std::vector<std::string>{"a", "b"}));
  int numbers[3] = {};
  int* at = numbers;
  output_event<int>(at).trigger(4);
  output_event<int>(at).unblock();
  output_event<int>(at).trigger(5);
  EXPECT_EQ(at, numbers + 2);
  EXPECT_EQ(numbers[0] * 10 + numbers[1], 45);
}

namespace {
void legacy_answer(void (*callback)(void*, int), void* context) { callback(context, 11); }
void modern_answer(std::move_only_function<void(int)> callback) { callback(12); }
}  // namespace

HEDDLE_TEST(callback, "an event serves interfaces with callbacks, of C and of C++") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    int a = 0, b = 0;
    twait {
      auto cb = c_callback(mkevent(a));
      legacy_answer(cb.fire, cb.context);
      modern_answer(as_function(mkevent(b)));
    }
    EXPECT_EQ(a, 11);
    EXPECT_EQ(b, 12);
  }());
  rendezvous<> r;
  auto cb = c_callback(r.make_event());
  cb.forget(cb.context);
  EXPECT_EQ(v.reports.size(), 1u);
}

HEDDLE_TEST(callback, "A8 a preevent is an event in every way: the same type") {
  // Making an event takes one cell and no look-up, so nothing lighter is needed before it.
  virtual_runtime v;
  rendezvous<int> r;
  int slot = 0;
  auto pre = r.make_event(1, slot);
  static_assert(std::is_same_v<decltype(pre), event<int>>);
  static_assert(sizeof(pre) == sizeof(void*));
  pre.trigger(2);
  EXPECT_EQ(slot, 2);
}

HEDDLE_TEST(reusable_event, "S1 every trigger queues one notification, until it is finished") {
  virtual_runtime v;
  rendezvous<int> r;
  int slot = 0;
  auto line = make_reusable(r, 3, slot);
  for (int i = 1; i <= 3; ++i) line.trigger(i);
  EXPECT_EQ(slot, 3);
  EXPECT_TRUE(line && r.has_waiting());
  line.finish();
  EXPECT_FALSE(line);
  line.trigger(9);
  EXPECT_EQ(slot, 3);
  EXPECT_FALSE(r.has_waiting());
  for (int i = 0; i < 3; ++i) {
    int id = 0;
    ASSERT_TRUE(r.join(id));
    EXPECT_EQ(id, 3);
  }
  EXPECT_FALSE(r.has_events());
  auto again = make_reusable(r, 4, slot);
  r.clear();
  EXPECT_FALSE(again);
  again.trigger(5);
  EXPECT_EQ(slot, 3);
  EXPECT_TRUE(v.reports.empty());
}

HEDDLE_TEST(notify, "S2 a cancel notifier runs only when the event is cancelled") {
  virtual_runtime v;
  int canceled = 0;
  const auto count = [&] { ++canceled; };
  rendezvous<> r;
  event<> fired = r.make_event(), unblocked = r.make_event();
  at_cancel(fired, count);
  at_cancel(unblocked, count);
  fired.trigger();
  unblocked.unblock();
  EXPECT_EQ(canceled, 0);
  event<> cleared = r.make_event();
  at_cancel(cleared, count);
  r.clear();
  EXPECT_EQ(canceled, 1);
  event<> dropped = r.make_event();
  at_cancel(dropped, count);
  dropped = {};
  EXPECT_EQ(canceled, 2);
  at_cancel(event<>(), count);
  EXPECT_EQ(canceled, 2);
}

namespace {

struct replicas {
  std::vector<nanoseconds> answers;
  std::string log;
};
task<int> ask(replicas& all, std::size_t i) {
  all.log += static_cast<char>('0' + i);
  try {
    co_await sleep_for(all.answers[i]);
  } catch (...) {
    all.log += 'x';
    throw;
  }
  if (all.answers[i] < 2ms) throw std::runtime_error("replica " + std::to_string(i));
  co_return static_cast<int>(i);
}
task<int> hedge(replicas& all) {
  return hedged(all.answers.size(), 50ms, [&all](std::size_t i) { return ask(all, i); });
}

}  // namespace

DRIVER_TEST(hedged, "S5 the next call starts after the delay, and the first answer is taken") {
  runtime rt(make());
  replicas slow{{900ms, 10ms, 5ms}, {}};
  EXPECT_EQ(rt.run(hedge(slow)), 1);
  EXPECT_EQ(slow.log, "01x");  // the third was never asked, the first was cancelled
  replicas quick{{10ms, 5ms}, {}};
  EXPECT_EQ(rt.run(hedge(quick)), 0);
  EXPECT_EQ(quick.log, "0");
  replicas failing{{1ms, 1ms, 10ms}, {}};
  EXPECT_EQ(rt.run(hedge(failing)), 2);  // a failure starts the next at once
  replicas hopeless{{1ms, 1ms}, {}};
  EXPECT_THROW(rt.run(hedge(hopeless)), std::runtime_error);
}

namespace {
task<int> waits_for(condition& c, std::size_t i) {
  co_await c.wait();
  co_return static_cast<int>(i);
}
}  // namespace

HEDDLE_TEST(hedged, "of answers that come together the first is taken") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    condition ready;
    scope s;
    s.spawn([](condition& c) -> task<> {
      co_await sleep_for(5ms);
      EXPECT_EQ(c.notify_all(), 3u);
    }(ready));
    const int first =
        co_await hedged(3, 1ms, [&ready](std::size_t i) { return waits_for(ready, i); });
    EXPECT_EQ(first, 0);
    co_await s.join();
  }());
}

HEDDLE_TEST(hedged, "a hedged call that is cancelled cancels its calls") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    replicas slow{{1h, 1h}, {}};
    const auto ended = co_await as_expected(with_timeout(hedge(slow), 1s));
    EXPECT_EQ(ended.error(), std::errc::timed_out);
    EXPECT_EQ(slow.log, "01xx");
  }());
}

HEDDLE_TEST(hedged, "W3 an answer is given although the wait is cancelled while the others end") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    const auto call = [](std::size_t i) -> task<int> {
      if (i == 0) {
        co_await shield(sleep_for(9s), 1h);  // ends late although it is asked to
        throw std::runtime_error("replica 0");
      }
      co_await sleep_for(1s);
      co_return 1;
    };
    const auto got = co_await as_expected(with_timeout(hedged(2, 1s, call), 5s));
    EXPECT_EQ(got.value_or(0), 1);
  }());
}
