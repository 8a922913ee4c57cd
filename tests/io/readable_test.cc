// SPDX-License-Identifier: MIT
// Rule D7: waiting until a descriptor is readable, once, with the end, a close and a shutdown told
// apart from data.
#include "heddle/core/twait.hh"
#include "heddle/heddle.hh"
#include "heddle/io/tcp.hh"
#include "support/drivers.hh"
#include "support/test.hh"
#include "support/wait_until.hh"

using namespace heddle;
using namespace std::chrono_literals;
using test::wait_until;

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

task<> ends_behind_unread_bytes() {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  // The driver receives nothing yet; it has received a part and stopped; it receives still.
  for (const int blocks : {0, 1, 4}) {
    stream_options window;
    window.receive_window = 1;
    auto [here, there] = co_await all(tcp_connect(door.local(), window), door.accept());
    EXPECT_FALSE(here.unread().ended);
    const std::string part(8000, 'p');
    co_await there.write(byte_view(part));
    if (blocks != 0) EXPECT_TRUE(co_await here.readable());
    if (blocks == 1) co_await there.write(byte_view(part));
    EXPECT_FALSE(here.unread().ended);
    there.shutdown_write();
    EXPECT_TRUE(co_await wait_until([&] { return here.unread().ended; }));
    const unread_input left = here.unread();
    EXPECT_EQ(left.bytes.value_or(0), part.size() * (blocks == 1 ? 2 : 1)) << blocks;
    EXPECT_FALSE(left.over);
    // Looking has taken nothing.
    std::size_t got = 0;
    while (received in = co_await here.receive()) got += in.size();
    EXPECT_EQ(got, left.bytes.value_or(0));
    EXPECT_TRUE(here.unread().ended);
    EXPECT_EQ(here.unread().bytes.value_or(1), 0u);
    co_await here.write(std::string("still"));
    EXPECT_EQ((co_await there.receive()).text(), "still");
    here.close();
    EXPECT_TRUE(here.unread().over);
  }
  auto [here, there] = co_await all(tcp_connect(door.local()), door.accept());
  co_await there.write(std::string("unread"));
  there.reset_on_close();
  there.close();
  EXPECT_TRUE(co_await wait_until([&] { return here.unread().over; }));
}

}  // namespace

DRIVER_TEST(readable, "an end behind unread bytes is seen, and how many they are") {
  runtime rt(make());
  rt.run(ends_behind_unread_bytes());
}

DRIVER_TEST(readable, "what has arrived can be taken without waiting") {
  runtime rt(make());
  rt.run(what_is_there_is_taken());
}

DRIVER_TEST(readable, "D7 readable is told once: data, the end, or that it was closed") {
  runtime rt(make());
  rt.run(tells_what_happened());
}
