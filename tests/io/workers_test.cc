// SPDX-License-Identifier: MIT
// Input and output with several workers: connections in colors of their own that move between
// workers while their operations stay with the driver that has them.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "folder.hh"
#include "heddle/core/combine.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/enter.hh"
#include "heddle/core/sleep.hh"
#include "heddle/core/yield.hh"
#include "heddle/io/directory.hh"
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

namespace {

std::string content_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

task<> remove_x(directory d, result<void>& how, std::uint32_t& from) {
  from = worker::here().index;
  how = co_await as_expected(d.remove("x"));
}
task<> write_evil(file f, result<std::size_t>& how) {
  how = co_await as_expected(f.write_at(0, "evil"));
}

/// Keeps its worker, so that another one takes what is queued there.
task<> keep_worker(const std::atomic<bool>& over) {
  const auto end = std::chrono::steady_clock::now() + 20ms;
  while (!over && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  co_return;
}

/// Until another worker runs this color; not for ever. Its worker is kept until `over`, so that it
/// does not take this color back. A color that never ran is queued where its number says.
task<> leave_worker(scope& s, std::uint32_t from, int round, const std::atomic<bool>& over) {
  s.spawn(color(1000 + 4 * round + static_cast<int>(from)), keep_worker(over));
  for (int i = 0; i != 1000 && worker::here().index == from; ++i) co_await yield();
}

/// What a FIFO's opening keeps from running is closed on another worker than the one that asked for
/// it; then the numbers are used again, and the FIFO gets its writer. Says whether the removal was
/// still to come at the close.
task<bool> close_elsewhere(const folder& at, int round) {
  for (const char* name : {"closed/x", "other/x", "own", "victim"})
    std::ofstream(at / name) << name;
  directory closed = co_await open_directory(at / "closed");
  file own = co_await open_file(at / "own", {.write = true});
  const int numbers[] = {closed.number(), own.number()};
  result<void> removed = std::unexpected(std::make_error_code(std::errc::operation_in_progress));
  result<std::size_t> written = std::unexpected(removed.error());
  std::uint32_t from = worker::here().index;
  std::atomic<bool> over = false;
  scope s;
  s.spawn([](std::string path) -> task<> { co_await open_file(path); }(at / "fifo"));
  s.spawn(remove_x(closed, removed, from));
  s.spawn(write_evil(own, written));
  for (int i = 0; i != 3; ++i) co_await yield();
  co_await leave_worker(s, from, round, over);
  const bool waits = !removed && removed.error() == std::errc::operation_in_progress &&
                     worker::here().index != from;
  closed.close();
  own.close();
  const int later[] = {::open((at / "other").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                       ::open((at / "victim").c_str(), O_RDWR | O_CLOEXEC)};
  const int fifo = ::open((at / "fifo").c_str(), O_RDWR | O_CLOEXEC);
  over = true;
  co_await s.join();
  EXPECT_EQ(content_of(at / "victim"), "victim");
  EXPECT_EQ(content_of(at / "other/x"), "other/x");
  EXPECT_EQ(content_of(at / "own"), written ? "evil" : "own");
  EXPECT_EQ(std::filesystem::exists(at / "closed/x"), !removed);
  if (!written) {
    EXPECT_EQ(written.error(), std::errc::operation_canceled);
  }
  if (!removed) {
    EXPECT_EQ(removed.error(), std::errc::operation_canceled);
  }
  ::close(fifo);
  for (const int fd : later) ::close(fd);
  for (const int fd : numbers) EXPECT_LT(::fcntl(fd, F_GETFD), 0) << "it was never closed";
  co_return waits;
}

task<> moved_and_closed(const folder& at) {
  co_await enter(color(9));
  int waited = 0;
  for (int round = 0; round != 200 && waited < 5; ++round)
    waited += co_await close_elsewhere(at, round);
  EXPECT_EQ(waited, 5) << "no other worker took it over in time";
}

}  // namespace

DRIVER_TEST(workers, "F1 a file that is closed on another worker than it is used on stays alone") {
  if (!make.real()) GTEST_SKIP() << "its workers share a driver";
  runtime_options options = four_workers();
  options.io.pool_threads_max = 1;  // so that one call keeps all others waiting
  std::unique_ptr<driver> d = make(options.io);
  const folder at(*d);
  for (const char* name : {"closed", "other"}) std::filesystem::create_directory(at / name);
  ASSERT_EQ(::mkfifo((at / "fifo").c_str(), 0600), 0);
  runtime rt(std::move(d), options);
  rt.run(moved_and_closed(at));
}

namespace {

task<> receive_one(tcp_stream conn, result<received>& how) {
  how = co_await as_expected(with_timeout(conn.receive(), 5s));
}
task<> write_much(tcp_stream conn, std::string_view what, result<std::size_t>& how) {
  how = co_await as_expected(with_timeout(conn.write(what), 5s));
}

/// The receive waits in one worker's driver, and the write, if all goes well, in another's.
task<bool> close_both(tcp_listener& on, std::string_view much, int at) {
  tcp_stream conn = co_await tcp_connect(on.local());
  const tcp_stream peer = co_await on.accept();
  result<received> came;
  result<std::size_t> went = 0;
  const std::uint32_t from = worker::here().index;
  std::atomic<bool> over = false;
  scope s;
  s.spawn(receive_one(conn, came));
  co_await leave_worker(s, from, at, over);
  s.spawn(write_much(conn, much, went));
  for (int i = 0; i != 3; ++i) co_await yield();
  const bool moved = worker::here().index != from;
  conn.close();
  over = true;
  co_await s.join();
  EXPECT_FALSE(came);
  if (!came) {
    EXPECT_EQ(came.error(), std::errc::operation_canceled);
  }
  EXPECT_FALSE(went);
  if (!went) {
    EXPECT_EQ(went.error(), std::errc::operation_canceled);
  }
  co_return moved;
}

task<> moved_and_closed_both() {
  co_await enter(color(9));
  tcp_listener on = tcp_listener::listen(address::loopback(0));
  const std::string much(std::size_t{64} << 20, 'x');  // more than any socket takes
  int moved = 0;
  for (int round = 0; round != 200 && moved < 5; ++round)
    moved += co_await close_both(on, much, round);
  EXPECT_EQ(moved, 5) << "no other worker took it over in time";
}

/// Reads one byte in color c, and lets go of the stream with the other still to be read.
task<char> one_byte_in(color c, tcp_stream& conn) {
  co_await enter(c);
  char byte = 0;
  static_cast<void>(co_await conn.read(byte_span(&byte, 1)));
  co_await conn.detach();
  co_return byte;
}

task<> from_color_to_color() {
  tcp_listener on = tcp_listener::listen(address::loopback(0));
  tcp_stream conn = co_await tcp_connect(on.local());
  const tcp_stream peer = co_await on.accept();
  for (int round = 0; round != 100; ++round) {
    const char two[] = {static_cast<char>('a' + round % 26), static_cast<char>('A' + round % 26)};
    co_await peer.write(std::string_view(two, 2));
    EXPECT_EQ(co_await one_byte_in(color(10 + round % 7), conn), two[0]);
    EXPECT_EQ(co_await one_byte_in(color(30 + round % 5), conn), two[1]);
  }
  co_await conn.detach();  // again, here: nothing is left to do
}

}  // namespace

DRIVER_TEST(workers, "F1 closing ends what waits in both directions, whoever's drivers have it") {
  if (!make.real()) GTEST_SKIP() << "its workers share a driver";
  runtime rt(make(), four_workers());
  rt.run(moved_and_closed_both());
}

DRIVER_TEST(workers, "a stream that is detached goes on in another color, with what has arrived") {
  runtime rt(make(), four_workers());
  rt.run(from_color_to_color());
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
