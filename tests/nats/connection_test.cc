// SPDX-License-Identifier: MIT
// Connections on every driver, with servers of the test's own: messages, questions, servers that
// end, refuse, and fall silent.
#include "heddle/nats/connection.hh"

#include "nats/harness.hh"
#include "support/drivers.hh"
#include "support/wait_until.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

DRIVER_TEST(nats, "messages come to all who have subscribed, and groups share theirs") {
  runtime rt(make());
  const auto body = [](small_cluster&, std::vector<std::string> places) -> task<> {
    const nats::connection_options options{.servers = places, .name = "test"};
    const auto use = [](nats::connection& c) -> task<> {
      nats::subscription all = c.subscribe("a.*");
      nats::subscription one = c.subscribe("a.b", {.group = "g"});
      nats::subscription other = c.subscribe("a.b", {.group = "g"});
      const std::vector<nats::field> fields{{"Kind", "cup"}};
      co_await c.publish("a.b", "first", fields);
      co_await c.publish("a.c", "second");
      co_await c.publish("b.c", "nobody");
      co_await c.flush();
      const auto first = co_await all.next();
      EXPECT_EQ(first->subject + ' ' + first->body, "a.b first");
      EXPECT_EQ(first->find("Kind"), "cup");
      EXPECT_EQ(first->find("kind"), std::nullopt);
      EXPECT_EQ((co_await all.next())->body, "second");
      one.unsubscribe();
      other.unsubscribe();
      int shared = 0;
      while (co_await one.next()) ++shared;
      while (co_await other.next()) ++shared;
      EXPECT_EQ(shared, 1);
      EXPECT_EQ(c.counters().published, 3u);
      EXPECT_EQ(c.counters().received, 3u);
    };
    co_await with_connection(options, use);
  };
  rt.run(with_cluster(1, body));
}

DRIVER_TEST(nats, "a question gets one answer, and an error where nobody answers") {
  runtime rt(make());
  const auto body = [](small_cluster& cluster, std::vector<std::string> places) -> task<> {
    const nats::connection_options options{.servers = places};
    const auto use = [&](nats::connection& c) -> task<> {
      const auto serve = [&](scope& s) -> task<> {
        nats::subscription asked = c.subscribe("twice");
        const auto answers = [&]() -> task<> {
          while (auto m = co_await asked.next()) co_await c.publish(m->reply, m->body + m->body);
        };
        s.spawn(answers);
        EXPECT_EQ((co_await c.request("twice", "ab")).body, "abab");
        EXPECT_EQ((co_await c.request("twice", "")).body, "");
        const std::error_code none = co_await error_of(c.request("nothing", "x"));
        EXPECT_EQ(none, std::errc::connection_refused);
        cluster.passes = [](const nats_text& m) { return m.subject != "twice"; };
        const std::error_code late = co_await error_of(with_timeout(c.request("twice", "x"), 20ms));
        EXPECT_EQ(late, std::errc::timed_out);
        cluster.passes = [](const nats_text&) { return true; };
        EXPECT_EQ((co_await c.request("twice", "c")).body, "cc");
        s.cancel();
      };
      co_await with_scope(serve);
    };
    co_await with_connection(options, use);
  };
  rt.run(with_cluster(1, body));
}

DRIVER_TEST(nats, "after a loss it connects again, to another server, and subscribes again") {
  runtime rt(make());
  const auto body = [](small_cluster& cluster, std::vector<std::string> places) -> task<> {
    std::vector<std::string> log;
    nats::connection_options options{.servers = places, .retry = 1ms};
    options.log = [&](std::string_view line) { log.emplace_back(line); };
    const auto use = [&](nats::connection& c) -> task<> {
      nats::subscription some = c.subscribe("a");
      co_await c.publish("a", "1");
      co_await c.flush();
      EXPECT_EQ((co_await some.next())->body, "1");
      const std::string before = c.server();
      for (int round = 2; round != 6; ++round) {
        cluster.cut_all();
        const bool again = co_await wait_until(
            [&] { return c.counters().connects == static_cast<std::uint64_t>(round); });
        EXPECT_TRUE(again);
        co_await c.publish("a", std::to_string(round));
        EXPECT_EQ((co_await some.next())->body, std::to_string(round));
      }
      EXPECT_EQ(c.counters().connects, 5u);
      EXPECT_EQ(cluster.connected(), 1u);
      EXPECT_EQ(log.at(0), "nats: connected to " + before);
      EXPECT_TRUE(log.at(1).starts_with("nats: lost the connection to " + before)) << log[1];
      EXPECT_NE(log.at(2), log.at(0));
    };
    co_await with_connection(options, use);
  };
  rt.run(with_cluster(2, body));
}

