// SPDX-License-Identifier: MIT
// Listening at an address that becomes free a little later, or does not.
#include "heddle/heddle.hh"
#include "heddle/io/tcp.hh"
#include "support/drivers.hh"

using namespace heddle;
using namespace std::chrono_literals;

namespace {

task<> close_later(tcp_listener door, nanoseconds after) {
  co_await sleep_for(after);
  door.close();
}

task<> take_what_becomes_free() {
  tcp_listener first = tcp_listener::listen(address::loopback(0));
  const address at = first.local();
  scope s;
  s.spawn(close_later(std::move(first), 50ms));
  const auto at_once = co_await as_expected(tcp_listener::listen_within(0ms, at));
  EXPECT_FALSE(at_once.has_value());
  const tcp_listener second = co_await tcp_listener::listen_within(10s, at);
  EXPECT_EQ(second.local(), at);
  co_await s.join();
}

task<> give_up_in_time() {
  const tcp_listener first = tcp_listener::listen(address::loopback(0));
  const time_point begun = clock::now();
  const auto second = co_await as_expected(tcp_listener::listen_within(60ms, first.local()));
  EXPECT_GE(clock::now() - begun, 60ms);
  EXPECT_FALSE(second.has_value());
  EXPECT_EQ(second.error(), std::errc::address_in_use);
}

task<> fail_at_once_for_other_reasons() {
  const time_point begun = clock::now();
  const address elsewhere = address::parse("203.0.113.1", 1).value();
  const auto none = co_await as_expected(tcp_listener::listen_within(60s, elsewhere));
  EXPECT_FALSE(none.has_value());
  EXPECT_LT(clock::now() - begun, 30s);
}

}  // namespace

DRIVER_TEST(listen_within, "an address that becomes free is taken") {
  runtime rt(make());
  rt.run(take_what_becomes_free());
}

DRIVER_TEST(listen_within, "one that stays in use is an error when the time is over") {
  runtime rt(make());
  rt.run(give_up_in_time());
}

DRIVER_TEST(listen_within, "what no time can mend is an error at once") {
  if (!make.real()) GTEST_SKIP() << "a simulated machine has every address";
  runtime rt(make());
  rt.run(fail_at_once_for_other_reasons());
}
