// SPDX-License-Identifier: MIT
// Rule A5: signals as a bound for events and for anything that can be awaited.
#include "heddle/io/with_signal.hh"

#include <signal.h>
#include <unistd.h>

#include "heddle/core/twait.hh"
#include "heddle/heddle.hh"
#include "outcome.hh"
#include "support/drivers.hh"
#include "support/reporting_runtime.hh"

using namespace heddle;
using namespace std::chrono_literals;
using heddle::test::error_of;
using heddle::test::reporting_runtime;

namespace {

task<> raises_soon(int number) {
  co_await sleep_for(1ms);
  if (auto* sim = dynamic_cast<sim_driver*>(&runtime::here().io())) {
    EXPECT_TRUE(sim->raise_signal(number));
  } else {
    ::kill(::getpid(), number);
  }
}

task<> events_end_by_signal() {
  int slot = 1;
  std::error_code outcome;
  event<int> kept;
  scope s;
  s.spawn(raises_soon(SIGUSR1));
  twait { kept = with_signal(mkevent(slot), signal_list(SIGUSR1, SIGUSR2), outcome); }
  EXPECT_EQ(outcome, std::errc::interrupted);
  EXPECT_EQ(slot, 1);
  twait {
    kept = with_signal(mkevent(slot), SIGUSR1, outcome);
    timer(1ms, bind(kept, 2));
  }
  EXPECT_EQ(outcome, std::error_code());
  EXPECT_EQ(slot, 2);
  s.spawn(raises_soon(SIGUSR2));
  twait { kept = add_signal(mkevent(slot), signal_list::range(SIGUSR1, SIGUSR2), 3); }
  EXPECT_EQ(slot, 3);
  co_await s.join();
}

task<int> later(int n, nanoseconds span) {
  co_await sleep_for(span);
  co_return n;
}

task<> waits_end_by_signal() {
  scope s;
  s.spawn(raises_soon(SIGUSR1));
  const auto ended = co_await as_expected(with_signal(later(1, 1min), SIGUSR1));
  EXPECT_EQ(error_of(ended), std::errc::interrupted);
  const int n = co_await with_signal(later(4, 1ms), SIGUSR1);
  EXPECT_EQ(n, 4);
  s.spawn(raises_soon(SIGUSR1));
  const auto slept = co_await as_expected(with_signal(sleep_for(1min), SIGUSR1));
  EXPECT_EQ(error_of(slept), std::errc::interrupted);
  const auto timed = co_await as_expected(with_timeout(with_signal(later(1, 1min), SIGUSR1), 1ms));
  EXPECT_EQ(error_of(timed), std::errc::timed_out);
  co_await s.join();
}

}  // namespace

DRIVER_TEST(with_signal, "A5 an event with a signal is unblocked when the signal comes first") {
  reporting_runtime v(make);
  v.rt.run(events_end_by_signal());
  EXPECT_EQ(v.rt.drain(), 0u);
  EXPECT_TRUE(v.reports.empty());
}

DRIVER_TEST(with_signal, "A5 any wait can end by a signal, and what ended before is delivered") {
  reporting_runtime v(make);
  v.rt.run(waits_end_by_signal());
  EXPECT_TRUE(v.reports.empty());
}

namespace {
/// Ends some time after it was asked to, as an operation of the kernel's does.
task<> ends_slowly() {
  const auto slept = co_await as_expected(sleep_for(1min));
  co_await shield(sleep_for(2ms), 1min);
  if (!slept) throw failure(slept.error(), "slept");
}
task<> ends_by_time() {
  const auto ended = co_await as_expected(with_timeout(with_signal(ends_slowly(), SIGUSR1), 1ms));
  EXPECT_EQ(error_of(ended), std::errc::timed_out);
}
}  // namespace

DRIVER_TEST(with_signal, "a time limit around a wait with a signal is told as such") {
  reporting_runtime v(make);
  v.rt.run(ends_by_time());
}
