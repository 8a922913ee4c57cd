// SPDX-License-Identifier: MIT
// apps/sealed against somebody in the middle, strangers and a bad network: a client has the true
// file or an error, never anything else. In the simulation, so that every byte gets its turn.
#include <algorithm>

#include "heddle/core/sleep.hh"
#include "sealed_world.hh"

using namespace sealed;
using namespace sealed::test;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t small_record = 64;
constexpr std::size_t file_size = 150;  // three records of 64, 64 and 22 bytes

server_options small_records() {
  server_options o;
  o.records.record_bytes = small_record;
  o.greeting_timeout = 2s;
  o.idle_timeout = 3s;
  return o;
}

/// One get() through somebody in the middle.
task<std::string> tampered_get(address at, tampering up, tampering down, std::size_t& up_bytes,
                               std::size_t& down_bytes) {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  scope s;
  s.spawn(in_the_middle(door, at, up, down, up_bytes, down_bytes));
  const std::string why = co_await why_not(door.local(), "a", sample(file_size));
  s.cancel();
  static_cast<void>(co_await heddle::as_expected(s.join()));
  co_return why;
}

enum class where { up, down };
enum class how { flip, cut };

/// Does it at every byte of one direction; each time the client must be told.
task<> at_every_byte(address at, where side, how what) {
  std::size_t up = 0;
  std::size_t down = 0;
  const std::string calm = co_await tampered_get(at, {}, {}, up, down);
  EXPECT_EQ(calm, "");
  const std::size_t count = side == where::up ? up : down;
  EXPECT_EQ(up, client_greeting_bytes + record_overhead + 1);
  EXPECT_EQ(down, server_greeting_bytes + record_overhead + 8 + sealed_size(file_size, 64));
  for (std::size_t i = 0; i < count; ++i) {
    tampering t;
    (what == how::flip ? t.flip_at : t.cut_at) = i;
    const std::string why = co_await tampered_get(at, side == where::up ? t : tampering{},
                                                  side == where::down ? t : tampering{}, up, down);
    EXPECT_NE(why, "") << "byte " << i << " of " << count;
  }
}

void everywhere(where side, how what) {
  sealed_world world(std::make_unique<heddle::sim_driver>());
  world.plant("a", sample(file_size));
  world.run([side, what](server&, address at) { return at_every_byte(at, side, what); },
            small_records());
}

}  // namespace

HEDDLE_TEST(sealed, "any bit changed on the way from the server is noticed") {
  everywhere(where::down, how::flip);
}
HEDDLE_TEST(sealed, "any bit changed on the way to the server is noticed") {
  everywhere(where::up, how::flip);
}
HEDDLE_TEST(sealed, "a stream from the server that is cut anywhere is noticed") {
  everywhere(where::down, how::cut);
}
HEDDLE_TEST(sealed, "a stream to the server that is cut anywhere is noticed") {
  everywhere(where::up, how::cut);
}

HEDDLE_TEST(sealed,
            "a stream that ends between two records is too short, and by how much is said") {
  sealed_world world(std::make_unique<heddle::sim_driver>());
  world.plant("a", sample(file_size));
  world.run(
      [](server&, address at) -> task<> {
        const std::size_t two_records = server_greeting_bytes + record_overhead + 8 +
                                        sealed_size(2 * small_record, small_record);
        std::size_t up = 0;
        std::size_t down = 0;
        const std::string why = co_await tampered_get(at, {}, {.cut_at = two_records}, up, down);
        EXPECT_EQ(why, "the stream ended 22 bytes too early, of 150");
      },
      small_records());
}

HEDDLE_TEST(sealed, "two connections of one key have nothing in common on the wire") {
  sealed_world world(std::make_unique<heddle::sim_driver>());
  world.plant("a", sample(file_size));
  world.run(
      [](server&, address at) -> task<> {
        std::string wires[2];
        for (std::string& wire : wires) {
          const key_pair own;
          const client_greeting ours = greet_server(own);
          tcp_stream conn = co_await heddle::tcp_connect(at);
          co_await conn.write(ours);
          server_greeting theirs;
          const bool whole = co_await read_greeting(conn, theirs);
          EXPECT_TRUE(whole);
          record_sealer sealer(read_agreement(theirs).algorithm,
                               secrets_of_client(own, test_key(), ours, theirs).from_client);
          std::string record(1 + record_overhead, '\0');
          sealer.seal(record_type::request, "a", record);
          co_await conn.write(std::string_view(record));
          wire.resize(record_overhead + 8 + sealed_size(file_size, small_record));
          const std::size_t got = co_await conn.read(std::span(wire));
          EXPECT_EQ(got, wire.size());
        }
        std::size_t equal = 0;
        for (std::size_t i = 0; i < wires[0].size(); ++i) equal += wires[0][i] == wires[1][i];
        EXPECT_LT(equal, 4 * header_bytes + wires[0].size() / 16);  // headers, and chance
      },
      small_records());
}

