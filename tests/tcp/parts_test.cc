// SPDX-License-Identifier: MIT
// The parts of a stack by themselves: moves, tables, timers, queues, and congestion control.
#include <array>
#include <random>
#include <set>

#include "support/test.hh"
#include "tcp/core.hh"
#include "tests/tcp/joined.hh"

using namespace heddle::tcp;

HEDDLE_TEST(tcp_pcb, "a move that RFC 9293 does not know is refused") {
  const std::set<std::pair<state, state>> moves = {
      {state::closed, state::syn_sent},        {state::closed, state::syn_received},
      {state::closed, state::established},     {state::syn_sent, state::established},
      {state::syn_sent, state::syn_received},  {state::syn_received, state::established},
      {state::established, state::fin_wait_1}, {state::established, state::close_wait},
      {state::fin_wait_1, state::fin_wait_2},  {state::fin_wait_1, state::closing},
      {state::fin_wait_1, state::time_wait},   {state::fin_wait_2, state::time_wait},
      {state::close_wait, state::last_ack},    {state::closing, state::time_wait}};
  for (int a = 0; a <= static_cast<int>(state::time_wait); ++a)
    for (int b = 0; b <= static_cast<int>(state::time_wait); ++b) {
      const auto from = static_cast<state>(a), to = static_cast<state>(b);
      const bool ends = to == state::closed && from != state::closed && from != state::listen;
      EXPECT_EQ(legal(from, to), ends || moves.contains({from, to}))
          << name_of(from) << " to " << name_of(to);
    }
}

HEDDLE_TEST(tcp_pcb,
            "an idle connection takes at most 128 bytes, its place in the table included") {
  EXPECT_LE(stack::idle_connection_bytes(), 128u);
}

HEDDLE_TEST(tcp_ring, "a ring holds the same as a vector after random changes") {
  std::mt19937 random(7);
  ring<int> r;
  std::vector<int> v;
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t at = v.empty() ? 0 : random() % v.size();
    switch (random() % 5) {
      case 0:
      case 1:
        r.push_back(i);
        v.push_back(i);
        break;
      case 2:
        r.insert(at, i);
        v.insert(v.begin() + static_cast<std::ptrdiff_t>(at), i);
        break;
      case 3:
        if (v.empty()) break;
        r.erase(at);
        v.erase(v.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      default:
        if (v.empty()) break;
        r.pop_front();
        v.erase(v.begin());
    }
    ASSERT_EQ(r.size(), v.size());
    for (std::size_t n = 0; n < v.size(); n += 1 + v.size() / 8) ASSERT_EQ(r[n], v[n]);
  }
}

HEDDLE_TEST(tcp_time_wait, "records end in order, the oldest makes room, and one can begin anew") {
  time_wait_table table(3);
  time_wait_record r;
  for (std::uint64_t n = 1; n <= 4; ++n) {
    r.snd_nxt = static_cast<sequence>(n);
    r.due = tick_of(static_cast<instant>(n) * 1'000'000);
    table.add(n << 32, false, r);
  }
  EXPECT_EQ(table.size(), 3u);
  EXPECT_EQ(table.find(std::uint64_t{1} << 32), nullptr);
  ASSERT_NE(table.find(std::uint64_t{2} << 32), nullptr);
  table.find(std::uint64_t{2} << 32)->due = tick_of(10'000'000);
  table.expire(3'500'000);
  EXPECT_EQ(table.size(), 2u);
  EXPECT_EQ(table.find(std::uint64_t{3} << 32), nullptr);
  table.remove(std::uint64_t{4} << 32);
  EXPECT_EQ(table.size(), 1u);
  table.expire(9'000'000);
  EXPECT_EQ(table.size(), 1u);
  table.expire(10'100'000);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.next(10'100'000), never_due);
}

HEDDLE_TEST(tcp_time_wait, "a table without room keeps nothing") {
  time_wait_table table(0);
  table.add(5, false, {});
  EXPECT_EQ(table.size(), 0u);
}

