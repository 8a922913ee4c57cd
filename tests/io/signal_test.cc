// SPDX-License-Identifier: MIT
// D5 and D8: signals as something to wait for.
#include "heddle/io/signal.hh"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "heddle/core/enter.hh"
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

task<> waits_and_gets_one() {
  signal_set set{SIGUSR1};
  raise_one(SIGUSR1);
  EXPECT_EQ(co_await set.next(), SIGUSR1);
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
  struct sigaction now{};
  ::sigaction(number, nullptr, &now);
  return now.sa_handler != SIG_DFL;
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

std::atomic<int> heard_before = 0;

task<> hears_each(std::atomic<bool>& over) {
  for (int i = 0; i != 50; ++i) {
    signal_set set{SIGUSR1, SIGUSR2};
    ::kill(::getpid(), i % 2 == 0 ? SIGUSR1 : SIGUSR2);
    EXPECT_EQ(co_await set.next(), i % 2 == 0 ? SIGUSR1 : SIGUSR2);
    if (i % 5 == 0) co_await sleep_for(1ms);
  }
  over = true;
}

task<> computes(const std::atomic<bool>& over) {
  while (!over) {
    const auto until = std::chrono::steady_clock::now() + 200us;
    while (std::chrono::steady_clock::now() < until) {
    }
    co_await yield();
  }
}

/// Signals while one worker computes and the set is another's.
task<> listens_elsewhere() {
  std::atomic<bool> over = false;
  scope s;
  s.spawn(color(1), hears_each(over));
  s.spawn(color(2), computes(over));
  co_await s.join();
}

task<> goes_with_its_color() {
  for (int i = 0; i != 20; ++i) {
    auto set = std::make_unique<signal_set>(signal_list(SIGUSR1));
    co_await enter(color(2 + i % 3));
    ::kill(::getpid(), SIGUSR1);
    EXPECT_EQ(co_await set->next(), SIGUSR1);
    co_await enter(color(3 + i % 3));
  }
}

}  // namespace

DRIVER_TEST(signal, "it does not matter which worker made a set") {
  if (!make.real()) return;
  runtime_options options;
  options.workers = 3;
  runtime rt(make(), options);
  rt.run(listens_elsewhere());
  rt.run(goes_with_its_color());
}
HEDDLE_TEST(signal, "threads that the runtime did not make may be interrupted") {
  runtime rt;
  std::atomic<bool> over = false;
  std::thread other([&] {
    while (!over) std::this_thread::yield();
  });
  rt.run([&]() -> task<> {
    signal_set set{SIGUSR1};
    for (int i = 0; i != 20; ++i) {
      ::pthread_kill(other.native_handle(), SIGUSR1);
      EXPECT_EQ(co_await set.next(), SIGUSR1);
    }
  }());
  over = true;
  other.join();
}
HEDDLE_TEST(signal, "what was blocked is heard, and blocked again afterwards") {
  runtime rt;
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  rt.run(waits_and_gets_one());
  sigset_t now;
  ::pthread_sigmask(SIG_UNBLOCK, &set, &now);
  EXPECT_EQ(::sigismember(&now, SIGUSR1), 1);
}
HEDDLE_TEST(signal, "the handler that stood before is back, and gets what nobody took") {
  struct sigaction mine{}, before{};
  mine.sa_handler = [](int) { ++heard_before; };
  ::sigaction(SIGUSR1, &mine, &before);
  {
    runtime rt;
    rt.run([]() -> task<> {
      signal_set set{SIGUSR1};
      ::kill(::getpid(), SIGUSR1);
      EXPECT_EQ(heard_before, 0);
      co_return;
    }());
    EXPECT_EQ(heard_before, 1);
    ::kill(::getpid(), SIGUSR1);
    EXPECT_EQ(heard_before, 2);
  }
  ::sigaction(SIGUSR1, &before, nullptr);
}
HEDDLE_TEST(signal, "those with real-time numbers count each time") {
  runtime rt;
  rt.run([]() -> task<> {
    signal_set set{SIGRTMIN, SIGRTMIN + 3};
    for (int i = 0; i != 3; ++i) ::kill(::getpid(), SIGRTMIN + 3);
    ::kill(::getpid(), SIGRTMIN);
    EXPECT_EQ(co_await set.next(), SIGRTMIN);
    for (int i = 0; i != 3; ++i) EXPECT_EQ(co_await set.next(), SIGRTMIN + 3);
    const auto more = co_await as_expected(with_timeout(set.next(), 1ms));
    EXPECT_EQ(error_of(more), std::errc::timed_out);
  }());
}
HEDDLE_TEST(signal, "a signal that nobody can listen to is refused, and nothing else changes") {
  runtime rt;
  rt.run([]() -> task<> {
    try {
      const signal_set set{SIGUSR1, SIGKILL};
      ADD_FAILURE() << "SIGKILL has no other action";
    } catch (const failure& f) {
      EXPECT_EQ(f.code(), std::errc::invalid_argument);
    }
    EXPECT_FALSE(listened_to(SIGUSR1));
    co_return;
  }());
}

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
  ::signal(SIGPIPE, SIG_DFL);  // an earlier test may have left it ignored
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
