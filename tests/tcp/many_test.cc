// SPDX-License-Identifier: MIT
// Many simulated connections at once, over a wire with faults: each byte is compared, an idle one
// takes 128 bytes, and nothing is left at the end. bench/net/connections.cc has the million.
#include "support/test.hh"
#include "tests/tcp/joined.hh"

using namespace heddle::tcp;
using heddle::tcp::test::joined;
using heddle::tcp::test::options_of;

HEDDLE_TEST(tcp_many, "twenty thousand connections with faults: each byte is right") {
  constexpr int count = 20'000 / heddle::tcp::test::slower;
  stack_options o = options_of(1), p = options_of(2);
  o.time_wait_max = p.time_wait_max = 1000;
  p.half_open_max = count;
  joined l(5,
           {.delay_us = 1000, .jitter_us = 500, .loss = 0.01, .duplicate = 0.01, .corrupt = 0.01},
           o, p);
  l.client_user.bytes_each = 500;
  l.server_user.bytes_each = 700;
  l.client_user.finish_after = l.server_user.finish_after = false;
  for (int i = 0; i < count; ++i) {
    l.connect();
    if (i % 200 == 0) l.sim.run_until(l.sim.now() + 1000);
  }
  l.sim.run_until(l.sim.now() + 60'000'000);
  EXPECT_EQ(l.client.connection_count(), static_cast<std::size_t>(count));
  EXPECT_EQ(l.server.connection_count(), static_cast<std::size_t>(count));
  EXPECT_EQ(l.server.busy_count(), 0u);
  EXPECT_LE(l.server.memory().used, static_cast<std::size_t>(count) * 128);
  EXPECT_FALSE(l.client_user.wrong_byte);
  EXPECT_FALSE(l.server_user.wrong_byte);
  for (const auto& [key, s] : l.server_user.all) EXPECT_EQ(s.received, 500u);
  std::size_t whole = 0;
  for (const auto& [key, s] : l.client_user.all) whole += s.received == 700 ? 1 : 0;
  EXPECT_EQ(whole, static_cast<std::size_t>(count));
  for (const auto& [key, s] : l.client_user.all) l.client.finish({key.first, key.second});
  for (const auto& [key, s] : l.server_user.all) l.server.finish({key.first, key.second});
  l.sim.run(l.sim.now() + 1'000'000'000);
  EXPECT_EQ(l.client.connection_count() + l.server.connection_count(), 0u);
  EXPECT_EQ(l.server.memory().used, l.server.time_wait_count() * 32);
}

HEDDLE_TEST(tcp_many,
            "a SYN that comes twice, to a cookie and to a half-open connection, opens once") {
  stack_options o = options_of(2);
  o.half_open_max = 1;
  joined l(1, {.delay_us = 1000}, options_of(1), o);
  l.client_user.bytes_each = l.server_user.bytes_each = 5000;
  // Another peer takes the one place.
  segment x;
  x.source = {l.client_address, 9};
  x.destination = {l.server_address, 80};
  x.seq = 100;
  x.flags = flag_syn;
  const auto inject = [&](const segment& s) {
    std::byte header[header_bytes_max];
    l.sim.inject(l.a + 1, {header, write_headers(s, {}, header)});
  };
  inject(x);
  std::vector<std::byte> syn;
  l.sim.watch(
      [](void* out, instant, std::size_t end, std::span<const std::byte> bytes, fate what) {
        auto& kept = *static_cast<std::vector<std::byte>*>(out);
        if (end == 0 && what == fate::sent && kept.empty()) kept.assign(bytes.begin(), bytes.end());
      },
      &syn);
  l.connect();
  l.sim.run_until(l.sim.now() + 1500);
  l.sim.watch(nullptr, nullptr);
  ASSERT_EQ(l.server.counters().cookies_sent, 1u);
  // The place is free, and the SYN comes again.
  x.flags = flag_rst;
  ++x.seq;
  inject(x);
  EXPECT_EQ(l.server.connection_count(), 0u);
  l.sim.inject(l.a + 1, syn);
  EXPECT_EQ(l.server.connection_count(), 1u);
  l.sim.run(l.sim.now() + 1'000'000'000);
  EXPECT_EQ(l.server.counters().cookies_accepted, 1u);
  EXPECT_EQ(l.server_user.accepted_count, 1);
  EXPECT_EQ(l.client_user.of(l.client_user.last).received, 5000u);
  EXPECT_EQ(l.server_user.of(l.server_user.last).received, 5000u);
  EXPECT_FALSE(l.client_user.wrong_byte || l.server_user.wrong_byte);
}
