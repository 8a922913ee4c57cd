// SPDX-License-Identifier: MIT
// Rule D7: waiting until a descriptor is readable, once, with the end, a close and a shutdown told
// apart from data.
#include "heddle/core/twait.hh"
#include "heddle/heddle.hh"
#include "heddle/io/tcp.hh"
#include "support/drivers.hh"
#include "support/test.hh"

using namespace heddle;
using namespace std::chrono_literals;

namespace {

task<> tells_what_happened() {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  auto [here, there] = co_await all(tcp_connect(door.local()), door.accept());
  result<bool> first, second;
  rendezvous<int> r;
  start(here.readable(), r.make_event(1, first));
  co_await there.write(std::string("ab"));
  EXPECT_EQ(co_await r, 1);
  EXPECT_TRUE(first && *first);
  co_await sleep_for(1ms);
  EXPECT_FALSE(r.has_events());  // once, although the data is still there
  char two[2];
  EXPECT_EQ(co_await here.read(two), 2u);

  start(here.readable(), r.make_event(2, second));
  co_await sleep_for(1ms);
  EXPECT_FALSE(r.has_ready());  // no data, no end
  there.shutdown_write();
  EXPECT_EQ(co_await r, 2);
  EXPECT_TRUE(second && !*second);  // the end of the stream, not data

  result<bool> third;
  start(there.readable(), r.make_event(3, third));
  co_await sleep_for(1ms);
  there.close();
  EXPECT_EQ(co_await r, 3);
  EXPECT_FALSE(third);
  EXPECT_EQ(third.error(), std::errc::operation_canceled);
}

task<> what_is_there_is_taken() {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  auto [here, there] = co_await all(tcp_connect(door.local()), door.accept());
  EXPECT_TRUE(here.take().empty());
  co_await there.write(std::string("first"));
  EXPECT_TRUE(co_await here.readable());
  EXPECT_EQ(here.take().text(), "first");
  EXPECT_TRUE(here.take().empty());  // nothing waits in it, and nothing is lost by asking
  rendezvous<> r;
  result<received> next;
  start(here.receive(), r.make_event(next));
  co_await there.write(std::string("second"));
  co_await r;
  EXPECT_EQ(next->text(), "second");
  there.close();
  EXPECT_FALSE(co_await here.readable());
  EXPECT_TRUE(here.take().empty());
  here.close();
  EXPECT_TRUE(here.take().empty());
  EXPECT_TRUE(tcp_stream().take().empty());
}

}  // namespace

DRIVER_TEST(readable, "what has arrived can be taken without waiting") {
  runtime rt(make());
  rt.run(what_is_there_is_taken());
}

DRIVER_TEST(readable, "D7 readable is told once: data, the end, or that it was closed") {
  runtime rt(make());
  rt.run(tells_what_happened());
}
