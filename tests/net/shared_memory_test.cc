// SPDX-License-Identifier: MIT
// Two programs' worth of stacks, on threads of their own, share one budget of memory: each writer
// that waits for memory goes on, also if the other thread has taken the memory first.
#include <thread>

#include "heddle/heddle.hh"
#include "heddle/net/simulated.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t bytes_each = 200'000;
constexpr int connections = 12;

task<> send_all(stream s) {
  // Bytes that are only named are copied, as much as there is memory for.
  const std::string bytes(bytes_each, 'x');
  co_await s.write(std::string_view(bytes));
  s.shutdown_write();
  while (received in = co_await s.receive()) continue;
}

task<> serve_all(listener door, scope& side) {
  for (int i = 0; i != connections; ++i) side.spawn(send_all(co_await door.accept()));
}

task<> take_all(net::provider from, address at, std::size_t& got) {
  stream s = co_await from.connect(at);
  while (received in = co_await with_timeout(s.receive(), 30s)) got += in.size();
  s.close();
}

void carry_all(const std::shared_ptr<tcp::memory_budget>& budget, std::uint64_t seed) {
  std::size_t got = 0;
  runtime rt;
  rt.run([&]() -> task<> {
    net::simulated both({.wire = {.delay_us = 50},
                         .seed = seed,
                         .server = {.memory_bytes = 1 << 20, .process_memory = budget}});
    auto [door, at] = both.server().listen(address::any(80));
    scope side;
    side.spawn(serve_all(door, side));
    for (int i = 0; i != connections; ++i) side.spawn(take_all(both.client(), at, got));
    co_await side.join();
  });
  EXPECT_EQ(got, bytes_each * connections);
}

HEDDLE_TEST(net_shared_memory, "writers on two threads that share a budget all go on") {
  // The moment in which one thread takes what the other has found is short: many turns.
  for (std::uint64_t turn = 0; turn != 20; ++turn) {
    const auto budget = std::make_shared<tcp::memory_budget>(400'000);
    std::thread other([&] { carry_all(budget, 2 * turn + 1); });
    carry_all(budget, 2 * turn + 2);
    other.join();
  }
}

}  // namespace
}  // namespace heddle::test