HEDDLE_TEST(tcp_timer, "ticks tell times six days before and after") {
  for (instant now : {instant{0}, instant{1} << 40, (instant{1} << 40) + 12345}) {
    for (instant ahead : {instant{0}, instant{1}, instant{1'000'000}, instant{500'000'000'000}}) {
      const instant at = time_of(tick_of(now + ahead), now);
      EXPECT_GE(at, now + ahead);
      EXPECT_LT(at, now + ahead + 256);
    }
    EXPECT_LE(time_of(tick_of(now), now + 100'000'000'000), now + 256);
  }
}

namespace {

congestion_path path_for(congestion_memory& m, std::uint32_t window) {
  congestion_path p;
  p.window = window;
  p.mss = 1000;
  p.in_flight = window;
  p.round_trip_us = 100'000;
  p.now = 1'000'000;
  p.memory = &m;
  return p;
}

}  // namespace

HEDDLE_TEST(tcp_congestion, "reno grows by one segment a round trip, and halves") {
  congestion_memory m;
  congestion_path p = path_for(m, 20'000);
  p.threshold = 10'000;
  for (int round = 0; round < 5; ++round)
    for (std::uint32_t acked = 0, whole = p.window; acked < whole; acked += 1000)
      reno().acknowledged(p, 1000);
  EXPECT_NEAR(p.window, 25'000, 1000);
  p.in_flight = p.window;
  reno().lost(p, false);
  EXPECT_EQ(p.threshold, p.window / 2);
}

HEDDLE_TEST(tcp_congestion, "cubic keeps seven tenths, and is back at the old window after K") {
  congestion_memory m;
  congestion_path p = path_for(m, 100'000);
  cubic().lost(p, false);
  EXPECT_EQ(p.threshold, 70'000u);
  p.window = p.threshold;
  // K = cbrt(100 * 0.3 / 0.4) = 4.2 s (RFC 9438 section 4.2).
  instant reached = 0;
  for (instant t = 0; t < 10'000'000 && reached == 0; t += 100'000) {
    p.now = 1'000'000 + t;
    for (std::uint32_t acked = 0, whole = p.window; acked < whole; acked += 1000)
      cubic().acknowledged(p, 1000);
    if (p.window >= 99'900) reached = t;
  }
  EXPECT_GT(reached, 3'000'000);
  EXPECT_LT(reached, 4'600'000);
  // Section 4.7: a second loss below the old maximum lowers it further.
  p.window = p.in_flight = 80'000;
  cubic().lost(p, false);
  p.window = p.threshold;
  for (instant t = 10'000'000; t < 13'000'000; t += 100'000) {
    p.now = t;
    for (std::uint32_t acked = 0, whole = p.window; acked < whole; acked += 1000)
      cubic().acknowledged(p, 1000);
  }
  EXPECT_LT(p.window, 75'000u);
}

HEDDLE_TEST(tcp_congestion, "cubic is never slower than reno would be") {
  congestion_memory m;
  congestion_path p = path_for(m, 10'000);
  p.round_trip_us = 1'000;
  cubic().lost(p, false);
  p.window = p.threshold;
  instant now = 1'000'000;
  for (int round = 0; round < 20; ++round, now += 1'000) {
    p.now = now;
    for (std::uint32_t acked = 0, whole = p.window; acked < whole; acked += 1000)
      cubic().acknowledged(p, 1000);
  }
  // 3 * 0.3 / 1.7 segments a round trip: 7 + 20 * 0.53.
  EXPECT_GT(p.window, 15'000u);
}

HEDDLE_TEST(tcp_congestion, "cubic's curve stands still while the window is not the limit") {
  // RFC 9438 sections 4.1.2 and 5.8: the window after the pause is what it is without one.
  std::array<std::uint32_t, 2> reached{};
  for (const bool pauses : {false, true}) {
    congestion_memory m;
    congestion_path p = path_for(m, 100'000);
    cubic().lost(p, false);
    p.window = p.threshold;
    const auto rounds = [&](int count) {
      for (int round = 0; round < count; ++round, p.now += 100'000)
        for (std::uint32_t acked = 0, whole = p.window; acked < whole; acked += 1000) {
          cubic().acknowledged(p, 1000);
          p.paused_us = 0;
        }
    };
    rounds(10);
    if (pauses) {
      p.now += 20'000'000;
      p.paused_us = 20'000'000;
    }
    rounds(10);
    reached[pauses ? 1 : 0] = p.window;
  }
  EXPECT_NEAR(reached[0], reached[1], 100);
}

namespace {

/// Keeps the window where it is, and sums the pauses.
struct watched_control final : congestion {
  mutable instant paused_us = 0;
  mutable int calls = 0;
  std::string_view name() const noexcept override { return "watched"; }
  void acknowledged(congestion_path& p, std::uint32_t) const noexcept override {
    paused_us += p.paused_us;
    ++calls;
  }
  void lost(congestion_path&, bool) const noexcept override {}
};

}  // namespace

HEDDLE_TEST(tcp_congestion, "the stack tells how long the window was not the limit") {
  watched_control control;
  stack_options o = heddle::tcp::test::options_of(1);
  o.algorithm = &control;
  heddle::tcp::test::joined l(1, {.delay_us = 20'000}, o, heddle::tcp::test::options_of(2));
  l.client_user.finish_after = false;
  l.client_user.bytes_each = 500'000;
  const connection c = l.connect();
  l.sim.run_until(5'000'000);
  EXPECT_EQ(l.server_user.all.begin()->second.received, 500'000u);
  EXPECT_GT(control.calls, 0);
  EXPECT_LT(control.paused_us, 100'000);
  // A segment every 10 ms keeps the connection busy, and its window idle, for two seconds.
  for (int i = 0; i < 200; ++i) {
    l.client_user.of(c).to_send += 100;
    l.client_user.push(c);
    l.sim.run_until(l.sim.now() + 10'000);
  }
  const instant before_it = control.paused_us;
  l.client_user.of(c).to_send += 500'000;
  l.client_user.push(c);
  l.sim.run_until(l.sim.now() + 2'000'000);
  EXPECT_NEAR(static_cast<double>(control.paused_us - before_it), 2e6, 2e5);
}
