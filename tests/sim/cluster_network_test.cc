// SPDX-License-Identifier: MIT
// The network between nodes: addresses, partitions of one direction, links, what is lost and what
// waits.
#include <system_error>

#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/io/udp.hh"
#include "heddle/io/unix.hh"
#include "nodes.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

/// A cluster of a web server and a user, the time that the user's program takes, and its error.
struct pair_of_nodes {
  explicit pair_of_nodes(std::function<task<int>(sim::node&)> program,
                         sim_options world = {.link = {.latency = 1ms}})
      : all({.world = std::move(world)}),
        web(all.add({.name = "web", .program = echo_service, .service = true})),
        user(all.add({.name = "user", .program = std::move(program)})) {}

  sim::cluster all;
  sim::node& web;
  sim::node& user;
};

/// Echoes 10 bytes at 1 s and gives the time that it took, in ms; -1 if they were others.
task<int> echo_at_1s(sim::node& n) {
  co_await sleep_for(1s);
  const time_point before = n.driver().now();
  const std::string back = co_await echo("web", "0123456789");
  const auto took =
      std::chrono::duration_cast<std::chrono::milliseconds>(n.driver().now() - before);
  co_return back == "0123456789" ? static_cast<int>(took.count()) : -1;
}

/// Connects, waits until 2 s, and gives the time that an echo takes then.
task<nanoseconds> echo_after_2s(sim::node& n) {
  const tcp_stream conn = co_await tcp_connect("web", echo_port);
  co_await sleep_for(2s);
  const time_point before = n.driver().now();
  co_await conn.write("hello");
  char back[5];
  const std::size_t count = co_await conn.read(back);
  EXPECT_EQ(count, 5U);
  co_return n.driver().now() - before;
}

HEDDLE_TEST(cluster_network, "an address is that of one node, and loopback is each node's own") {
  sim::cluster all;
  const auto own = [](sim::node& n) -> task<int> {
    const tcp_listener here = tcp_listener::listen(address::loopback(80));
    const tcp_stream caller = co_await tcp_connect(address::loopback(80));
    const tcp_stream called = co_await here.accept();
    EXPECT_EQ(called.peer().host(), "127.0.0.1") << n.name();
    co_return 0;
  };
  all.add({.name = "first", .program = own});
  all.add({.name = "second", .addresses = {"192.0.2.7", "2001:db8::7"}, .program = own});
  std::string seen;
  all.add({.name = "web", .addresses = {"192.0.2.9"}, .program = [&](sim::node&) -> task<int> {
             const tcp_listener here = tcp_listener::listen(address::any_v4(80));
             const tcp_stream called = co_await here.accept();
             seen = called.peer().host() + " " + called.local().host();
             co_return 0;
           }});
  std::string refused;
  all.add({.name = "user", .addresses = {"192.0.2.10"}, .program = [&](sim::node&) -> task<int> {
             try {
               static_cast<void>(tcp_listener::listen(*address::parse("192.0.2.9:80")));
             } catch (const failure& f) {
               refused = f.code().message();
             }
             static_cast<void>(co_await tcp_connect(*address::parse("192.0.2.9:80")));
             co_return 0;
           }});
  const sim::outcome end = all.run(1min);
  EXPECT_TRUE(end) << end.why;
  EXPECT_EQ(seen, "192.0.2.10 192.0.2.9");
  EXPECT_EQ(refused, std::make_error_code(std::errc::address_not_available).message());
}

HEDDLE_TEST(cluster_network, "where no computer has the address, connect says so after 3 s") {
  sim::cluster all;
  sim::node& user =
      all.add({.name = "user", .program = [](sim::node& n) -> task<int> {
                 const time_point before = n.driver().now();
                 const auto got =
                     co_await as_expected(tcp_connect(*address::parse("192.0.2.99:80")));
                 EXPECT_EQ(got ? std::error_code() : got.error(), std::errc::host_unreachable);
                 co_return n.driver().now() - before >= 3s ? 0 : 1;
               }});
  EXPECT_TRUE(all.run(1min));
  EXPECT_EQ(user.result(), 0);
}

