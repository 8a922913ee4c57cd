// SPDX-License-Identifier: MIT
// The operations of a stack, its bounds and filters, and the simulated wires under it.
#include <set>

#include "support/test.hh"
#include "tests/tcp/joined.hh"

using namespace heddle::tcp;
using heddle::tcp::test::joined;
using heddle::tcp::test::options_of;

HEDDLE_TEST(tcp_stack, "connect says what is wrong with its addresses") {
  joined l(1, {});
  const auto fails = [&](endpoint from, endpoint to) {
    const auto c = l.client.connect(from, to, l.sim.now());
    return c ? std::error_code() : c.error();
  };
  const endpoint own{l.client_address, 0}, server{l.server_address, 80};
  EXPECT_EQ(fails({l.server_address, 0}, server), std::errc::address_not_available);
  EXPECT_EQ(fails(own, {l.server_address, 0}), std::errc::invalid_argument);
  EXPECT_EQ(fails(own, {ip_address::v4(224, 0, 0, 1), 80}), std::errc::invalid_argument);
  EXPECT_EQ(fails(own, {*ip_address::parse("fd00::1"), 80}), std::errc::invalid_argument);
  EXPECT_EQ(fails({l.client_address, 4000}, server), std::error_code());
  EXPECT_EQ(fails({l.client_address, 4000}, server), std::errc::address_in_use);
}

HEDDLE_TEST(tcp_stack, "connect has no room beyond connections_max") {
  stack_options few = options_of(1);
  few.connections_max = 2;
  joined l(1, {}, few, options_of(2));
  l.connect();
  l.connect();
  const auto c = l.client.connect({l.client_address, 0}, {l.server_address, 80}, l.sim.now());
  ASSERT_FALSE(c);
  EXPECT_EQ(c.error(), std::errc::not_enough_memory);
}

HEDDLE_TEST(tcp_stack, "chosen ports differ and lie in the range for clients (RFC 6056)") {
  joined l(1, {});
  std::set<std::uint16_t> ports;
  for (int i = 0; i < 1000; ++i) {
    const auto i_of = l.client.info(l.connect());
    ports.insert(i_of->between.local.port);
    EXPECT_GE(i_of->between.local.port, 32768);
    EXPECT_LT(i_of->between.local.port, 61000);
  }
  EXPECT_EQ(ports.size(), 1000u);
}

