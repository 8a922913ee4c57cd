// SPDX-License-Identifier: MIT
// The turns of handshakes: a quarter for each address, so that one holds up no other.
#include "tls/handshake_turns.hh"

#include <string>

#include "heddle/sched/runtime.hh"
#include "support/test.hh"

using namespace heddle;

HEDDLE_TEST(tls_handshake_turns, "one address has a quarter of the turns") {
  runtime rt;
  rt.run([]() -> task<> {
    tls::detail::handshake_turns turns(8);
    const auto of = [&](const char* text) { return turns.of(*address::parse(text, 1)); };
    const auto one = of("127.0.0.2");
    const auto first = one->try_acquire(), second = one->try_acquire(), third = one->try_acquire();
    EXPECT_TRUE(first && second);
    EXPECT_FALSE(third);
    EXPECT_EQ(of("127.0.0.2"), one);
    EXPECT_EQ(of("::ffff:127.0.0.2"), one);
    EXPECT_TRUE(of("127.0.0.3")->try_acquire());
    EXPECT_EQ(turns.of(address()), nullptr);  // a Unix socket
    co_return;
  }());
}

HEDDLE_TEST(tls_handshake_turns, "an IPv6 network of one customer counts as one address") {
  tls::detail::handshake_turns turns(1);
  const auto of = [&](const char* text) { return turns.of(*address::parse(text, 1)); };
  const auto one = of("2001:db8:0:1::5");
  EXPECT_EQ(of("2001:db8:0:1:ffff::1"), one);
  EXPECT_NE(of("2001:db8:0:2::5"), one);
  EXPECT_TRUE(one->try_acquire());  // a quarter of one turn is a turn
}

HEDDLE_TEST(tls_handshake_turns, "addresses that are gone are forgotten, and no other") {
  tls::detail::handshake_turns turns(8);
  const address here = *address::parse("127.0.0.2", 1);
  const auto held = turns.of(here);
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = "10.1." + std::to_string(i / 250) + '.' + std::to_string(i % 250);
    EXPECT_NE(turns.of(*address::parse(text, 1)), nullptr);
  }
  EXPECT_LT(turns.known(), 10'000u);
  EXPECT_EQ(turns.of(here), held);
}
