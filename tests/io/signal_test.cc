// SPDX-License-Identifier: MIT
// D5 and D8: signals as something to wait for.
#include "heddle/io/signal.hh"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "heddle/heddle.hh"
#include "outcome.hh"
#include "support/drivers.hh"

using namespace heddle;
using heddle::test::error_of;
using namespace std::chrono_literals;

namespace {

void raise_one(int number) {
  if (auto* sim = dynamic_cast<sim_driver*>(&runtime::here().io())) {
    EXPECT_TRUE(sim->raise_signal(number));
  } else {
    ::kill(::getpid(), number);
  }
}

task<> waits_and_gets() {
  signal_set set{SIGUSR1, SIGUSR2};
  scope s;
  s.spawn([]() -> task<> {
    co_await sleep_for(1ms);
    raise_one(SIGUSR2);
  });
  EXPECT_EQ(co_await set.next(), SIGUSR2);
  co_await s.join();
}

task<> none_is_lost() {
  signal_set set{SIGUSR1, SIGUSR2};
  raise_one(SIGUSR1);
  EXPECT_EQ(co_await set.next(), SIGUSR1);
  raise_one(SIGUSR2);  // nobody waits now
  raise_one(SIGUSR1);
  const int first = co_await set.next();
  const int second = co_await set.next();
  EXPECT_EQ(first + second, SIGUSR1 + SIGUSR2);
}

task<> ends_by_timeout() {
  signal_set set{SIGUSR1};
  const auto none = co_await as_expected(with_timeout(set.next(), 1ms));
  EXPECT_EQ(error_of(none), std::errc::timed_out);
  raise_one(SIGUSR1);
  EXPECT_EQ(co_await set.next(), SIGUSR1);
}

task<> listens() {
  signal_set set{SIGUSR1};
  set.set_background(true);
  co_await set.next();
}

task<> listens_in_the_foreground(bool& came) {
  signal_set set{SIGALRM};
  // The system's timer, so that nothing of the runtime's keeps the loop going but the wait.
  const itimerval soon{{0, 0}, {0, 1000}};
  ::setitimer(ITIMER_REAL, &soon, nullptr);
  const int number = co_await set.next();
  came = number == SIGALRM;
}

/// Whether the signal goes to a set, and not to its default action.
bool listened_to(int number) {
  if (auto* sim = dynamic_cast<sim_driver*>(&runtime::here().io()))
    return sim->raise_signal(number);
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return ::sigismember(&mask, number) == 1;
}

task<> default_is_back() {
  {
    signal_set outer{SIGUSR1};
    {
      signal_set inner{SIGUSR1, SIGUSR2};
      EXPECT_TRUE(listened_to(SIGUSR2));
    }
    EXPECT_TRUE(listened_to(SIGUSR1));
    EXPECT_FALSE(listened_to(SIGUSR2));
  }
  EXPECT_FALSE(listened_to(SIGUSR1));
  co_return;
}

}  // namespace

DRIVER_TEST(signal, "a task waits for a signal and gets its number") {
  runtime rt(make(), {});
  rt.run(waits_and_gets());
}
DRIVER_TEST(signal, "D5 none is lost between two waits") {
  runtime rt(make(), {});
  rt.run(none_is_lost());
}
DRIVER_TEST(signal, "a wait that times out loses none") {
  runtime rt(make(), {});
  rt.run(ends_by_timeout());
}
DRIVER_TEST(signal, "D5 the default is back when the last set for a signal goes") {
  runtime rt(make(), {});
  rt.run(default_is_back());
}
DRIVER_TEST(signal, "D8 SIGPIPE is ignored while a runtime is there") {
  runtime rt(make(), {});
  struct sigaction now{};
  ::sigaction(SIGPIPE, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_IGN);
}
DRIVER_TEST(signal, "D1 a background signal does not keep the loop going") {
  runtime rt(make(), {});
  rt.spawn(listens());
  rt.run();
  EXPECT_EQ(rt.root().live(), 1u);
  if (!make.real()) return;
  bool came = false;
  rt.spawn(listens_in_the_foreground(came));
  rt.run();
  EXPECT_TRUE(came);
}
