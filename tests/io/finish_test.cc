// SPDX-License-Identifier: MIT
// Listeners that take no more.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "heddle/core/expected.hh"
#include "heddle/core/scope.hh"
#include "heddle/core/sleep.hh"
#include "heddle/core/yield.hh"
#include "heddle/io/tcp.hh"
#include "heddle/sched/runtime.hh"
#include "support/drivers.hh"

using namespace heddle;

namespace {

task<> finish_with_a_queue() {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  tcp_stream first = co_await tcp_connect(door.local());
  tcp_stream one = co_await door.accept();  // from now on the driver takes what comes
  tcp_stream second = co_await tcp_connect(door.local());
  tcp_stream third = co_await tcp_connect(door.local());
  co_await second.write("2");
  co_await third.write("3");
  for (int i = 0; i < 10; ++i) co_await yield();
  co_await sleep_for(std::chrono::milliseconds(5));
  door.finish();
  door.finish();  // once is enough, twice does no harm
  std::string said;
  for (;;) {
    auto conn = co_await as_expected(door.accept());
    if (!conn) {
      EXPECT_EQ(conn.error(), std::errc::operation_canceled);
      break;
    }
    char text[2];
    EXPECT_EQ(co_await conn->read_some(text), 1u);
    said += text[0];
  }
  EXPECT_EQ(said, "23");
}

/// A connection comes while the driver waits for one, and finish() before anything looked at it: an
/// io_uring that was woken for it must not keep that to itself.
task<> finish_as_one_comes(bool kernel) {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  tcp_stream first = co_await tcp_connect(door.local());
  tcp_stream one = co_await door.accept();  // the driver goes on accepting
  co_await sleep_for(std::chrono::milliseconds(2));
  int client = -1;
  std::optional<tcp_stream> second;
  if (kernel) {
    client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(client, door.local().native(), door.local().native_len()), 0);
  } else {
    second = co_await tcp_connect(door.local());
  }
  door.finish();
  int count = 0;
  while (auto conn = co_await as_expected(door.accept())) ++count;
  EXPECT_EQ(count, 1);
  if (client >= 0) ::close(client);
}

task<> end_acceptor(tcp_listener door, bool& ended) {
  const auto conn = co_await as_expected(door.accept());
  ended = !conn && conn.error() == std::errc::operation_canceled;
}

task<> finish_while_one_waits() {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  bool ended = false;
  scope s;
  s.spawn(end_acceptor(door, ended));
  co_await sleep_for(std::chrono::milliseconds(1));
  door.finish();
  co_await s.join();
  EXPECT_TRUE(ended);
}

task<> finish_before_anybody_waits() {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  door.finish();
  bool ended = false;
  co_await end_acceptor(door, ended);
  EXPECT_TRUE(ended);
}

/// Clients that connect, again and again, and want the end of their connection within a second.
class steady_clients {
 public:
  explicit steady_clients(const address& at) {
    for (std::thread& t : clients_) t = std::thread([this, at] { run(at); });
  }
  ~steady_clients() { end(); }
  void end() {
    over_ = true;
    for (std::thread& t : clients_)
      if (t.joinable()) t.join();
  }
  [[nodiscard]] int left_alone() const noexcept { return left_alone_; }
  [[nodiscard]] int served() const noexcept { return served_; }

 private:
  void run(const address& at) {
    while (!over_) {
      const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const timeval patience{1, 0};
      ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
      char none = 0;
      const bool connected = ::connect(fd, at.native(), at.native_len()) == 0;
      ++(connected && ::recv(fd, &none, 1, 0) == 0 ? served_ : left_alone_);
      ::close(fd);
    }
  }
  std::atomic<int> served_ = 0, left_alone_ = 0;
  std::atomic<bool> over_ = false;
  std::array<std::thread, 2> clients_;
};

task<> close_all_that_come(tcp_listener door) {
  for (bool open = true; open;) {
    const auto conn = co_await as_expected(door.accept());
    open = conn.has_value();
  }
}

/// A program that takes a listening socket over and serves it until it is told to finish.
class program {
 public:
  program(const test::driver_maker& make, int fd) : runs_([this, &make, fd] { run(make, fd); }) {
    begun_.wait(false);
  }
  ~program() {
    finishes_ = true;
    runs_.join();
  }

 private:
  static task<> serve(int fd, program& self) {
    const tcp_listener door = tcp_listener::adopt(fd);
    scope s;
    s.spawn(close_all_that_come(door));
    co_await yield();
    self.begun_ = true;
    self.begun_.notify_one();
    while (!self.finishes_) co_await sleep_for(std::chrono::milliseconds(1));
    door.finish();
    co_await s.join();
  }
  void run(const test::driver_maker& make, int fd) {
    runtime rt(make());
    rt.run(serve(fd, *this));
  }

  std::atomic<bool> begun_ = false, finishes_ = false;
  std::thread runs_;
};

}  // namespace

DRIVER_TEST(finish, "a listener that finishes gives what it has taken, and then ends") {
  runtime rt(make());
  rt.run(finish_with_a_queue());
}

DRIVER_TEST(finish, "a connection that the system has when a listener finishes is taken") {
  runtime rt(make());
  rt.run(finish_as_one_comes(make.real()));
}

DRIVER_TEST(finish, "whoever waits for a connection is told that none will come") {
  runtime rt(make());
  rt.run(finish_while_one_waits());
  rt.run(finish_before_anybody_waits());
}

DRIVER_TEST(finish, "no connection is left alone when one program after another takes a socket") {
  if (!make.real()) GTEST_SKIP() << "other programs cannot connect to a simulated one";
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const address any_port = address::loopback(0);
  ASSERT_EQ(::bind(fd, any_port.native(), any_port.native_len()), 0);
  ASSERT_EQ(::listen(fd, 64), 0);
  sockaddr_storage own;
  socklen_t len = sizeof own;
  auto* const raw = reinterpret_cast<sockaddr*>(&own);
  ASSERT_EQ(::getsockname(fd, raw, &len), 0);
  const auto begin = [&] {
    return std::make_unique<program>(make, ::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  };
  auto server = begin();
  steady_clients clients(address::from(raw, len).value());
  for (int i = 0; i != 30 && clients.left_alone() == 0; ++i) {
    const int before = clients.served();
    server = begin();  // the next has begun when the one before it finishes
    while (clients.served() - before < 5 && clients.left_alone() == 0) std::this_thread::yield();
  }
  clients.end();
  EXPECT_EQ(clients.left_alone(), 0);
  server.reset();
  ::close(fd);
}
