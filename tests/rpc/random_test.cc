// SPDX-License-Identifier: MIT
// Random programs of clients against the server in the simulation: many calls at once, values of
// all types, calls that are cancelled, connections that are cut anywhere, slow links, short
// transfers. Each reply belongs to its call, and nothing is left at the end.
#include "rpc/harness.hh"

namespace heddle::test {
namespace {

struct tally {
  int right = 0;
  int ended = 0;  // by a cut or by a cancellation
};

task<> random_call(rpc::client& c, std::uint64_t seed, tally& t) {
  xdr::generator draw(seed);
  bool right = false;
  try {
    switch (draw.below(4)) {
      case 0: {
        const auto value = xdr::generate<store::everything>(seed);
        const store::everything back = co_await c.call<v1::SAME>(value);
        right = xdr::encode(back).to_string() == xdr::encode(value).to_string();
        break;
      }
      case 1: {
        const store::STORE_V3_SUM_argument a{static_cast<std::int32_t>(draw.below(1000)), 7};
        right = co_await c.call<v3::SUM>(a) == a.argument1 + 7;
        break;
      }
      case 2: {
        const auto ms = static_cast<std::uint32_t>(draw.below(50));
        right = co_await with_timeout(c.call<v1::SLEEP>(ms), 30ms) == ms;
        break;
      }
      default: {
        store::opaque_data data;
        data.append(std::string(draw.below(60'000), static_cast<char>('a' + seed % 26)));
        const store::opaque_data back = co_await c.call<v1::BYTES>(data);
        right = back == data;
      }
    }
  } catch (const std::system_error& e) {
    ++t.ended;
    EXPECT_NE(e.code(), rpc::errc::bad_reply) << e.what();
    EXPECT_NE(e.code(), rpc::errc::garbage_arguments) << e.what();
    co_return;
  }
  EXPECT_TRUE(right) << "seed " << seed;
  ++t.right;
}

/// One client after another, until all calls were made; each connection may be cut.
task<> random_client(running_store& r, std::uint64_t seed, tally& t) {
  xdr::generator draw(seed);
  for (int round = 0; round != 4; ++round) {
    auto conn = co_await as_expected(r.connect());
    if (!conn) continue;
    stream wire = *conn;
    rpc::client c(std::move(*conn), {.calls_max = 5});
    scope calls;
    for (int i = 0; i != 8; ++i) calls.spawn(random_call(c, draw.below(1'000'000), t));
    if (draw.below(3) == 0) {
      co_await sleep_for(std::chrono::microseconds(draw.below(20'000)));
      wire.reset_on_close();
      c.close();
    } else if (draw.below(4) == 0) {
      co_await sleep_for(std::chrono::microseconds(draw.below(20'000)));
      calls.cancel();
    }
    co_await calls.settled();
    calls.rethrow_failure();
  }
}

void run_world(sim_options options, tally& t) {
  auto world = std::make_unique<sim_driver>(options);
  sim_driver& sim = *world;
  runtime rt(std::move(world), {});
  const std::uint64_t seed = options.seed;
  rt.run(with_store(
      [seed, &t](running_store& r) -> task<> {
        scope s;
        for (std::uint64_t i = 0; i != 4; ++i) s.spawn(random_client(r, seed * 10 + i, t));
        co_await s.join();
      },
      {.calls_max = 3, .bytes_max = 100'000}));
  EXPECT_EQ(sim.open_descriptors(), 0u) << sim.trace_text();
  EXPECT_EQ(sim.blocks_out(), 0u) << "seed " << seed;
}

HEDDLE_TEST(rpc, "random clients get right replies or an error, on calm and rough networks") {
  tally t;
  for (std::uint64_t seed = 1; seed != 41; ++seed) {
    sim_options options{.seed = seed};
    if (seed % 2 == 0) {
      options.slow_links = 0.3;
      options.slow_link = {5ms, 2ms, 4'000'000, 0};
      options.faults = {.short_transfer = 0.2, .reset = 0.002};
    }
    run_world(options, t);
  }
  EXPECT_GT(t.right, 1500);
  EXPECT_GT(t.ended, 300);
}

HEDDLE_TEST(rpc, "the same seed gives the same run") {
  std::uint64_t hashes[2];
  for (std::uint64_t& hash : hashes) {
    tally t;
    auto world = std::make_unique<sim_driver>(sim_options{.seed = 9});
    sim_driver& sim = *world;
    runtime rt(std::move(world), {});
    rt.run(with_store([&t](running_store& r) -> task<> { return random_client(r, 77, t); }));
    hash = sim.trace_hash();
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

}  // namespace
}  // namespace heddle::test
