// SPDX-License-Identifier: MIT
// Streams and consumers, with servers of the test's own whose answers go astray and whose
// connections are cut: what was stored is there once, and what was not acknowledged comes again.
#include "heddle/nats/jetstream.hh"

#include <random>
#include <set>

#include "nats/harness.hh"
#include "support/drivers.hh"
#include "support/wait_until.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

const nats::jetstream_options impatient{.each_try = 20ms, .all_tries = 60s};

nats::connection_options to(const std::vector<std::string>& places) {
  return {.servers = places, .retry = 1ms, .retry_max = 5ms};
}

DRIVER_TEST(nats_jetstream, "a message is stored once, however often its answer is lost") {
  runtime rt(make());
  const auto body = [](small_cluster& cluster, std::vector<std::string> places) -> task<> {
    const auto use = [&](nats::connection& c) -> task<> {
      nats::jetstream kept(c, impatient);
      const nats::stream_config stream{.name = "S", .subjects = {"s.>"}};
      co_await kept.add_stream(stream);
      unsigned lost = 0;
      cluster.confirms = [&](const nats_text&) { return ++lost % 3 == 0; };
      for (int i = 0; i != 5; ++i) {
        const nats::stored got =
            co_await kept.publish("s.a", std::to_string(i), "id" + std::to_string(i));
        EXPECT_EQ(got.stream, "S");
        EXPECT_TRUE(got.duplicate);
      }
      EXPECT_EQ(cluster.kept.size(), 5u);
      EXPECT_EQ((co_await kept.state_of("S")).messages, 5u);
    };
    co_await with_connection(to(places), use);
  };
  rt.run(with_cluster(1, body));
}

DRIVER_TEST(nats_jetstream, "a consumer gives each message, and again what was not acknowledged") {
  runtime rt(make());
  const auto body = [](small_cluster& cluster, std::vector<std::string> places) -> task<> {
    const auto use = [&](nats::connection& c) -> task<> {
      nats::jetstream kept(c, impatient);
      const nats::stream_config stream{.name = "S", .subjects = {"s.>"}};
      co_await kept.add_stream(stream);
      for (int i = 0; i != 6; ++i)
        co_await kept.publish(i % 2 == 0 ? "s.even" : "s.odd", std::to_string(i), "");
      const nats::pull_options with{.name = "C", .filter = "s.even", .batch = 2};
      nats::puller some = co_await kept.pull("S", with);
      std::string order;
      for (int i = 0; i != 4; ++i) {
        const nats::delivered m = co_await some.next();
        order += m.content().body + ':' + std::to_string(m.sequence()) + ':' +
                 std::to_string(m.deliveries()) + ' ';
        if (i == 1) {
          co_await m.nak();
        } else {
          co_await m.ack();
        }
      }
      EXPECT_EQ(order, "0:1:1 2:3:1 2:3:2 4:5:1 ");
      co_await c.flush();
      EXPECT_TRUE(cluster.consumers.at("C").delivered.empty());
    };
    co_await with_connection(to(places), use);
  };
  rt.run(with_cluster(1, body));
}

DRIVER_TEST(nats_jetstream, "servers that are still coming together are asked again") {
  runtime rt(make());
  const auto body = [](small_cluster& cluster, std::vector<std::string> places) -> task<> {
    const auto use = [&](nats::connection& c) -> task<> {
      nats::jetstream kept(c, impatient);
      cluster.refusals = {{503, 10008}, {400, 10005}, {500, 10009}, {400, 10202}};
      const nats::stream_config stream{.name = "S", .subjects = {"s.>"}};
      co_await kept.add_stream(stream);
      EXPECT_TRUE(cluster.refusals.empty());
      cluster.refusals = {{400, 10052}, {503, 10008}};
      EXPECT_EQ(co_await error_of(kept.state_of("S")), std::errc::invalid_argument);
      EXPECT_EQ(cluster.refusals.size(), 1u);
    };
    co_await with_connection(to(places), use);
  };
  rt.run(with_cluster(1, body));
}

