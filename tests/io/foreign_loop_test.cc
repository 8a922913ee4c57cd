// SPDX-License-Identifier: MIT
// The runtime inside a loop of somebody else's (here a bare poll(2)), and descriptors of somebody
// else's inside the runtime.
#include "heddle/io/foreign_loop.hh"

#include <poll.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>

#include "heddle/heddle.hh"
#include "heddle/io/tcp.hh"
#include "heddle/io/watched_descriptor.hh"
#include "support/drivers.hh"

using namespace heddle;
using namespace std::chrono_literals;

namespace {

task<> echoes_once(tcp_listener& door) {
  tcp_stream peer = co_await door.accept();
  char text[5];
  co_await peer.read(text);
  co_await peer.write(std::string(text, 5));
}
task<> talks(std::string& log) {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  scope s;
  s.spawn(echoes_once(door));
  tcp_stream conn = co_await tcp_connect(door.local());
  co_await sleep_for(2ms);
  co_await conn.write("hello");
  char text[5];
  co_await conn.read(text);
  log += std::string(text, 5);
  co_await s.join();
  log += '.';
}

/// Somebody else's loop: sleeps in poll(2) as long as it is told to.
int their_loop(foreign_loop& ours, const std::function<bool()>& finished) {
  int sleeps = 0;
  nanoseconds may_sleep = ours.step();
  for (; !finished() && sleeps < 10'000; ++sleeps) {
    pollfd p{ours.descriptor(), POLLIN, 0};
    const timespec span{may_sleep / 1s, static_cast<long>((may_sleep % 1s).count())};
    ::ppoll(&p, 1, may_sleep == nanoseconds::max() ? nullptr : &span, nullptr);
    may_sleep = ours.step();
  }
  return sleeps;
}

}  // namespace

DRIVER_TEST(foreign_loop, "another loop runs the runtime by one descriptor and one call") {
  runtime rt(make(), test::one_worker());
  if (make.name() == "poll" || make.name() == "sim") {
    try {
      const foreign_loop ours(rt);
      FAIL();
    } catch (const failure& f) {
      EXPECT_EQ(f.code(), std::errc::operation_not_supported);
      EXPECT_NE(std::string(f.what()).find("epoll"), std::string::npos);
    }
    return;
  }
  foreign_loop ours(rt);
  std::string log;
  rt.spawn(talks(log));
  const int sleeps = their_loop(ours, [&] { return log == "hello."; });
  EXPECT_EQ(log, "hello.");
  EXPECT_LT(sleeps, 100);  // it sleeps until there is something, and does not spin

  bool called = false;
  std::thread other([&] { rt.post([&called] { called = true; }); });
  their_loop(ours, [&] { return called; });
  other.join();
  EXPECT_TRUE(called);
}

namespace {
task<> waits_for_theirs(int fd, std::string& log) {
  const watched_descriptor theirs(fd);
  const auto none = co_await as_expected(with_timeout(theirs.ready(POLLIN), 1ms));
  log += none ? '?' : 't';
  const unsigned events = co_await theirs.ready(POLLIN);
  log += (events & POLLIN) != 0 ? 'r' : '?';
}
task<> writes_later(int fd) {
  co_await sleep_for(5ms);
  EXPECT_EQ(::write(fd, "x", 1), 1);
}
}  // namespace

DRIVER_TEST(watched_descriptor, "a descriptor of another library is waited for, again and again") {
  if (!make.real()) GTEST_SKIP() << "a descriptor of the system's";
  runtime rt(make(), test::one_worker());
  for (int round = 0; round < 3; ++round) {  // the numbers come again
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    std::string log;
    rt.spawn(waits_for_theirs(ends[0], log));
    rt.spawn(writes_later(ends[1]));
    rt.run();
    EXPECT_EQ(log, "tr");
    ::close(ends[0]);
    ::close(ends[1]);
  }
  EXPECT_THROW(watched_descriptor(-1), failure);
}