HEDDLE_TEST(sealed, "a stranger who greets wrongly, says nothing or floods is let go") {
  sealed_world world(std::make_unique<heddle::sim_driver>());
  world.plant("a", "hello");
  world.run(
      [](server& files, address at) -> task<> {
        const std::string openings[] = {std::string(40, 'x'),
                                        "sealed 2" + std::string(32, 'k'),
                                        "",
                                        "sealed 1" + std::string(32, '\0'),
                                        "sealed 1" + std::string(5000, 'k'),
                                        "sealed 1" + std::string(32, 'k') + "\x01\xff\xff\xff"};
        for (const std::string& text : openings) {
          const heddle::time_point begin = heddle::clock::now();
          tcp_stream conn = co_await heddle::tcp_connect(at);
          static_cast<void>(co_await heddle::as_expected(conn.write(std::string_view(text))));
          char back[100];
          for (;;) {  // until the server has hung up
            const auto got = co_await heddle::as_expected(conn.read(back));
            if (!got || *got < sizeof back) break;
          }
          // Who says nothing has the time to greet; for the rest nobody waits.
          EXPECT_LT(heddle::clock::now() - begin, text.empty() ? 2100ms : 100ms) << text;
        }
        EXPECT_EQ(files.counters().failures, std::size(openings));
        const std::string got = co_await get(at, "a");
        EXPECT_EQ(got, "hello");
      },
      small_records());
}

HEDDLE_TEST(sealed, "a client that asks nothing, or takes nothing, is let go in time") {
  sealed_world world(std::make_unique<heddle::sim_driver>());
  world.plant("big", sample(5'000'000));
  server_options o = small_records();
  o.records.record_bytes = 16 * 1024;
  o.write_timeout = 4s;
  world.run(
      [](server& files, address at) -> task<> {
        client silent(test_key());
        co_await silent.connect(at);
        client lazy(test_key());
        co_await lazy.connect(at);
        co_await lazy.ask("big");
        co_await heddle::sleep_for(10s);
        EXPECT_EQ(files.counters().failures, 2u);
      },
      o);
}

HEDDLE_TEST(sealed, "on a bad network a client has the true file or an error, whatever the seed") {
  unsigned good = 0;
  unsigned bad = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    heddle::sim_options o;
    o.seed = seed;
    auto io = std::make_unique<heddle::sim_driver>(o);
    for (const auto code : {heddle::op_code::send, heddle::op_code::receive})
      io->set_faults(code, {.short_transfer = 0.3, .interrupted = 0.05, .reset = 0.01});
    sealed_world world(std::move(io));
    world.plant("a", sample(file_size));
    world.run(
        [&](server&, address at) -> task<> {
          scope s;
          std::string why[8];
          for (std::string& one : why)
            s.spawn(
                [](std::string& out, address to) -> task<> {
                  out = co_await why_not(to, "a", sample(file_size));
                },
                std::ref(one), at);
          co_await s.join();
          for (const std::string& one : why) ++(one.empty() ? good : bad);
        },
        small_records());
    EXPECT_EQ(world.sim()->blocks_out(), 0u) << "seed " << seed;
  }
  EXPECT_GT(good, 100u);
  EXPECT_GT(bad, 10u);
}

HEDDLE_TEST(sealed, "one seed gives one run, keys included") {
  std::uint64_t hash[2];
  for (std::uint64_t& h : hash) {
    heddle::sim_options o;
    o.seed = 77;
    sealed_world world(std::make_unique<heddle::sim_driver>(o));
    world.plant("a", sample(file_size));
    world.run([](server&, address at) -> task<> { co_await get(at, "a"); }, small_records());
    h = world.sim()->trace_hash();
  }
  EXPECT_EQ(hash[0], hash[1]);
}