DRIVER_TEST(nats_jetstream, "what is missing, wrong or silent is said with its name") {
  runtime rt(make());
  const auto body = [](small_cluster& cluster, std::vector<std::string> places) -> task<> {
    const auto use = [&](nats::connection& c) -> task<> {
      nats::jetstream kept(c, {.each_try = 5ms, .all_tries = 120ms});
      EXPECT_EQ(co_await error_of(kept.state_of("S")), std::errc::no_such_file_or_directory);
      EXPECT_EQ(co_await error_of(kept.state_of("a.b")), std::errc::invalid_argument);
      const nats::stream_config stream{.name = "S", .subjects = {"s.>"}};
      co_await kept.add_stream(stream);
      const nats::pull_options with{.name = "C"};
      nats::puller some = co_await kept.pull("S", with);
      std::error_code ended;
      const auto both = [&](scope& s) -> task<> {
        const auto take = [&]() -> task<> {
          try {
            static_cast<void>(co_await some.next());
          } catch (const failure& e) {
            ended = e.code();
          }
        };
        s.spawn(take);
        const bool asked =
            co_await wait_until([&] { return !cluster.consumers.at("C").open.empty(); });
        EXPECT_TRUE(asked);
        co_await kept.delete_consumer("S", "C");
      };
      co_await with_scope(both);
      EXPECT_EQ(ended, std::errc::no_such_file_or_directory);
      cluster.passes = [](const nats_text&) { return false; };
      EXPECT_EQ(co_await error_of(kept.state_of("S")), std::errc::timed_out);
    };
    co_await with_connection(to(places), use);
  };
  rt.run(with_cluster(1, body));
}

/// One run with faults from a seed: each message that was stored is taken at least once.
void run_with_faults(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  sim_options world;
  world.seed = seed;
  runtime rt(std::make_unique<sim_driver>(world));
  std::mt19937_64 random(seed);
  const auto chance = [&](unsigned of_100) { return random() % 100 < of_100; };
  const auto body = [&](small_cluster& cluster, std::vector<std::string> places) -> task<> {
    const auto use = [&](nats::connection& c) -> task<> {
      nats::jetstream kept(c, impatient);
      const nats::stream_config stream{.name = "S", .subjects = {"s"}};
      co_await kept.add_stream(stream);
      cluster.confirms = [&](const nats_text&) { return !chance(20); };
      cluster.passes = [&](const nats_text&) { return !chance(10); };
      constexpr int count = 40;
      std::set<std::string> taken;
      const auto all = [&](scope& s) -> task<> {
        const auto faults = [&]() -> task<> {
          for (;;) {
            co_await sleep_for(std::chrono::milliseconds(random() % 40));
            if (chance(30)) cluster.cut_all();
            cluster.look_again();
          }
        };
        const auto publishes = [&]() -> task<> {
          for (int i = 0; i != count; ++i)
            co_await kept.publish("s", std::to_string(i), "id" + std::to_string(i));
        };
        s.spawn(faults);
        s.spawn(publishes);
        const nats::pull_options with{.name = "C", .ack_wait = 30ms, .batch = 7};
        nats::puller some = co_await kept.pull("S", with);
        while (taken.size() != count) {
          const nats::delivered m = co_await some.next();
          taken.insert(m.content().body);
          if (chance(90)) co_await m.ack();
        }
        s.cancel();
      };
      co_await with_scope(all);
      EXPECT_EQ(cluster.kept.size(), std::size_t{count});
    };
    co_await with_connection(to(places), use);
  };
  rt.run([&]() -> task<> { co_await with_timeout(with_cluster(3, body), 1h); });
}

HEDDLE_TEST(nats_jetstream, "under cuts and lost answers all is stored once and taken") {
  for (std::uint64_t seed = 1; seed != 101; ++seed) run_with_faults(seed);
}

}  // namespace
}  // namespace heddle::test