HEDDLE_TEST(cluster_network, "a node without an address of a family cannot send to that family") {
  sim::cluster all;
  all.add({.name = "web", .addresses = {"2001:db8::9"}, .program = echo_service, .service = true});
  all.add({.name = "user", .program = [](sim::node&) -> task<int> {
             const auto got = co_await as_expected(tcp_connect(*address::parse("[2001:db8::9]:7")));
             EXPECT_EQ(got ? std::error_code() : got.error(), std::errc::network_unreachable);
             const udp_socket s = udp_socket::bind(address::any(0));
             const auto sent =
                 co_await as_expected(s.send_to(*address::parse("[2001:db8::9]:7"), "hello"));
             EXPECT_EQ(sent ? std::error_code() : sent.error(), std::errc::network_unreachable);
             co_return 0;
           }});
  const sim::outcome end = all.run(1min);
  EXPECT_TRUE(end) << end.why;
}

HEDDLE_TEST(cluster_network, "a partition of one direction lets the other one pass") {
  // Answers are held from the first byte on: the request arrives, and is echoed at once.
  pair_of_nodes two([](sim::node& n) -> task<int> {
    const nanoseconds took = co_await echo_after_2s(n);
    co_return took >= 8s ? 0 : 1;
  });
  two.all.at(1s, [&] { two.all.partition(two.web, two.user); });
  two.all.at(10s, [&] { two.all.heal(); });
  const sim::outcome end = two.all.run(1min);
  EXPECT_TRUE(end) << end.why << two.all.trace_text();
  EXPECT_EQ(two.user.result(), 0);
  // The request reached the web server during the partition.
  const std::string log = two.all.trace_text(&two.web);
  EXPECT_NE(log.find("1000000002."), std::string::npos) << log;
}

HEDDLE_TEST(cluster_network, "what waited for a heal comes within the time that the cut lasted") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    nanoseconds took{};
    pair_of_nodes two(
        [&](sim::node& n) -> task<int> {
          const tcp_stream conn = co_await tcp_connect("web", echo_port);
          co_await sleep_for(2s);
          const time_point before = n.driver().now();
          std::string sent, back(1000, '\0');
          for (int i = 0; i < 100; ++i) {
            const std::string part(10, static_cast<char>('a' + i % 26));
            sent += part;
            co_await conn.write(std::string_view(part));
            co_await sleep_for(50ms);
          }
          const std::size_t count = co_await conn.read(back);
          EXPECT_EQ(count, sent.size());
          EXPECT_EQ(back, sent);
          took = n.driver().now() - before;
          co_return 0;
        },
        {.seed = seed, .link = {.latency = 1ms, .jitter = 20ms}});
    two.all.at(3s, [&] { two.all.partition(two.user, two.web); });
    two.all.at(6s, [&] { two.all.heal(two.user, two.web); });
    const sim::outcome end = two.all.run(1min);
    EXPECT_TRUE(end) << end.why;
    EXPECT_GE(took, 4s);
    EXPECT_LT(took, 8s);
  }
}

HEDDLE_TEST(cluster_network, "a request to connect is sent again, and given up in the end") {
  pair_of_nodes two(echo_at_1s);
  two.all.partition(two.user, two.web);
  two.all.at(3500ms, [&] { two.all.heal(); });
  EXPECT_TRUE(two.all.run(1min));
  EXPECT_GE(two.user.result(), 3000) << "after 1 s and 2 s more";
  EXPECT_LT(two.user.result(), 3010);

  pair_of_nodes never([](sim::node& n) -> task<int> {
    const time_point before = n.driver().now();
    const auto got = co_await as_expected(tcp_connect("web", echo_port));
    EXPECT_EQ(got ? std::error_code() : got.error(), std::errc::timed_out);
    const auto took = std::chrono::duration_cast<std::chrono::seconds>(n.driver().now() - before);
    co_return static_cast<int>(took.count());
  });
  never.all.partition(never.web, never.user);  // the answers are lost
  EXPECT_TRUE(never.all.run(5min));
  EXPECT_EQ(never.user.result(), 31) << "1 + 2 + 4 + 8 + 16 s";
}

HEDDLE_TEST(cluster_network, "a stream that waits too long fails with ETIMEDOUT") {
  pair_of_nodes two([](sim::node& n) -> task<int> {
    const tcp_stream conn = co_await tcp_connect("web", echo_port);
    co_await sleep_for(2s);
    const time_point before = n.driver().now();
    co_await conn.write("hello");
    char back[5];
    const auto got = co_await as_expected(conn.read(back));
    EXPECT_EQ(got ? std::error_code() : got.error(), std::errc::timed_out);
    const auto took = std::chrono::duration_cast<std::chrono::seconds>(n.driver().now() - before);
    co_return static_cast<int>(took.count());
  });
  two.all.at(1s, [&] { two.all.partition(two.user, two.web); });
  const sim::outcome end = two.all.run(30min);
  EXPECT_TRUE(end) << end.why;
  EXPECT_EQ(two.user.result(), 924);
}

