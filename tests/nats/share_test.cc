// SPDX-License-Identifier: MIT
// Topics that two programs share, with servers of the test's own: each raise comes once, or again
// where something was lost, and never back.
#include "heddle/nats/share.hh"

#include <map>
#include <random>

#include "nats/harness.hh"
#include "support/drivers.hh"
#include "support/wait_until.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

struct ordered : topic<std::string, std::uint32_t, std::vector<std::int32_t>> {};
struct stopped : haltable_topic<bool> {};

nats::connection_options connection_to(const std::vector<std::string>& places) {
  return {.servers = places, .retry = 1ms, .retry_max = 5ms};
}

nats::share_options named(const char* name) {
  nats::share_options made;
  made.name = name;
  made.servers = {.each_try = 20ms, .all_tries = 60s};
  made.ack_wait = 50ms;
  made.raise_again = 1ms;
  return made;
}

/// A program of its own: a bus, a connection, a shared topic, and the raises that came.
template <class T>
struct shared_program {
  shared_program(const std::vector<std::string>& places, const nats::share_options& options)
      : over(connection_to(places)), shared(b, over, "shop.orders", options) {}
  task<> run() {
    const auto all = [&](scope& s) -> task<> {
      s.spawn(over.run());
      s.spawn(shared.run());
      co_return;
    };
    co_await with_scope(all);
  }
  bus b;
  nats::connection over;
  nats::shared_topic<T> shared;
};

DRIVER_TEST(nats_share,
            "a raise runs here at once and in other programs once, with its arguments") {
  runtime rt(make());
  const auto body = [](small_cluster& cluster, std::vector<std::string> places) -> task<> {
    shared_program<ordered> shop(places, named("shop"));
    shared_program<ordered> billing(places, named("billing"));
    std::vector<std::string> log;
    const auto note = [&](const std::string& who) {
      return [&log, who](const std::string& what, std::uint32_t count,
                         const std::vector<std::int32_t>& sizes) {
        log.push_back(who + ' ' + what + std::to_string(count) + ' ' +
                      std::to_string(sizes.size()));
      };
    };
    shop.b.bind<ordered>(note("shop"));
    billing.b.bind<ordered>(note("billing"));
    const auto all = [&](scope& s) -> task<> {
      s.spawn(shop.run());
      s.spawn(billing.run());
      const std::vector<std::int32_t> sizes{-1, 2};
      shop.b.raise<ordered>("cups", 3u, sizes);
      EXPECT_EQ(log.size(), 1u);
      EXPECT_EQ(shop.shared.unstored(), 1u);
      co_await shop.shared.settled();
      EXPECT_EQ(shop.shared.counters().stored, 1u);
      const bool came = co_await wait_until([&] { return log.size() == 2; });
      EXPECT_TRUE(came);
      billing.b.raise<ordered>("back", 4u, sizes);
      co_await wait_until([&] { return log.size() == 4; });
      EXPECT_EQ(log, (std::vector<std::string>{"shop cups3 2", "billing cups3 2", "billing back4 2",
                                               "shop back4 2"}));
      const bool acknowledged = co_await wait_until([&] {
        return cluster.consumers.at("shop").delivered.empty() &&
               cluster.consumers.at("billing").delivered.empty();
      });
      EXPECT_TRUE(acknowledged);
      EXPECT_EQ(cluster.kept.size(), 2u);
      s.cancel();
    };
    co_await with_scope(all);
  };
  rt.run(with_cluster(2, body));
}

DRIVER_TEST(nats_share, "a handler that throws gets the raise again, and wrong bytes are dropped") {
  runtime rt(make());
  const auto body = [](small_cluster& cluster, std::vector<std::string> places) -> task<> {
    std::vector<std::string> lines;
    nats::share_options with = named("billing");
    with.log = [&](std::string_view line) { lines.emplace_back(line); };
    shared_program<stopped> shop(places, named(""));
    shared_program<stopped> billing(places, with);
    int calls = 0;
    billing.b.bind<stopped>([&](bool) -> flow {
      if (++calls < 3) throw std::runtime_error("not now");
      return flow::halt;
    });
    const auto all = [&](scope& s) -> task<> {
      s.spawn(shop.run());
      s.spawn(billing.run());
      EXPECT_EQ(shop.b.raise<stopped>(true), flow::go_on);
      const bool used = co_await wait_until([&] {
        cluster.look_again();
        return billing.shared.counters().raised == 1;
      });
      EXPECT_TRUE(used);
      EXPECT_EQ(calls, 3);
      EXPECT_GE(billing.shared.counters().again, 2u);
      EXPECT_EQ(lines.at(0),
                "nats: shop.orders: a handler threw, so the raise will come again: not now");
      co_await shop.over.publish("shop.orders", "xyz");
      const bool dropped =
          co_await wait_until([&] { return billing.shared.counters().unreadable == 1; });
      EXPECT_TRUE(dropped);
      EXPECT_NE(lines.back().find("message 2 is dropped"), std::string::npos) << lines.back();
      s.cancel();
    };
    co_await with_scope(all);
  };
  rt.run(with_cluster(1, body));
}

