// SPDX-License-Identifier: MIT
// Spans: whatever counts one never ends before it has passed since the call, also after a long
// computation in the same turn; and spans and times at the ends of their ranges mean what they say.
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "heddle/core/combine.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/hedged.hh"
#include "heddle/core/notify.hh"
#include "heddle/core/rendezvous.hh"
#include "heddle/core/scope.hh"
#include "heddle/core/select.hh"
#include "heddle/core/sleep.hh"
#include "heddle/core/yield.hh"
#include "support/drivers.hh"
#include "support/virtual_runtime.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

/// Each waits for this span in its own way, and for nothing else.
using span_wait = task<> (*)(nanoseconds);
struct named_span_wait {
  const char* name;
  span_wait wait;
};

task<> until_cancelled() { co_await sleep_for(24h); }

task<> by_sleep(nanoseconds span) { co_await sleep_for(span); }
task<> by_sleep_until(nanoseconds span) { co_await sleep_until(add_saturated(clock::now(), span)); }
task<> by_timer(nanoseconds span) {
  rendezvous<> r;
  timer(span, r.make_event());
  co_await r;
}
task<> by_timeout_alone(nanoseconds span) {
  rendezvous<> r;
  const event<> kept = r.make_event();
  EXPECT_FALSE(co_await as_expected(with_timeout(r, span)));
  r.clear();
}
task<> by_timeout_of_sleep(nanoseconds span) {
  EXPECT_FALSE(co_await as_expected(with_timeout(sleep_for(24h), span)));
}
task<> by_timeout_of_task(nanoseconds span) {
  EXPECT_FALSE(co_await as_expected(with_timeout(until_cancelled(), span)));
}
task<> by_timeout_in_timeout(nanoseconds span) {
  EXPECT_FALSE(
      co_await as_expected(with_timeout(with_timeout(until_cancelled(), span), span + 1h)));
}
task<> by_deadline(nanoseconds span) {
  const time_point due = add_saturated(clock::now(), span);
  EXPECT_FALSE(co_await as_expected(with_deadline(until_cancelled(), due)));
}
task<> by_shield(nanoseconds span) {
  EXPECT_FALSE(co_await as_expected(shield(until_cancelled(), span)));
}
task<> by_event_timeout(nanoseconds span) {
  rendezvous<> r;
  const event<> kept = with_timeout(r.make_event(), span);
  co_await r;
}
task<> by_any(nanoseconds span) { co_await any(sleep_for(24h), sleep_for(span)); }
task<> by_scope(nanoseconds span) {
  scope s;
  s.spawn(by_sleep(span));
  s.spawn(by_timer(span));
  co_await s.join();
}
task<int> hedge_of(std::size_t i) {
  if (i == 0) co_await until_cancelled();
  co_return 1;
}
task<> by_hedge(nanoseconds span) {
  auto make = [](std::size_t i) { return hedge_of(i); };
  EXPECT_EQ(co_await hedged(2, span, make), 1);
}

constexpr named_span_wait span_waits[] = {
    {"sleep_for", &by_sleep},
    {"sleep_until of clock::now()", &by_sleep_until},
    {"timer", &by_timer},
    {"with_timeout of a rendezvous", &by_timeout_alone},
    {"with_timeout of a sleep", &by_timeout_of_sleep},
    {"with_timeout of a task", &by_timeout_of_task},
    {"with_timeout in with_timeout", &by_timeout_in_timeout},
    {"with_deadline of clock::now()", &by_deadline},
    {"shield", &by_shield},
    {"with_timeout of an event", &by_event_timeout},
    {"any of two sleeps", &by_any},
    {"children of a scope", &by_scope},
    {"hedged", &by_hedge},
};

/// Computes for a while in the middle of a turn, which is what moving the clock means here.
task<> after_computing(virtual_driver& d, span_wait wait, nanoseconds computed, nanoseconds span,
                       nanoseconds& took) {
  co_await yield();
  d.t += computed;
  const time_point from = d.t;
  co_await wait(span);
  took = d.t - from;
}

/// The turn computes on after the wait has begun, in another task.
task<> others_compute(virtual_driver& d, nanoseconds computed) {
  co_await yield();
  d.t += computed;
}

}  // namespace

HEDDLE_TEST(spans, "no wait ends before its span, counted from the call and not from the turn") {
  for (const std::size_t workers : {std::size_t{1}, std::size_t{3}}) {
    for (const named_span_wait& w : span_waits) {
      for (const nanoseconds computed : {nanoseconds(0), nanoseconds(8ms), nanoseconds(30s)}) {
        for (const nanoseconds span : {nanoseconds(1), nanoseconds(70us), nanoseconds(10ms)}) {
          SCOPED_TRACE(std::string(w.name) + ", computed " + std::to_string(computed.count()) +
                       " ns, span " + std::to_string(span.count()) + " ns, workers " +
                       std::to_string(workers));
          runtime_options options;
          options.workers = workers;
          virtual_runtime v(std::move(options));
          auto& d = static_cast<virtual_driver&>(v.rt.io());
          nanoseconds took{};
          v.rt.run([&]() -> task<> {
            scope s;
            s.spawn(after_computing(d, w.wait, computed, span, took));
            s.spawn(others_compute(d, computed));
            co_await s.join();
          });
          EXPECT_GE(took, span);
          EXPECT_LE(took, span + computed + 2ms);  // the clock moves with each reading
        }
      }
    }
  }
}