DRIVER_TEST(nats, "a request and a flush that a loss overtakes fail, and later ones work") {
  runtime rt(make());
  const auto body = [](small_cluster& cluster, std::vector<std::string> places) -> task<> {
    const nats::connection_options options{.servers = places, .retry = 1ms};
    const auto use = [&](nats::connection& c) -> task<> {
      co_await c.ready();
      cluster.passes = [&](const nats_text& m) {
        if (m.subject == "cut") cluster.cut_all();
        return m.subject != "cut";
      };
      EXPECT_EQ(co_await error_of(c.request("cut", "x")), std::errc::connection_reset);
      co_await c.publish("cut", "x");
      const std::error_code flushed = co_await error_of(c.flush());
      EXPECT_EQ(flushed, std::errc::connection_reset);
      co_await c.publish("fine", "x");
      co_await c.flush();
    };
    co_await with_connection(options, use);
  };
  rt.run(with_cluster(1, body));
}

DRIVER_TEST(nats, "a server that refuses the identity ends run(), with what to do") {
  runtime rt(make());
  const auto body = [](small_cluster& cluster, std::vector<std::string> places) -> task<> {
    cluster.refuses_with = "Authorization Violation";
    nats::connection_options options{.servers = places};
    options.who = {.user = "a\"b", .password = "c", .token = {}};
    nats::connection c(std::move(options));
    std::string why;
    try {
      co_await c.run();
    } catch (const failure& e) {
      EXPECT_EQ(e.code(), std::errc::permission_denied);
      why = e.what();
    }
    EXPECT_NE(why.find("check user, password and token"), std::string::npos) << why;
    const json_value said = json_value::parse(cluster.connects.at(0));
    EXPECT_EQ(said["user"].text(), "a\"b");
    EXPECT_EQ(said["pass"].text(), "c");
    EXPECT_FALSE(said["tls_required"].truth());
  };
  rt.run(with_cluster(1, body));
}

DRIVER_TEST(nats, "a server that is silent is given up, and one that says it will end is left") {
  runtime rt(make());
  const auto body = [](small_cluster& cluster, std::vector<std::string> places) -> task<> {
    nats::connection_options options{.servers = places, .retry = 1ms, .ping_every = 5ms};
    const auto use = [&](nats::connection& c) -> task<> {
      nats::subscription some = c.subscribe("a");
      co_await c.flush();
      const std::uint64_t before = c.counters().connects;
      cluster.answers_pings = false;
      const bool given_up = co_await wait_until([&] { return c.counters().connects > before; });
      EXPECT_TRUE(given_up);
      cluster.answers_pings = true;
      co_await c.ready();
      const std::uint64_t then = c.counters().connects;
      for (auto& each : cluster.clients)
        if (!each->ended) each->send("INFO {\"ldm\":true}\r\n");
      const bool left = co_await wait_until([&] { return c.counters().connects > then; });
      EXPECT_TRUE(left);
    };
    co_await with_connection(options, use);
  };
  rt.run(with_cluster(2, body));
}