HEDDLE_TEST(nats_share, "raises beyond the limits are refused, and bad names are too") {
  runtime rt(std::make_unique<sim_driver>(sim_options()));
  rt.run([]() -> task<> {
    bus b;
    nats::connection over;
    nats::share_options few = named("a");
    few.unstored_max = 2;
    nats::shared_topic<stopped> shared(b, over, "s", few);
    b.raise<stopped>(true);
    b.raise<stopped>(true);
    try {
      b.raise<stopped>(true);
      ADD_FAILURE() << "the third raise was taken";
    } catch (const failure& e) {
      EXPECT_EQ(e.code(), std::errc::no_buffer_space);
    }
    EXPECT_EQ(shared.unstored(), 2u);
    const auto refused = [&](const char* subject, const char* name) {
      try {
        nats::shared_topic<stopped> other(b, over, subject, named(name));
      } catch (const failure& e) {
        return e.code() == std::errc::invalid_argument;
      }
      return false;
    };
    EXPECT_TRUE(refused("a b", "x"));
    EXPECT_TRUE(refused("a.*", "x"));
    EXPECT_TRUE(refused("a", "x.y"));
    co_return;
  });
}

/// Two programs that raise while connections are cut and answers are lost, by a seed.
void share_with_faults(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  sim_options world;
  world.seed = seed;
  runtime rt(std::make_unique<sim_driver>(world));
  std::mt19937_64 random(seed);
  const auto chance = [&](unsigned of_100) { return random() % 100 < of_100; };
  const auto body = [&](small_cluster& cluster, std::vector<std::string> places) -> task<> {
    shared_program<ordered> one(places, named("one"));
    shared_program<ordered> two(places, named("two"));
    constexpr int count = 30;
    std::map<std::string, int> at_one, at_two;
    one.b.bind<ordered>([&](const std::string& what, std::uint32_t,
                            const std::vector<std::int32_t>&) { ++at_one[what]; });
    two.b.bind<ordered>([&](const std::string& what, std::uint32_t,
                            const std::vector<std::int32_t>&) { ++at_two[what]; });
    const auto all = [&](scope& s) -> task<> {
      s.spawn(one.run());
      s.spawn(two.run());
      const auto faults = [&]() -> task<> {
        cluster.confirms = [&](const nats_text&) { return !chance(20); };
        cluster.passes = [&](const nats_text&) { return !chance(10); };
        for (;;) {
          co_await sleep_for(std::chrono::milliseconds(random() % 40));
          if (chance(30)) cluster.cut_all();
          cluster.look_again();
        }
      };
      s.spawn(faults);
      for (int i = 0; i != count; ++i) {
        const std::vector<std::int32_t> none;
        one.b.raise<ordered>("one" + std::to_string(i), 0u, none);
        two.b.raise<ordered>("two" + std::to_string(i), 0u, none);
        co_await sleep_for(std::chrono::milliseconds(random() % 5));
      }
      co_await one.shared.settled();
      co_await two.shared.settled();
      while (at_one.size() != 2 * count || at_two.size() != 2 * count) co_await sleep_for(1ms);
      s.cancel();
    };
    co_await with_scope(all);
    EXPECT_EQ(cluster.kept.size(), std::size_t{2 * count});
    for (int i = 0; i != count; ++i) {  // a program's own raises never come back
      EXPECT_EQ(at_one.at("one" + std::to_string(i)), 1);
      EXPECT_EQ(at_two.at("two" + std::to_string(i)), 1);
    }
  };
  rt.run([&]() -> task<> { co_await with_timeout(with_cluster(3, body), 1h); });
}

HEDDLE_TEST(nats_share, "under cuts and lost answers every raise comes to the other program") {
  for (std::uint64_t seed = 1; seed != 61; ++seed) share_with_faults(seed);
}

}  // namespace
}  // namespace heddle::test