HEDDLE_TEST(spans, "the clock is fresh in the middle of a turn") {
  virtual_runtime v;
  auto& d = static_cast<virtual_driver&>(v.rt.io());
  v.rt.run([](virtual_driver& at) -> task<> {
    const time_point before = clock::now();
    at.t += 5ms;
    EXPECT_GE(clock::now() - before, 5ms);
    co_return;
  }(d));
}

namespace {

task<> after_real_work(span_wait wait, nanoseconds& least) {
  using machine = std::chrono::steady_clock;
  for (int i = 0; i != 3; ++i) {
    co_await yield();
    const auto began = machine::now();
    while (machine::now() - began < 3ms) {
    }
    const auto from = machine::now();
    co_await wait(4ms);
    least = std::min(least, nanoseconds(machine::now() - from));
  }
}

}  // namespace

DRIVER_TEST(spans, "after real work in the turn a wait lasts its span") {
  if (!make.real()) GTEST_SKIP() << "work takes no time there";
  for (const std::size_t workers : {std::size_t{1}, std::size_t{2}}) {
    for (const named_span_wait& w : span_waits) {
      runtime_options options;
      options.workers = workers;
      runtime rt(make(), std::move(options));
      nanoseconds least = nanoseconds::max();
      rt.run(after_real_work(w.wait, least));
      EXPECT_GE(least, 4ms) << w.name << ", workers " << workers;
    }
  }
}

namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

static_assert(add_saturated(never, 1ns) == never);
static_assert(add_saturated(never, nanoseconds::max()) == never);
static_assert(add_saturated(time_point(), nanoseconds::max()) == never);
static_assert(add_saturated(time_point(-1ns), nanoseconds::min()) == time_point::min());
static_assert(add_saturated(time_point::min(), nanoseconds::max()) == time_point(-1ns));
static_assert(add_saturated(time_point(5ns), -7ns) == time_point(-2ns));
static_assert(add_saturated(nanoseconds::max(), nanoseconds::max()) == nanoseconds::max());
static_assert(add_saturated(nanoseconds::min(), -1ns) == nanoseconds::min());
static_assert(span_between(time_point::min(), never) == nanoseconds::max());
static_assert(span_between(never, time_point::min()) == nanoseconds::min());
static_assert(span_between(time_point(3ns), time_point(1ns)) == -2ns);
static_assert(span_between(time_point(-2ns), never) == nanoseconds::max());
static_assert(to_span(std::chrono::hours::max()) == nanoseconds::max());
static_assert(to_span(std::chrono::hours::min()) == nanoseconds::min());
static_assert(to_span(std::chrono::seconds(most)) == nanoseconds::max());
static_assert(to_span(std::chrono::seconds(3)) == 3s);
static_assert(to_span(std::chrono::duration<unsigned>(7)) == 7s);
static_assert(to_span(std::chrono::duration<double>(0.5)) == 500ms);
static_assert(to_span(std::chrono::duration<double>(1e300)) == nanoseconds::max());
static_assert(to_span(std::chrono::duration<double>(-1e300)) == nanoseconds::min());
static_assert(to_span(std::chrono::duration<std::int64_t, std::pico>(1)) == 1ns);

/// Ends at once, whatever the drawn moment or span in the past is.
task<> in_the_past(nanoseconds span) {
  co_await sleep_for(span);
  co_await sleep_until(time_point(span));
  co_await by_timer(span);
  co_await by_timeout_alone(span);
  co_await by_timeout_of_task(span);
  EXPECT_FALSE(co_await as_expected(with_deadline(until_cancelled(), time_point(span))));
  EXPECT_FALSE(co_await as_expected(shield(until_cancelled(), span)));
  co_await any(sleep_for(24h), sleep_for(span));
}

/// Bounds nothing: the wait inside ends first.
template <class Span>
task<> far_ahead(Span span) {
  co_await with_timeout(sleep_for(1us), span);
  co_await with_timeout(by_sleep(1us), span);
  co_await shield(sleep_for(1us), span);
  co_await any(sleep_for(1us), sleep_for(span));
  rendezvous<> r;
  timer(span, r.make_event());
  timer(1us, r.make_event());
  co_await r;
  r.clear();
}

}  // namespace

DRIVER_TEST(spans, "spans and moments in the past end at once, however far back they lie") {
  for (const std::size_t workers : {std::size_t{1}, std::size_t{2}}) {
    runtime_options options;
    options.workers = workers;
    runtime rt(make(), std::move(options));
    rt.run([]() -> task<> {
      co_await with_timeout(
          []() -> task<> {
            for (const nanoseconds span :
                 {nanoseconds::min(), nanoseconds::min() + 1ns, nanoseconds(-24h * 365 * 291),
                  nanoseconds(-24h * 365 * 100), nanoseconds(-1s), nanoseconds(-1), nanoseconds(0)})
              co_await in_the_past(span);
          }(),
          20s);
    }());
  }
}

DRIVER_TEST(spans, "the longest spans of every unit are no short ones") {
  for (const std::size_t workers : {std::size_t{1}, std::size_t{2}}) {
    runtime_options options;
    options.workers = workers;
    runtime rt(make(), std::move(options));
    rt.run([]() -> task<> {
      co_await far_ahead(nanoseconds::max());
      co_await far_ahead(nanoseconds::max() - 1ns);
      co_await far_ahead(std::chrono::microseconds::max());
      co_await far_ahead(std::chrono::seconds::max());
      co_await far_ahead(std::chrono::hours::max());
      co_await far_ahead(std::chrono::years::max());
      co_await far_ahead(std::chrono::duration<double>(1e300));
    }());
  }
}

}  // namespace heddle::test