HEDDLE_TEST(cluster_network, "a cut direction loses datagrams and their errors") {
  sim::cluster all;
  std::string got;
  sim::node& to = all.add({.name = "to", .program = [&got](sim::node&) -> task<int> {
                             const udp_socket s = udp_socket::bind(address::any_v4(53));
                             char buffer[16];
                             while (got.find('3') == std::string::npos) {
                               const datagram d = co_await s.receive_from(buffer);
                               got.append(buffer, d.size);
                             }
                             co_return 0;
                           }});
  sim::node& from = all.add({.name = "from", .program = [&to](sim::node&) -> task<int> {
                               const udp_socket s = udp_socket::bind(address::any_v4(0));
                               for (const char* text : {"1", "2", "3"}) {
                                 co_await s.send_to(*address::parse(to.address() + ":53"), text);
                                 co_await sleep_for(1s);
                               }
                               co_return 0;
                             }});
  all.at(500ms, [&] { all.partition(from, to); });
  all.at(1500ms, [&] { all.heal(); });
  const sim::outcome end = all.run(1min);
  EXPECT_TRUE(end) << end.why;
  EXPECT_EQ(got, "13");
}

HEDDLE_TEST(cluster_network, "a reset that is lost is sent again when the other side speaks") {
  pair_of_nodes two([](sim::node&) -> task<int> {
    const tcp_stream conn = co_await tcp_connect("web", echo_port);
    co_await sleep_for(5s);
    const auto idle = co_await as_expected(with_timeout(conn.readable(), 5s));
    EXPECT_EQ(idle ? std::error_code() : idle.error(), std::errc::timed_out)
        << "it has heard nothing of the death";
    co_await conn.write("hello");
    const auto got = co_await as_expected(conn.readable());
    EXPECT_EQ(got ? std::error_code() : got.error(), std::errc::connection_reset);
    co_return 0;
  });
  two.all.at(1s, [&] { two.all.partition(two.web, two.user); });
  two.all.at(2s, [&] { two.all.kill(two.web); });
  two.all.at(3s, [&] {
    two.all.restart(two.web);
    two.all.heal();
  });
  const sim::outcome end = two.all.run(1min);
  EXPECT_TRUE(end) << end.why << two.all.trace_text();
  EXPECT_EQ(two.user.result(), 0);
}

HEDDLE_TEST(cluster_network, "a dead node refuses, and a partition around it makes it silent") {
  for (const bool silent : {false, true}) {
    pair_of_nodes two([silent](sim::node&) -> task<int> {
      co_await sleep_for(2s);
      const auto got = co_await as_expected(tcp_connect("web", echo_port));
      EXPECT_EQ(got ? std::error_code() : got.error(),
                silent ? std::errc::timed_out : std::errc::connection_refused);
      co_return 0;
    });
    two.all.at(1s, [&] {
      two.all.kill(two.web);
      if (silent) two.all.partition(two.web, two.user);
    });
    const sim::outcome end = two.all.run(1min);
    EXPECT_TRUE(end) << end.why;
  }
}

HEDDLE_TEST(cluster_network, "the link of two nodes holds for both directions and open streams") {
  pair_of_nodes two([](sim::node& n) -> task<int> {
    const nanoseconds took = co_await echo_after_2s(n);
    EXPECT_GE(took, 200ms);
    EXPECT_LT(took, 210ms);
    co_return 0;
  });
  two.all.at(1s, [&] { two.all.set_link(two.web, two.user, {.latency = 100ms}); });
  const sim::outcome end = two.all.run(1min);
  EXPECT_TRUE(end) << end.why;
}

HEDDLE_TEST(cluster_network, "Unix sockets and files are each node's own") {
  sim::cluster all;
  const auto program = [](sim::node& n) -> task<int> {
    const unix_listener here = unix_listener::listen("/run/own.sock");
    const unix_stream caller = co_await unix_connect("/run/own.sock");
    const unix_stream called = co_await here.accept();
    co_await caller.write(std::string_view(n.name()));
    std::string back(n.name().size(), '\0');
    static_cast<void>(co_await called.read(back));
    co_return back == n.name() ? 0 : 1;
  };
  sim::node& first = all.add({.name = "first", .program = program});
  sim::node& second = all.add({.name = "other", .program = program});
  const sim::outcome end = all.run(1min);
  EXPECT_TRUE(end) << end.why;
  EXPECT_EQ(first.result(), 0);
  EXPECT_EQ(second.result(), 0);
}

}  // namespace
}  // namespace heddle::test
