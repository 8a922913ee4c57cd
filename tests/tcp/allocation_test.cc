// SPDX-License-Identifier: MIT
// Memory: none is taken for a segment on an open connection, and an idle one keeps only its block.
#include <cstdlib>
#include <new>
#include <vector>

#include "heddle/base/sanitizer.hh"
#include "support/test.hh"
#include "tcp/challenge.hh"
#include "tests/tcp/joined.hh"

namespace {

std::size_t tcp_test_allocations = 0;
bool tcp_test_no_memory = false;

}  // namespace

// ThreadSanitizer has operators of its own; there the count stays 0.
#if !HEDDLE_TSAN
// NOLINTBEGIN: counts every allocation of this program
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++tcp_test_allocations;
  if (tcp_test_no_memory) throw std::bad_alloc();
  if (void* const p = std::malloc(bytes != 0 ? bytes : 1)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
// NOLINTEND
#endif

namespace {

using namespace heddle::tcp;

/// Answers each request of 100 bytes with `answer` bytes, and the client asks again.
struct echo_user final : user {
  stack* on = nullptr;
  std::span<const std::byte> text;
  std::uint64_t wanted = 0, received_bytes = 0, rounds = 0;
  std::vector<connection> open;

  void ask(connection c) { (void)on->write(c, {text, nullptr, 0}); }
  void accepted(connection c, std::uint16_t) noexcept override {
    on->take_accepted(c);
    open.push_back(c);
  }
  void connected(connection c) noexcept override { open.push_back(c); }
  void received(connection c, std::span<const std::byte> bytes, packet&) noexcept override {
    on->consumed(c, static_cast<std::uint32_t>(bytes.size()));
    received_bytes += bytes.size();
    while (received_bytes >= wanted) {
      received_bytes -= wanted;
      ++rounds;
      ask(c);
    }
  }
  void acknowledged(connection, std::uint32_t) noexcept override {}
  void finished(connection) noexcept override {}
  void ended(connection, std::uint64_t, ending) noexcept override {}
};

}  // namespace

HEDDLE_TEST(tcp_memory, "requests and answers on an open connection allocate nothing") {
  for (std::size_t answer : {100, 128 * 1024}) {
    device_sim sim(1);
    const std::size_t a = sim.join({});
    echo_user asker, answerer;
    stack client(heddle::tcp::test::options_of(1), sim.end(a), asker);
    stack server(heddle::tcp::test::options_of(2), sim.end(a + 1), answerer);
    const ip_address here = ip_address::v4(10, 0, 0, 1), there = ip_address::v4(10, 0, 0, 2);
    client.add_address(here);
    server.add_address(there);
    sim.attach(a, client);
    sim.attach(a + 1, server);
    server.listen(80);
    const std::vector<std::byte> request(100), response(answer);
    asker.on = &client;
    asker.text = request;
    asker.wanted = answer;
    answerer.on = &server;
    answerer.text = response;
    answerer.wanted = 100;
    const connection c = *client.connect({here, 0}, {there, 80}, sim.now());
    sim.run_until(sim.now() + 1'000'000);
    asker.ask(c);
    sim.run_until(sim.now() +
                  2'000'000 / heddle::tcp::test::slower);  // all queues have their size now
    const std::size_t before_it = tcp_test_allocations;
    const std::uint64_t rounds = asker.rounds;
    sim.run_until(sim.now() + 2'000'000 / heddle::tcp::test::slower);
    EXPECT_GT(asker.rounds, rounds + 100 / heddle::tcp::test::slower);
    EXPECT_EQ(tcp_test_allocations, before_it) << answer;
  }
}

HEDDLE_TEST(tcp_memory, "a hundred thousand connections rest without timers and second blocks") {
  device_sim sim(1);
  const std::size_t a = sim.join({.delay_us = 10});
  echo_user asker, answerer;
  stack client(heddle::tcp::test::options_of(1), sim.end(a), asker);
  stack_options with_cookies = heddle::tcp::test::options_of(2);
  with_cookies.half_open_max = 0;
  stack server(with_cookies, sim.end(a + 1), answerer);
  asker.on = &client;
  answerer.on = &server;
  server.add_address(ip_address::v4(10, 0, 0, 2));
  sim.attach(a, client);
  sim.attach(a + 1, server);
  server.listen(80);
  constexpr std::size_t wanted = 100'000 / heddle::tcp::test::slower;
  for (std::size_t n = 0; n < wanted; ++n) {
    const auto last = static_cast<std::uint8_t>(1 + n / 25'000);
    const ip_address here = ip_address::v4(10, 0, 1, last);
    client.add_address(here);
    ASSERT_TRUE(client.connect({here, 0}, {ip_address::v4(10, 0, 0, 2), 80}, sim.now()));
    if (n % 64 == 0) sim.run_until(sim.now() + 30);
  }
  sim.run_until(sim.now() + 10'000'000);
  EXPECT_EQ(client.connection_count(), wanted);
  EXPECT_EQ(server.connection_count(), wanted);
  EXPECT_EQ(server.busy_count(), 0u);
  EXPECT_EQ(client.busy_count(), 0u);
  EXPECT_EQ(server.next_due(), never_due);
  EXPECT_EQ(client.next_due(), never_due);
}

HEDDLE_TEST(tcp_memory, "a challenge without memory for its table is not sent") {
#if HEDDLE_TSAN
  GTEST_SKIP() << "its operators are ThreadSanitizer's";
#endif
  challenge_budget budget;
  const heddle::siphash_key key{1, 2};
  tcp_test_no_memory = true;
  const bool sent = budget.take(1, 0, 10, 100, key);
  tcp_test_no_memory = false;
  EXPECT_FALSE(sent);
  EXPECT_FALSE(budget.take(1, 999'999, 10, 100, key));  // in the same second
  EXPECT_TRUE(budget.take(1, 1'000'000, 10, 100, key));
}
