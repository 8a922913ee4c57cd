// SPDX-License-Identifier: MIT
// A worker that runs one frame for long, and what its driver and its timers have for other colors:
// another worker serves that meanwhile. The frame runs until it has seen that happen, or gives up
// after a bound that no loaded machine comes near, so the tests do not depend on how fast that is.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "heddle/core/deadline.hh"
#include "heddle/core/enter.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/scope.hh"
#include "heddle/core/sleep.hh"
#include "heddle/io/tcp.hh"
#include "support/drivers.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;
using real_clock = std::chrono::steady_clock;

constexpr unsigned each_kind = 4;
constexpr nanoseconds gives_up = 20s;

/// What goes on beside the long run; each count is one color's, or the outside's.
struct counts {
  std::array<std::atomic<int>, each_kind> timers{}, echoes{}, deadlines{};
  std::atomic<int> posts{0};
  std::atomic<bool> busy{false}, over{false};
  std::vector<nanoseconds> late, late_outside;  // of timers, while the worker was busy

  [[nodiscard]] std::vector<int> all() const {
    std::vector<int> now;
    for (const auto* kind : {&timers, &echoes, &deadlines})
      for (const auto& n : *kind) now.push_back(n.load());
    now.push_back(posts.load());
    return now;
  }
};

task<> count_ticks(counts& all, unsigned i) {
  while (!all.over) {
    const auto begin = real_clock::now();
    co_await sleep_for(2ms);
    if (all.busy && i == 0) all.late.push_back(real_clock::now() - begin - 2ms);
    ++all.timers[i];
  }
}

task<> count_echoes(tcp_stream conn, counts& all, unsigned i) {
  for (;;) {
    received in = co_await conn.receive();
    if (!in) break;
    co_await conn.write(in.text());
    ++all.echoes[i];
  }
}

/// Nothing comes: the request to end it must reach the driver that has it.
task<> give_up_soon(tcp_stream conn, counts& all, unsigned i) {
  while (!all.over) {
    static_cast<void>(co_await as_expected(with_timeout(conn.receive(), 2ms)));
    ++all.deadlines[i];
  }
}

/// Other code's side of an echo.
void ask_for_echoes(address to, const counts& all) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  char c = 'x';
  if (::connect(fd, to.native(), to.native_len()) == 0)
    while (!all.over && ::write(fd, &c, 1) == 1 && ::read(fd, &c, 1) == 1)
      std::this_thread::sleep_for(1ms);
  ::close(fd);
}

/// The frame that runs for long: three rounds of everything, and 50 ms. Says whether it saw them.
task<bool> run_long(counts& all) {
  co_await enter(color(50));
  std::vector<int> wanted = all.all();
  for (int& n : wanted) n += 3;
  const auto seen = [&] {
    const std::vector<int> now = all.all();
    return std::equal(now.begin(), now.end(), wanted.begin(), std::greater_equal<>());
  };
  all.busy = true;
  const auto begin = real_clock::now();
  while (real_clock::now() - begin < 50ms || (!seen() && real_clock::now() - begin < gives_up)) {
  }
  all.busy = false;
  co_return seen();
}

template <class T>
T median(std::vector<T> of) {
  if (of.empty()) return {};
  const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::nth_element(of.begin(), middle, of.end());
  return *middle;
}

task<> beside_a_long_run(counts& all) {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  std::vector<std::thread> outside;
  std::vector<tcp_stream> silent;
  scope s;
  for (unsigned i = 0; i != each_kind; ++i) {
    outside.emplace_back(ask_for_echoes, door.local(), std::cref(all));
    s.spawn(color(200 + i), count_echoes(co_await door.accept(), all, i));
    silent.push_back(co_await tcp_connect(door.local()));
    s.spawn(color(300 + i), give_up_soon(co_await door.accept(), all, i));
    s.spawn(color(100 + i), count_ticks(all, i));
  }
  outside.emplace_back([&all, &rt = runtime::here()] {
    while (!all.over) {
      const auto begin = real_clock::now();
      std::this_thread::sleep_for(2ms);
      if (all.busy) all.late_outside.push_back(real_clock::now() - begin - 2ms);
      rt.post([&all] { ++all.posts; });
    }
  });
  for (int round = 0; round != 5; ++round) {
    co_await sleep_for(10ms);
    const bool went_on = co_await run_long(all);
    EXPECT_TRUE(went_on) << "a color was held up for " << gives_up / 1s << " s";
    if (!went_on) break;
  }
  all.over = true;
  for (tcp_stream& conn : silent) conn.close();
  co_await s.join();
  for (std::thread& t : outside) t.join();
  EXPECT_LE(median(all.late), 20ms + median(all.late_outside));
}

}  // namespace

DRIVER_TEST(busy_worker,
            "a frame that runs for long holds up no other color beside an idle worker") {
  if (!make.real()) GTEST_SKIP() << "its workers share a thread";
  for (const unsigned workers : {2U, 4U}) {
    runtime_options options;
    options.workers = workers;
    counts all;
    runtime rt(make(), options);
    rt.run(beside_a_long_run(all));
  }
}

namespace {

/// Everybody sleeps; then a timer starts the long run, and only then something comes.
task<> after_a_rest(counts& all) {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  scope s;
  std::thread client([&all, to = door.local()] {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char c = 'x';
    if (::connect(fd, to.native(), to.native_len()) == 0) {
      while (!all.busy && !all.over) std::this_thread::sleep_for(1ms);
      while (!all.over && ::write(fd, &c, 1) == 1 && ::read(fd, &c, 1) == 1) {
      }
    }
    ::close(fd);
  });
  s.spawn(color(200), count_echoes(co_await door.accept(), all, 0));
  co_await sleep_for(100ms);
  all.busy = true;
  const auto begin = real_clock::now();
  while (all.echoes[0] < 3 && real_clock::now() - begin < gives_up) {
  }
  EXPECT_GE(all.echoes[0], 3) << "nobody looked";
  all.over = true;
  co_await s.join();
  client.join();
}

}  // namespace

DRIVER_TEST(busy_worker, "a worker that wakes up for a long run has another one look") {
  if (!make.real()) GTEST_SKIP() << "its workers share a thread";
  runtime_options options;
  options.workers = 2;
  for (int round = 0; round != 3; ++round) {
    counts all;
    runtime rt(make(), options);
    rt.run(after_a_rest(all));
  }
}

}  // namespace heddle::test
