// SPDX-License-Identifier: MIT
// Names to addresses, and connecting by name.
#include "heddle/io/resolve.hh"

#include "heddle/heddle.hh"
#include "heddle/io/tcp.hh"
#include "outcome.hh"
#include "support/drivers.hh"

using namespace heddle;
using heddle::test::error_of;
using namespace std::chrono_literals;

namespace {

void plant(driver& d) {
  if (auto* sim = dynamic_cast<sim_driver*>(&d)) {
    sim->set_host("localhost", {"::1", "127.0.0.1"}, 1ms);
    sim->set_host("slow.test", {"127.0.0.1"}, 3600s);
  }
}

task<> known_names() {
  const auto numeric = co_await resolve("10.1.2.3", "80");
  EXPECT_EQ(numeric.size(), 1u);
  EXPECT_EQ(numeric[0].to_string(), "10.1.2.3:80");
  const auto six = co_await resolve("2001:db8::7", "443");
  EXPECT_EQ(six[0].to_string(), "[2001:db8::7]:443");
  const auto here = co_await resolve("localhost", "8080", {.family = address_family::v4});
  EXPECT_FALSE(here.empty());
  for (const address& a : here) EXPECT_EQ(a.to_string(), "127.0.0.1:8080");
}

task<> no_such_port() {
  for (const char* port : {"65536", "99999", "184467440737095516160"}) {
    for (const char* host : {"127.0.0.1", "localhost"}) {
      try {
        co_await resolve(host, port);
        ADD_FAILURE() << port;
      } catch (const failure& f) {
        EXPECT_EQ(f.code().category(), resolver_category());
        EXPECT_NE(std::string(f.what()).find(port), std::string::npos) << f.what();
      }
    }
  }
  EXPECT_EQ((co_await resolve("127.0.0.1", "65535")).front().port(), 65535);
  const auto two = co_await as_expected(resolve(std::string("localhost\0.example", 18), "1"));
  EXPECT_FALSE(two);
}

task<> unknown_name() {
  try {
    co_await resolve("no.such.name.invalid", "1");
    ADD_FAILURE() << "found what is not there";
  } catch (const failure& f) {
    EXPECT_EQ(f.code().category(), resolver_category());
    EXPECT_NE(std::string(f.what()).find("no.such.name.invalid"), std::string::npos);
  }
}

task<> given_up() {
  const auto late = co_await as_expected(with_timeout(resolve("slow.test", "1"), 5ms));
  EXPECT_EQ(error_of(late), std::errc::timed_out);
}

task<> next_address() {
  // Only version 4 listens: the first address of the name is refused, the next is tried.
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  scope s;
  s.spawn(
      [](tcp_listener on) -> task<> {
        tcp_stream peer = co_await on.accept();
        co_await peer.write("x");
      },
      door);
  tcp_stream conn = co_await tcp_connect("localhost", door.local().port());
  char c[1];
  EXPECT_EQ(co_await conn.read(c), 1u);
  co_await s.join();
  const std::uint16_t port = door.local().port();
  door.close();
  const auto refused = co_await as_expected(tcp_connect("localhost", port));
  EXPECT_EQ(error_of(refused), std::errc::connection_refused);
}

void run_planted(std::unique_ptr<driver> d, task<> (*body)()) {
  plant(*d);
  runtime rt(std::move(d), {});
  rt.run(body());
}

}  // namespace

DRIVER_TEST(resolve, "numbers are answered at once, names by the resolver") {
  run_planted(make(), &known_names);
}
DRIVER_TEST(resolve, "a port that is none, and a name with a zero byte, are failures") {
  run_planted(make(), &no_such_port);
}
DRIVER_TEST(resolve, "a name that does not exist is a failure that names it") {
  run_planted(make(), &unknown_name);
}
HEDDLE_TEST(resolve, "a look-up can be given up") {
  run_planted(std::make_unique<sim_driver>(), &given_up);
}
DRIVER_TEST(resolve, "connecting by name tries the addresses in order") {
  run_planted(make(), &next_address);
}