DRIVER_TEST(nats, "servers that the cluster names are tried, up to the limit") {
  runtime rt(make());
  const auto body = [](small_cluster& cluster, std::vector<std::string> places) -> task<> {
    cluster.info_more = ",\"connect_urls\":[\"" + places.at(1) + "\",\"bad url\",\"x:9\"]";
    const nats::connection_options options{
        .servers = {places.at(0)}, .servers_max = 2, .retry = 1ms};
    const auto use = [&](nats::connection& c) -> task<> {
      co_await c.ready();
      EXPECT_EQ(c.server(), places.at(0));
      cluster.cut_all();
      const bool moved = co_await wait_until([&] { return c.counters().connects == 2; });
      EXPECT_TRUE(moved);
      EXPECT_EQ(c.server(), places.at(1));
    };
    co_await with_connection(options, use);
  };
  rt.run(with_cluster(2, body));
}

DRIVER_TEST(nats,
            "publishing waits while too much is unsent, and too much for a reader is dropped") {
  runtime rt(make());
  const auto body = [](small_cluster&, std::vector<std::string> places) -> task<> {
    nats::connection_options options{.servers = places, .unsent_max = 1100};
    nats::connection c(std::move(options));
    for (int i = 0; i != 10; ++i) co_await c.publish("a", std::string(100, 'x'));
    const std::error_code full = co_await error_of(with_timeout(c.publish("a", "y"), 10ms));
    EXPECT_EQ(full, std::errc::timed_out);
    const std::error_code large = co_await error_of(c.publish("a b", "y"));
    EXPECT_EQ(large, std::errc::invalid_argument);
    const auto all = [&](scope& s) -> task<> {
      s.spawn(c.run());
      co_await c.ready();
      nats::subscription few = c.subscribe("b", {.messages_max = 3});
      nats::subscription short_ones = c.subscribe("b", {.bytes_max = 12});
      for (int i = 0; i != 5; ++i) co_await c.publish("b", "four");
      co_await c.flush();
      EXPECT_EQ(few.dropped(), 2u);
      EXPECT_EQ(short_ones.dropped(), 3u);
      EXPECT_EQ(c.counters().dropped, 5u);
      const std::string long_text(std::size_t{1} << 20, 'x');
      EXPECT_EQ(co_await error_of(c.publish("b", long_text + 'x')), std::errc::message_size);
      co_await c.publish("b", long_text);
      co_await c.flush();
      s.cancel();
    };
    co_await with_scope(all);
  };
  rt.run(with_cluster(1, body));
}

DRIVER_TEST(nats, "the end of a connection's object ends its subscriptions and what waits") {
  runtime rt(make());
  rt.run([]() -> task<> {
    auto c = std::make_unique<nats::connection>();
    nats::subscription some = c->subscribe("a");
    bool none = false;
    std::error_code ended;
    const auto all = [&](scope& s) -> task<> {
      const auto take = [&]() -> task<> { none = !(co_await some.next()); };
      const auto wait_ready = [&]() -> task<> { ended = co_await error_of(c->ready()); };
      s.spawn(take);
      s.spawn(wait_ready);
      for (int i = 0; i != 3; ++i) co_await yield();
      c.reset();
    };
    co_await with_scope(all);
    EXPECT_TRUE(none);
    EXPECT_EQ(ended, std::errc::broken_pipe);
  });
}

HEDDLE_TEST(nats_options, "bad options are refused with what is expected") {
  const auto why = [](nats::connection_options options) -> std::string {
    try {
      const nats::connection c(std::move(options));
    } catch (const failure& e) {
      EXPECT_EQ(e.code(), std::errc::invalid_argument);
      return e.what();
    }
    return "";
  };
  EXPECT_NE(why({.servers = {}}).find("needs a server"), std::string::npos);
  for (const char* bad : {"", "a b", "a:0", "a:x", "a:65536", "[::1", "[::1]x", "a:1/x", "u@a"})
    EXPECT_NE(why({.servers = {bad}}).find("HOST:PORT"), std::string::npos) << bad;
  for (const char* good : {"a", "a:1", "::1", "[::1]", "[::1]:4222", "nats://www.example.org:4222"})
    EXPECT_EQ(why({.servers = {good}}), "") << good;
}

}  // namespace
}  // namespace heddle::test
