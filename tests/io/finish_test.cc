// SPDX-License-Identifier: MIT
// Listeners that take no more.
#include <sys/socket.h>
#include <unistd.h>

#include <optional>

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