HEDDLE_TEST(tcp_stack, "initial sequence numbers differ by flow and grow with time (RFC 6528)") {
  const auto first_of = [](std::uint64_t key, instant at, std::uint16_t port) {
    joined l(1, {}, options_of(key), options_of(2));
    sequence seen = 0;
    l.sim.watch(
        [](void* out, instant, std::size_t, std::span<const std::byte> bytes, fate what) {
          if (what == fate::sent) *static_cast<sequence*>(out) = get32(bytes.data() + 24);
        },
        &seen);
    (void)l.client.connect({l.client_address, port}, {l.server_address, 80}, at);
    l.client.flush(at);
    return seen;
  };
  EXPECT_EQ(first_of(1, 4'000'000, 4000) + 250'000, first_of(1, 5'000'000, 4000));
  EXPECT_NE(first_of(1, 4'000'000, 4000), first_of(1, 4'000'000, 4001));
  EXPECT_NE(first_of(1, 4'000'000, 4000), first_of(9, 4'000'000, 4000));
}

HEDDLE_TEST(tcp_stack, "a dead name is harmless") {
  joined l(1, {});
  const connection c = l.connect();
  l.client.abort(c);
  EXPECT_FALSE(l.client.alive(c));
  EXPECT_FALSE(l.client.write(c, {std::span<const std::byte>(), nullptr, 0}));
  l.client.consumed(c, 10);
  l.client.finish(c);
  l.client.close(c);
  l.client.abort(c);
  l.client.set_nagle(c, false);
  l.client.set_keepalive(c, true, l.sim.now());
  EXPECT_FALSE(l.client.info(c));
  // The next connection in its place has another name.
  const connection next = l.connect();
  EXPECT_EQ(next.index, c.index);
  EXPECT_NE(next, c);
  EXPECT_FALSE(l.client.alive(c));
  EXPECT_TRUE(l.client.alive(next));
}

HEDDLE_TEST(tcp_stack, "a filter passes, drops and resets before the table of connections") {
  joined l(1, {});
  verdict say = verdict::drop;
  l.server.set_filter(
      [](void* v, const segment& s, instant) noexcept {
        return s.destination.port == 80 ? *static_cast<verdict*>(v) : verdict::pass;
      },
      &say);
  const connection dropped = l.connect();
  l.sim.run_until(l.sim.now() + 500'000);
  EXPECT_EQ(l.client.info(dropped)->now, state::syn_sent);
  EXPECT_EQ(l.server.counters().dropped(drop::filtered), 1u);
  l.client.abort(dropped);
  say = verdict::reset;
  const connection refused = l.connect();
  l.sim.run_until(l.sim.now() + 500'000);
  EXPECT_FALSE(l.client.alive(refused));
  EXPECT_EQ(l.client_user.of(refused).how, ending::refused);
  say = verdict::pass;
  const connection open = l.connect();
  l.sim.run_until(l.sim.now() + 500'000);
  EXPECT_EQ(l.client_user.connected_count, 1);
  (void)open;
}

HEDDLE_TEST(tcp_stack, "a port is listened to once, and refuses after unlisten") {
  joined l(1, {});
  EXPECT_FALSE(l.server.listen(80));
  EXPECT_FALSE(l.server.listen(0));
  l.server.unlisten(80);
  const connection c = l.connect();
  l.sim.run_until(l.sim.now() + 500'000);
  EXPECT_EQ(l.client_user.of(c).how, ending::refused);
}

HEDDLE_TEST(tcp_stack, "a connection may be ended inside of each call of its user") {
  struct ender final : user {
    stack* on = nullptr;
    int at = 0, ended_count = 0;
    void maybe(connection c, int place) {
      if (at == place) on->abort(c);
    }
    void accepted(connection c, std::uint16_t) noexcept override { maybe(c, 0); }
    void connected(connection) noexcept override {}
    void received(connection c, std::span<const std::byte>, packet&) noexcept override {
      if (at == 4) (void)on->write(c, {text, nullptr, 0});
      maybe(c, 1);
    }
    void acknowledged(connection c, std::uint32_t) noexcept override { maybe(c, 2); }
    void finished(connection c) noexcept override { maybe(c, 3); }
    void ended(connection, std::uint64_t, ending) noexcept override { ++ended_count; }
    std::vector<std::byte> text = std::vector<std::byte>(5000);
  };
  for (int place : {0, 1, 2, 3, 4}) {
    device_sim sim(1);
    const std::size_t a = sim.join({});
    heddle::tcp::test::peer other;
    ender e;
    e.at = place == 2 ? 2 : place;
    stack client(options_of(1), sim.end(a), other), server(options_of(2), sim.end(a + 1), e);
    e.on = &server;
    other.on = &client;
    other.bytes_each = 30'000;
    client.add_address(ip_address::v4(10, 0, 0, 1));
    server.add_address(ip_address::v4(10, 0, 0, 2));
    sim.attach(a, client);
    sim.attach(a + 1, server);
    server.listen(80);
    (void)client.connect({ip_address::v4(10, 0, 0, 1), 0}, {ip_address::v4(10, 0, 0, 2), 80},
                         sim.now());
    sim.run_until(sim.now() + 3'000'000);
    if (place != 2 && place != 4) {
      EXPECT_EQ(e.ended_count, 1) << place;
      EXPECT_EQ(server.connection_count(), 0u) << place;
    }
    EXPECT_EQ(other.pieces_out, 0u) << place;
  }
}

HEDDLE_TEST(tcp_sim, "one seed gives one run, another seed another") {
  const auto trace_of = [](std::uint64_t seed) {
    joined l(seed, {.delay_us = 5000,
                    .jitter_us = 3000,
                    .loss = 0.05,
                    .duplicate = 0.05,
                    .reorder = 0.05,
                    .corrupt = 0.02});
    std::uint64_t hash = 0;
    l.sim.watch(
        [](void* h, instant at, std::size_t end, std::span<const std::byte> bytes, fate what) {
          auto& sum = *static_cast<std::uint64_t*>(h);
          sum = (sum ^ static_cast<std::uint64_t>(at) ^ end << 50 ^
                 static_cast<std::uint64_t>(what) << 56) *
                0x100000001b3;
          for (std::byte b : bytes) sum = (sum ^ static_cast<unsigned>(b)) * 0x100000001b3;
        },
        &hash);
    l.client_user.bytes_each = l.server_user.bytes_each = 200'000;
    l.connect();
    l.sim.run(l.sim.now() + 600'000'000);
    return hash;
  };
  EXPECT_EQ(trace_of(5), trace_of(5));
  EXPECT_NE(trace_of(5), trace_of(6));
}

HEDDLE_TEST(tcp_sim, "a cut wire stops a transfer, and it goes on when the wire is back") {
  joined l(1, {.delay_us = 1000});
  l.client_user.bytes_each = 2'000'000;
  l.connect();
  l.sim.run_until(l.sim.now() + 10'000);
  l.sim.wire(l.a).down = true;
  l.sim.run_until(l.sim.now() + 5'000'000);
  EXPECT_GT(l.client.counters().timeouts, 0u);
  EXPECT_EQ(l.server_user.ended_count, 0);
  l.sim.wire(l.a).down = false;
  EXPECT_TRUE(l.sim.run(l.sim.now() + 600'000'000));
  EXPECT_FALSE(l.server_user.wrong_byte);
  EXPECT_EQ(l.server_user.all.begin()->second.received, 2'000'000u);
}

HEDDLE_TEST(tcp_sim, "a path whose MTU shrinks in the middle of a transfer loses no byte") {
  for (bool v6 : {false, true}) {
    joined l(1, {.delay_us = 1000}, options_of(1), options_of(2), v6);
    l.client_user.bytes_each = l.server_user.bytes_each = 3'000'000;
    l.connect();
    l.sim.run_until(l.sim.now() + 8'000);
    l.sim.wire(l.a).mtu = l.sim.wire(l.a + 1).mtu = 1300;
    EXPECT_TRUE(l.sim.run(l.sim.now() + 600'000'000));
    EXPECT_FALSE(l.server_user.wrong_byte);
    EXPECT_FALSE(l.client_user.wrong_byte);
    EXPECT_EQ(l.server_user.all.begin()->second.received, 3'000'000u);
    EXPECT_GT(l.client.counters().mtu_changes, 0u);
    EXPECT_EQ(l.client.counters().timeouts, 0u);
  }
}

HEDDLE_TEST(tcp_sim, "a wire of limited rate is filled, and its queue is no collapse") {
  joined l(1, {.delay_us = 5000, .bytes_per_second = 2'000'000, .queue_bytes = 30'000});
  l.client_user.bytes_each = 10'000'000;
  const instant begin = l.sim.now();
  l.connect();
  while (l.server_user.all.empty() || !l.server_user.all.begin()->second.finished)
    ASSERT_TRUE(l.sim.step());
  const double seconds = static_cast<double>(l.sim.now() - begin) / 1e6;
  // 10 MB at 2 MB/s take 5 s; headers are a twentieth.
  EXPECT_LT(seconds, 5.9);
  EXPECT_GT(l.client.counters().fast_recoveries, 0u);
  EXPECT_EQ(l.client.counters().timeouts, 0u);
}

HEDDLE_TEST(tcp_sim, "a reader that stops closes the window, and opens it by reading") {
  joined l(1, {});
  l.server_user.consume = false;
  l.client_user.bytes_each = 1'000'000;
  l.connect();
  l.sim.run_until(l.sim.now() + 3'000'000);
  auto& s = l.server_user.all.begin()->second;
  const connection c{l.server_user.all.begin()->first.first,
                     l.server_user.all.begin()->first.second};
  EXPECT_LE(s.received, 256u * 1024);
  EXPECT_GT(s.received, 250u * 1000);
  EXPECT_GT(l.client.counters().window_probes, 0u);
  while (!s.finished && !s.ended) {
    l.server.consumed(c, s.held_back);
    s.held_back = 0;
    l.sim.run_until(l.sim.now() + 1000);
  }
  EXPECT_EQ(s.received, 1'000'000u);
  EXPECT_FALSE(l.server_user.wrong_byte);
}
