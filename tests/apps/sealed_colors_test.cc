// SPDX-License-Identifier: MIT
// apps/sealed on one, two and four workers: each client's records are sealed in a color of its own,
// and clients notice nothing. On every driver; the simulated one runs the workers in an order
// drawn from HEDDLE_SEED.
#include <algorithm>

#include "heddle/core/sleep.hh"
#include "sealed_world.hh"

using namespace sealed;
using namespace sealed::test;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t clients = 12;
constexpr std::size_t size = 700'000;  // six visits to the client's color

task<> keep_why_not(std::string& why, address at) { why = co_await why_not(at, "a", sample(size)); }

/// Who gives up after the first record, while the server seals the next ones.
task<> leave_early(address at) {
  client from(test_key());
  co_await from.connect(at);
  co_await from.ask("a");
  const std::string_view part = co_await from.next();
  EXPECT_FALSE(part.empty());
}

void in_worlds_of(const heddle::test::driver_maker& make,
                  const std::function<void(sealed_world&)>& body) {
  for (const unsigned workers : {1u, 2u, 4u}) {
    SCOPED_TRACE(std::to_string(workers) + " workers");
    sealed_world world(make, workers);
    world.plant("a", sample(size));
    body(world);
  }
}

}  // namespace

DRIVER_TEST(sealed_colors, "many clients get the file byte for byte on any number of workers") {
  in_worlds_of(make, [](sealed_world& world) {
    world.run([](server& files, address at) -> task<> {
      scope s;
      std::string why[clients];
      for (std::string& one : why) s.spawn(keep_why_not(one, at));
      co_await s.join();
      for (const std::string& one : why) EXPECT_EQ(one, "");
      co_await sessions_to_end(files);
      EXPECT_EQ(files.counters().bytes, clients * size);
    });
    // Color 0, and one for each client: greeting, request and file come to it.
    const auto colors = world.rt().read_colors();
    EXPECT_EQ(colors.size(), 1 + clients);
    for (const heddle::color_statistics& one : colors)
      EXPECT_GE(one.frames, 3u) << "of color " << one.number.number;
  });
}

DRIVER_TEST(sealed_colors, "clients that leave while their records are sealed trouble nobody") {
  in_worlds_of(make, [](sealed_world& world) {
    world.run([](server& files, address at) -> task<> {
      scope s;
      std::string why[4];
      for (std::string& one : why) {
        s.spawn(leave_early(at));
        s.spawn(keep_why_not(one, at));
      }
      co_await s.join();
      for (const std::string& one : why) EXPECT_EQ(one, "");
      co_await sessions_to_end(files);
    });
  });
}

DRIVER_TEST(sealed_colors, "the end of the server ends sessions that are away in their colors") {
  in_worlds_of(make, [](sealed_world& world) {
    world.run([](server& files, address at) -> task<> {
      client from[3] = {client(test_key()), client(test_key()), client(test_key())};
      for (client& one : from) {
        co_await one.connect(at);
        co_await one.ask("a");
      }
      EXPECT_EQ(files.counters().open, 3u);
    });
  });
}
