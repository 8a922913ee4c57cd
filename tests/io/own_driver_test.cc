// SPDX-License-Identifier: MIT
// A driver of the program's own, made by runtime_options::drivers: it wraps another one and counts,
// with one worker and with several.
#include <array>
#include <atomic>
#include <span>
#include <string>
#include <thread>

#include "heddle/core/sleep.hh"
#include "heddle/io/tcp.hh"
#include "heddle/sched/forwarding_driver.hh"
#include "support/drivers.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

struct calls {
  std::atomic<int> submitted{0};
  std::atomic<int> turns{0};
  std::atomic<int> turns_of_others{0};  ///< by a worker that had borrowed the driver
};
using all_calls = std::array<calls, 4>;

class counting_driver : public forwarding_driver {
 public:
  counting_driver(std::unique_ptr<driver> inner, calls& count)
      : forwarding_driver(std::move(inner)), count_(count) {}

  [[nodiscard]] const char* name() const noexcept override { return "counting"; }
  [[nodiscard]] bool submit(operation& op, worker& w, completion& now) noexcept override {
    ++count_.submitted;
    return forwarding_driver::submit(op, w, now);
  }
  void turn(worker& w, time_point until) noexcept override {
    ++(simulated() || &w == owner() ? count_.turns : count_.turns_of_others);
    forwarding_driver::turn(w, until);
  }

 private:
  calls& count_;
};

driver_factory counting(const driver_maker& make, all_calls& count) {
  return [&make, &count](driver_place& place) {
    return std::make_unique<counting_driver>(make(place), count[place.worker]);
  };
}

task<> echo_once(tcp_stream conn) {
  char text[16];
  while (const std::size_t n = co_await conn.read_some(text))
    co_await conn.write(std::string_view(text, n));
}
task<> echo_each(tcp_listener& door, int count) {
  for (int i = 0; i != count; ++i) spawn(color(100 + i), echo_once(co_await door.accept()));
}
task<> ask_often(address at, int rounds, std::atomic<int>& answers) {
  tcp_stream conn = co_await tcp_connect(at);
  char text[16];
  for (int i = 0; i != rounds; ++i) {
    co_await conn.write("ping");
    co_await conn.read(std::span(text, 4));
    ++answers;
  }
}
task<> talk(int count, int rounds) {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  std::atomic<int> answers = 0;
  scope s;
  s.spawn(echo_each(door, count));
  for (int i = 0; i != count; ++i) s.spawn(color(i + 1), ask_often(door.local(), rounds, answers));
  co_await s.join();
  EXPECT_EQ(answers, count * rounds);
}

/// Color 1 waits at its own worker until color 2 has run one frame long enough to be stood in for.
task<> burn(const all_calls& count, std::atomic<bool>& over) {
  co_await enter(color(2));
  const auto lent = [&count] {
    int n = 0;
    for (const calls& c : count) n += c.turns_of_others;
    return n;
  };
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (lent() == 0 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_GT(lent(), 0) << "no worker borrowed the busy worker's driver";
  over = true;
}
task<> tick(const std::atomic<bool>& over) {
  while (!over) co_await sleep_for(1ms);
}
task<> burn_beside(const all_calls& count) {
  std::atomic<bool> over = false;
  scope s;
  s.spawn(color(1), tick(over));
  s.spawn(burn(count, over));
  co_await s.join();
}

}  // namespace

DRIVER_TEST(own_driver, "one that wraps another and counts runs with four workers") {
  all_calls count;
  runtime_options options;
  options.workers = 4;
  options.drivers = counting(make, count);
  runtime rt(options);
  EXPECT_EQ(rt.io().name(), std::string("counting"));
  int workers_used = 0;
  for (int run = 0; run != 50 && workers_used < 2;
       ++run) {  // a busy machine may leave one to do all
    rt.run(talk(16, 20));
    workers_used = 0;
    for (const calls& c : count) workers_used += c.submitted != 0;
    if (!make.real()) break;
  }
  EXPECT_GT(workers_used, make.real() ? 1 : 0);
  for (const calls& c : count) {
    if (c.submitted != 0) {
      EXPECT_GT(c.turns + c.turns_of_others, 0);
    }
  }
}

DRIVER_TEST(own_driver, "one that wraps another runs with one worker") {
  all_calls count;
  runtime_options options = one_worker();
  options.drivers = counting(make, count);
  runtime rt(options);
  rt.run(talk(4, 10));
  EXPECT_GT(count[0].submitted, 0);
  EXPECT_EQ(count[0].turns_of_others, 0);
}

DRIVER_TEST(own_driver, "an idle worker borrows one that wraps another while its owner is busy") {
  if (!make.real()) GTEST_SKIP() << "its workers share a driver";
  all_calls count;
  runtime_options options;
  options.workers = 2;
  options.drivers = counting(make, count);
  runtime rt(options);
  rt.run(burn_beside(count));
}

HEDDLE_TEST(own_driver,
            "one without a factory serves one worker, and several are refused with advice") {
  all_calls count;
  const auto one = [&count] {
    return std::make_unique<counting_driver>(make_driver("poll", driver_options{}), count[0]);
  };
  runtime alone(one(), one_worker());
  runtime_options several;
  several.workers = 2;
  try {
    runtime rt(one(), several);
    ADD_FAILURE() << "it was accepted";
  } catch (const failure& f) {
    EXPECT_EQ(f.code(), std::errc::invalid_argument);
    EXPECT_NE(std::string(f.what()).find("runtime_options::drivers"), std::string::npos);
  }
}

}  // namespace heddle::test
