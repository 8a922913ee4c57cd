// SPDX-License-Identifier: MIT
// Reports of a stack: connections by state, the slowest first, bounded in length, and JSON that
// another parser reads.
#include "heddle/tcp/report.hh"

#include <nlohmann/json.hpp>

#include "support/test.hh"
#include "tests/tcp/joined.hh"

using namespace heddle::tcp;
using heddle::tcp::test::joined;

namespace {

/// Two connections that rest, and one whose peer has vanished with bytes in flight.
struct mixed : joined {
  mixed() : joined(3, {.delay_us = 1000}) {
    client_user.finish_after = server_user.finish_after = false;
    connect();
    connect();
    sim.run_until(sim.now() + 200'000);
    server_user.bytes_each = 100'000;
    connect();
    sim.run_until(sim.now() + 5'000);
    sim.wire(a).down = sim.wire(a + 1).down = true;
    sim.run_until(sim.now() + 3'000'000);
  }
};

}  // namespace

HEDDLE_TEST(tcp_report, "the connection whose bytes wait longest comes first, with its timer") {
  mixed m;
  const auto slow = m.server.slowest(10, m.sim.now());
  ASSERT_EQ(slow.size(), 3u);
  EXPECT_GT(slow[0].waited_us, 2'900'000u);
  EXPECT_LT(slow[0].waited_us, 3'100'000u);
  EXPECT_EQ(slow[0].timer, "timeout");
  EXPECT_GT(slow[0].timer_in_us, 0);
  EXPECT_GT(slow[0].queued_bytes, 10'000u);
  EXPECT_GT(slow[0].retries, 2);
  EXPECT_EQ(slow[1].waited_us, 0u);
  EXPECT_EQ(m.server.slowest(1, m.sim.now()).size(), 1u);
  EXPECT_EQ(m.server.slowest(1, m.sim.now())[0].waited_us, slow[0].waited_us);
  EXPECT_TRUE(m.server.slowest(0, m.sim.now()).empty());
  const auto states = m.server.count_states();
  EXPECT_EQ(states[static_cast<std::size_t>(state::established)], 3u);
  EXPECT_EQ(states[static_cast<std::size_t>(state::listen)], 1u);
}

HEDDLE_TEST(tcp_report, "the text has states, drops and refusals by reason, and a bounded list") {
  mixed m;
  m.sim.inject(m.a + 1, std::vector<std::byte>(3));
  const std::string text = report_text(m.server, "10.0.0.2", m.sim.now(), 2);
  EXPECT_NE(text.find("tcp 10.0.0.2: 3 connections, 1 listen, 3 established\n"), text.npos) << text;
  EXPECT_NE(text.find("dropped: ip_version 1"), text.npos) << text;
  EXPECT_NE(text.find("timeout in "), text.npos) << text;
  EXPECT_NE(text.find("10.0.0.1:"), text.npos) << text;
  EXPECT_NE(text.find("  and 1 more connections\n"), text.npos) << text;
  EXPECT_EQ(text.find("refused"), text.npos) << text;
}

HEDDLE_TEST(tcp_report, "the JSON says the same") {
  mixed m;
  m.sim.inject(m.a + 1, std::vector<std::byte>(3));
  const auto json = nlohmann::json::parse(report_json(m.server, "10.0.0.2", m.sim.now(), 2));
  EXPECT_EQ(json["connections"], 3);
  EXPECT_EQ(json["states"]["established"], 3);
  EXPECT_EQ(json["dropped"]["ip_version"], 1);
  EXPECT_TRUE(json["refused"].empty());
  EXPECT_GT(json["memory"]["used"], 80'000);
  ASSERT_EQ(json["slowest"].size(), 2u);
  EXPECT_GT(json["slowest"][0]["waited_us"], 2'900'000);
  EXPECT_EQ(json["slowest"][0]["timer"], "timeout");
  EXPECT_EQ(json["slowest"][0]["state"], "established");
}
