// SPDX-License-Identifier: MIT
// Input and output with several workers: connections in colors of their own that move between
// workers while their operations stay with the driver that has them.
#include <string>
#include <vector>

#include "heddle/core/combine.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/sleep.hh"
#include "heddle/core/yield.hh"
#include "heddle/io/file.hh"
#include "heddle/io/tcp.hh"
#include "support/drivers.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

runtime_options four_workers() {
  runtime_options options;
  options.workers = 4;
  return options;
}

task<> echo(tcp_stream conn) {
  while (received in = co_await conn.receive()) co_await conn.write(in.text());
}

task<> accept_in_colors(tcp_listener& on, int count) {
  for (int i = 0; i != count; ++i) spawn(color(1000 + i), echo(co_await on.accept()));
}

/// Sends lines of growing length and reads each back; changes its color in between, so that the
/// worker that runs it is often not the one whose driver has its receive.
task<> converse(address to, int id, int rounds, int& bytes) {
  tcp_stream conn = co_await tcp_connect(to);
  for (int i = 0; i != rounds; ++i) {
    const std::string line(static_cast<std::size_t>(1 + (id * 37 + i * 91) % 3000),
                           static_cast<char>('a' + (id + i) % 26));
    co_await conn.write(line);
    std::string back(line.size(), '\0');
    EXPECT_EQ(co_await conn.read(back), back.size());
    EXPECT_EQ(back, line);
    bytes += static_cast<int>(back.size());
    if (i % 3 == 0) co_await yield();
  }
}

task<> conversations(int count, int rounds) {
  tcp_listener on = tcp_listener::listen(address::loopback(0));
  const address at = on.local();
  scope s;
  s.spawn(accept_in_colors(on, count));
  std::vector<int> bytes(static_cast<std::size_t>(count));
  for (int i = 0; i != count; ++i)
    s.spawn(color(i + 1), converse(at, i, rounds, bytes[static_cast<std::size_t>(i)]));
  co_await s.join();
  for (const int b : bytes) EXPECT_GT(b, 0);
}

}  // namespace

DRIVER_TEST(workers, "connections in colors of their own, on four workers") {
  runtime rt(make(), four_workers());
  std::uint64_t frames = 0, busy = 0;
  for (int run = 0; run != 50 && busy < 2; ++run) {  // a busy machine may leave one to do all
    rt.run(conversations(40, 30));
    frames = busy = 0;
    for (const worker_statistics& w : rt.read_workers()) {
      frames += w.frames;
      busy += w.frames != 0;
    }
  }
  EXPECT_GT(frames, 2400U);
  EXPECT_GT(busy, 1U);
}

namespace {

/// Waits for data in a color that is moved about by others that keep its workers busy.
task<> read_with_timeouts(tcp_stream conn, int& timeouts, int& got) {
  char text[16];
  for (;;) {
    const auto n = co_await as_expected(with_timeout(conn.read_some(text), 1ms));
    if (!n) {
      ++timeouts;
      EXPECT_EQ(n.error(), std::errc::timed_out);
      continue;
    }
    if (*n == 0) break;
    got += static_cast<int>(*n);
  }
}

task<> keep_busy(const bool& done) {
  while (!done) co_await yield();
}

task<> trickle(tcp_stream conn, int count) {
  for (int i = 0; i != count; ++i) {
    co_await sleep_for(nanoseconds(3ms) / (1 + i % 4));
    co_await conn.write("x");
  }
}

task<> moved_about(int pairs) {
  tcp_listener on = tcp_listener::listen(address::loopback(0));
  bool done = false;
  std::vector<int> timeouts(static_cast<std::size_t>(pairs)), got(timeouts);
  scope noise;
  for (int i = 0; i != 3; ++i) noise.spawn(keep_busy(done));
  {
    scope s;
    for (int i = 0; i != pairs; ++i) {
      tcp_stream out = co_await tcp_connect(on.local());
      const auto at = static_cast<std::size_t>(i);
      s.spawn(color(4 * i + 4), read_with_timeouts(co_await on.accept(), timeouts[at], got[at]));
      s.spawn(color(4 * i + 5), trickle(std::move(out), 20));
    }
    co_await s.join();
  }
  done = true;
  co_await noise.join();
  for (const int n : got) EXPECT_EQ(n, 20);
}

}  // namespace

DRIVER_TEST(workers, "timeouts and data may cross while a color moves, and nothing is lost") {
  runtime rt(make(), four_workers());
  rt.run(moved_about(8));
}

namespace {

/// Ends while its peer's receive is armed, often from another worker than the one that armed it.
task<> close_early(tcp_stream conn, int id) {
  const auto first = co_await as_expected(with_timeout(conn.receive(), 500us));
  if (id % 2 == 0) conn.close();
  co_await yield();
  static_cast<void>(first);
}

task<> churn(int count) {
  tcp_listener on = tcp_listener::listen(address::loopback(0));
  scope s;
  for (int i = 0; i != count; ++i) {
    tcp_stream out = co_await tcp_connect(on.local());
    s.spawn(color(i % 50 + 1), close_early(co_await on.accept(), i));
    s.spawn(color(i % 31 + 100), close_early(std::move(out), i + 1));
  }
  co_await s.join();
}

}  // namespace

DRIVER_TEST(workers, "descriptors that are closed anywhere may be used again at once") {
  runtime rt(make(), four_workers());
  for (int round = 0; round != 3; ++round) rt.run(churn(150));
  rt.run(conversations(10, 10));
}

DRIVER_TEST(workers, "shutdown ends what waits in every driver") {
  auto rt = std::make_unique<runtime>(make(), four_workers());
  rt->run([]() -> task<> {
    tcp_listener on = tcp_listener::listen(address::loopback(0));
    for (int i = 0; i != 12; ++i) {
      spawn(color(i), [](tcp_stream conn) -> task<> {
        static_cast<void>(co_await as_expected(conn.receive()));
      }(co_await tcp_connect(on.local())));
      spawn(color(i + 20), echo(co_await on.accept()));
    }
    co_await sleep_for(2ms);
  }());
  rt.reset();
}

}  // namespace heddle::test
