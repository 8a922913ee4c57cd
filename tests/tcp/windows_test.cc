// SPDX-License-Identifier: MIT
// Two stacks whose windows are small or closed: nothing is reset, every byte arrives, and the
// number of packets stays small, also while neither side reads.
#include <string>

#include "support/test.hh"
#include "tests/tcp/joined.hh"

using namespace heddle::tcp;
using heddle::tcp::test::joined;
using heddle::tcp::test::options_of;

namespace {

constexpr instant second = 1'000'000;
constexpr std::uint64_t bytes_each = 200;

/// A window of 0 stands for a reader that rests for a minute.
void take_all(stack& s, heddle::tcp::test::peer& p) {
  for (auto& [name, state] : p.all)
    if (!state.ended && state.held_back != 0)
      s.consumed({name.first, name.second}, std::exchange(state.held_back, 0));
}

std::uint64_t packets_of(const joined& l) {
  return l.client.counters().packets_out + l.server.counters().packets_out;
}

void play(std::uint32_t first, std::uint32_t other, const wire_options& wire, std::uint64_t seed) {
  SCOPED_TRACE("windows " + std::to_string(first) + " and " + std::to_string(other) + ", seed " +
               std::to_string(seed));
  stack_options client = options_of(seed), server = options_of(seed + 1);
  client.receive_window_bytes = std::max(first, 1u);
  server.receive_window_bytes = std::max(other, 1u);
  joined l(seed, wire, client, server);
  l.client_user.bytes_each = l.server_user.bytes_each = bytes_each;
  l.client_user.consume = first != 0;
  l.server_user.consume = other != 0;
  l.connect();
  l.sim.run_until(10 * second);
  if (first == 0 && other == 0) {
    const std::uint64_t packets = packets_of(l);
    l.sim.run_until(60 * second);
    // Probes and their answers, at growing intervals.
    EXPECT_LE(packets_of(l) - packets, 60u);
  } else {
    l.sim.run_until(60 * second);
  }
  l.client_user.consume = l.server_user.consume = true;
  take_all(l.client, l.client_user);
  take_all(l.server, l.server_user);
  EXPECT_TRUE(l.sim.run(7200 * second));
  for (const auto* p : {&l.client_user, &l.server_user}) {
    EXPECT_FALSE(p->wrong_byte);
    ASSERT_EQ(p->all.size(), 1u);
    const auto& state = p->all.begin()->second;
    EXPECT_EQ(state.received, bytes_each);
    EXPECT_TRUE(state.finished);
    EXPECT_EQ(state.how, ending::finished);
  }
  // A packet that comes late finds no connection, and is answered by a reset.
  if (wire.loss == 0)
    EXPECT_EQ(l.client.counters().resets_sent + l.server.counters().resets_sent, 0u);
  // Each byte may travel alone, with an ACK of its own and a repetition.
  EXPECT_LE(packets_of(l), 10 * bytes_each);
}

}  // namespace

HEDDLE_TEST(tcp_windows, "two ends with any pair of small windows bring each other every byte") {
  for (std::uint32_t first = 0; first <= 8; ++first)
    for (std::uint32_t other = 0; other <= 8; ++other)
      play(first, other, {.delay_us = 1000}, 1 + first * 9 + other);
}

HEDDLE_TEST(tcp_windows, "the same over a wire that loses, doubles and reorders packets") {
  for (std::uint32_t first = 0; first <= 8; ++first)
    for (std::uint32_t other = 0; other <= 8; ++other)
      for (std::uint64_t turn = 0; turn < 3; ++turn)
        play(
            first, other,
            {.delay_us = 1000, .loss = 0.1, .duplicate = 0.05, .reorder = 0.05, .reorder_us = 3000},
            1000 * turn + first * 9 + other);
}
