// SPDX-License-Identifier: MIT
// The name server: answers over UDP and TCP to our own resolver on each driver and in a cluster,
// its faults, and its messages byte by byte.
#include "heddle/fakes/dns.hh"

#include "fakes/dns_message.hh"
#include "harness.hh"
#include "heddle/names/resolver.hh"
#include "heddle/sim/cluster.hh"

namespace heddle::test {
namespace {

using fakes::dns_code;
using fakes::dns_server;

address ip(std::string_view text) { return *address::parse(text); }

names::resolver_options asking_fake(const address& server) {
  names::resolver_options o;
  o.servers = {server};
  o.files.hosts = "";
  o.timeout = 1s;
  o.tries = 2;
  return o;
}

std::string found_text(const names::outcome& got) {
  if (!got) return got.error().text;
  std::string text;
  for (const address& a : got->addresses) text += (text.empty() ? "" : " ") + a.host();
  return text;
}

/// Runs body(server, address) with a server that this machine can ask.
template <class Body>
task<> with_dns(Body body) {
  dns_server server;
  const dns_doors doors = open_dns_doors();
  const address at = doors.udp.local();
  const auto inner = [&]() { return body(server, at); };
  co_await beside(server.serve(doors.udp, doors.tcp), inner);
}

DRIVER_TEST(fakes_dns, "addresses of both versions and aliases are found; other names are not") {
  if (!names::asks_servers()) GTEST_SKIP() << "without c-ares";
  runtime rt(make());
  rt.run(with_dns([](dns_server& server, address at) -> task<> {
    server.add_address("shop.test", ip("192.0.2.1"));
    server.add_address("SHOP.test.", ip("2001:db8::1"));
    server.add_alias("www.shop.test", "Shop.Test");
    server.add_alias("old.test", "gone.test");
    names::resolver names(asking_fake(at));
    EXPECT_EQ(found_text(co_await names.try_lookup("shop.test")), "2001:db8::1 192.0.2.1");
    const names::found www = co_await names.lookup("www.shop.test");
    EXPECT_EQ(www.name, "shop.test");
    EXPECT_EQ(www.addresses.size(), 2U);
    const names::outcome none = co_await names.try_lookup("nothing.test");
    EXPECT_FALSE(none);
    EXPECT_EQ(none.error().code, names::errc::no_such_name);
    const names::outcome old = co_await names.try_lookup("old.test");
    EXPECT_EQ(old.error().code, names::errc::no_such_name);
    const names::outcome four =
        co_await names.try_lookup("shop.test", {.family = address_family::v4});
    EXPECT_EQ(found_text(four), "192.0.2.1");
    server.remove("shop.test");
    names.forget();
    const names::outcome gone = co_await names.try_lookup("shop.test");
    EXPECT_EQ(gone.error().code, names::errc::no_such_name);
    EXPECT_EQ(server.asked("SHOP.TEST"), 4U);
    EXPECT_EQ(server.asked(), server.questions().size());
    EXPECT_EQ(server.dropped(), 0U);
  }));
}

DRIVER_TEST(fakes_dns,
            "a failure and a wrong id do not stop the next try, a long answer takes TCP") {
  if (!names::asks_servers()) GTEST_SKIP() << "without c-ares";
  runtime rt(make());
  rt.run(with_dns([](dns_server& server, address at) -> task<> {
    names::resolver names(asking_fake(at));
    const names::lookup_options four{.family = address_family::v4};
    server.add_address("a.test", ip("192.0.2.7"));
    server.set_faults("a.test", {.code = dns_code::server_failure, .times = 1});
    EXPECT_EQ(found_text(co_await names.try_lookup("a.test", four)), "192.0.2.7");
    EXPECT_EQ(server.asked(), 2U);
    names.forget();
    server.set_faults("", {.wrong_ids = 3});
    EXPECT_EQ(found_text(co_await names.try_lookup("a.test", four)), "192.0.2.7");
    EXPECT_EQ(names.counters().mismatches, 3U);
    names.forget();
    server.set_faults("", {.truncated = true});
    EXPECT_EQ(found_text(co_await names.try_lookup("a.test", four)), "192.0.2.7");
    EXPECT_TRUE(server.questions().back().over_tcp);
    server.clear_faults();
    for (int i = 1; i <= 120; ++i)
      server.add_address("many.test", ip("10.0.0." + std::to_string(i)));
    const names::outcome many = co_await names.try_lookup("many.test", four);
    EXPECT_EQ(many->addresses.size(), 64U);  // resolver_options::addresses_max
    EXPECT_TRUE(server.questions().back().over_tcp);
    EXPECT_EQ(server.questions().back().name, "many.test");
    EXPECT_EQ(server.questions().back().type, fakes::dns_type_a);
    EXPECT_FALSE(server.questions()[server.questions().size() - 2].over_tcp);
  }));
}

HEDDLE_TEST(fakes_dns, "late answers and silence cost the client the time that the faults say") {
  if (!names::asks_servers()) GTEST_SKIP() << "without c-ares";
  runtime rt(std::make_unique<sim_driver>());
  rt.run(with_dns([](dns_server& server, address at) -> task<> {
    names::resolver names(asking_fake(at));
    const names::lookup_options four{.family = address_family::v4};
    server.add_address("a.test", ip("192.0.2.7"));
    server.set_faults("a.test", {.delay = 300ms});
    const time_point begun = clock::now();
    EXPECT_EQ(found_text(co_await names.try_lookup("a.test", four)), "192.0.2.7");
    EXPECT_GE(clock::now() - begun, 300ms);
    EXPECT_LT(clock::now() - begun, 900ms);
    names.forget();
    server.set_faults("a.test", {.silent = true, .times = 1});
    const time_point again = clock::now();
    EXPECT_EQ(found_text(co_await names.try_lookup("a.test", four)), "192.0.2.7");
    EXPECT_GE(clock::now() - again, 1s);
  }));
}

HEDDLE_TEST(fakes_dns, "a node of a cluster serves names to another one") {
  if (!names::asks_servers()) GTEST_SKIP() << "without c-ares";
  std::string found;
  std::size_t asked = 0;
  sim::cluster all({.world = {.seed = 3, .link = {.latency = 5ms}}});
  sim::node& dns = all.add({.name = "dns",
                            .program = [&](sim::node&) -> task<int> {
                              dns_server server;
                              server.add_address("shop.test", ip("10.0.0.9"));
                              const udp_socket udp = udp_socket::bind(address::any_v4(53));
                              const tcp_listener tcp = tcp_listener::listen(address::any_v4(53));
                              co_await server.serve(udp, tcp);
                              co_return 0;
                            },
                            .service = true});
  all.add({.name = "user", .program = [&](sim::node&) -> task<int> {
             names::resolver names(asking_fake(ip(dns.address()).with_port(53)));
             for (; asked != 20 && found != "10.0.0.9"; ++asked) {
               found = found_text(
                   co_await names.try_lookup("shop.test", {.family = address_family::v4}));
               co_await sleep_for(1s);
             }
             co_return 0;
           }});
  all.kill(dns);
  all.at(5s, [&] { all.restart(dns); });
  const sim::outcome end = all.run(2min);
  EXPECT_TRUE(end) << end.why << all.trace_text();
  EXPECT_EQ(found, "10.0.0.9");
  EXPECT_GT(asked, 1U);
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    constexpr char digits[] = "0123456789abcdef";
    out += digits[static_cast<unsigned char>(c) >> 4];
    out += digits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

HEDDLE_TEST(fakes_dns, "messages are those of RFC 1035, and malformed ones are refused") {
  using namespace std::string_literals;
  using kind = fakes::detail::dns_asked::kind;
  const std::string question =
      "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01"s + "a\x04test\x00\x00\x01\x00\x01"s;
  const auto asked = fakes::detail::read_dns_question(question);
  EXPECT_EQ(asked.is, kind::question);
  EXPECT_EQ(asked.name, "a.test");
  const std::string answer = write_dns_answer(asked,
                                              {.answers = {{"\x01"
                                                            "a\x04test\0"s,
                                                            1, 60, "\x0a\x00\x00\x01"s}}},
                                              512, 1232);
  EXPECT_EQ(hex(answer),
            "123485800001000100000000"
            "016104746573740000010001"
            "0161047465737400000100010000003c00040a000001");
  for (std::size_t length = 0; length != question.size(); ++length)
    EXPECT_NE(fakes::detail::read_dns_question(question.substr(0, length)).is, kind::question);
  EXPECT_EQ(fakes::detail::read_dns_question(question + "x").is, kind::malformed);
  std::string other = question;
  other[2] = '\x81';  // an answer
  EXPECT_EQ(fakes::detail::read_dns_question(other).is, kind::ignored);
  other[2] = '\x29';  // an update
  EXPECT_EQ(fakes::detail::read_dns_question(other).is, kind::not_implemented);
  other = question;
  other[12] = '\xc0';  // a pointer to itself
  other[13] = '\x0c';
  EXPECT_EQ(fakes::detail::read_dns_question(other).is, kind::malformed);
  EXPECT_TRUE(fakes::detail::dns_wire_name("a..b").empty());
  EXPECT_TRUE(fakes::detail::dns_wire_name(std::string(64, 'x')).empty());
  EXPECT_EQ(fakes::detail::dns_wire_name("a\\.b\\001."),
            "\x04"
            "a.b\x01\0"s);
  EXPECT_EQ(fakes::detail::dns_wire_name("."), "\0"s);
}

/// Asks over UDP for a name in wire form; gives the answer.
task<std::string> ask_for(address at, std::string wire, std::uint16_t type) {
  using namespace std::string_literals;
  std::string message = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"s + wire;
  message += '\0';
  message += static_cast<char>(type);
  message += "\0\1"s;
  const udp_socket own = udp_socket::bind(address::loopback(0));
  co_await own.send_to(at, std::string_view(message));
  std::string room(2000, '\0');
  const datagram got = co_await own.receive_from(room);
  co_return room.substr(0, got.size);
}
int answers_in(const std::string& message) { return static_cast<unsigned char>(message[7]); }

HEDDLE_TEST(fakes_dns, "a name is the same however its bytes are written") {
  runtime rt(std::make_unique<sim_driver>());
  rt.run(with_dns([](dns_server& server, address at) -> task<> {
    using namespace std::string_literals;
    const std::string wire =
        "\x03"
        "A b\x04"
        "test\0"s;
    server.add_address("a b.test", ip("192.0.2.1"));
    server.add_address("a\\032b.TEST.", ip("192.0.2.2"));
    server.add_alias("www.test", "\\065 b.test");
    EXPECT_EQ(answers_in(co_await ask_for(at, wire, fakes::dns_type_a)), 2);
    EXPECT_EQ(answers_in(co_await ask_for(at, "\x03www\x04test\0"s, fakes::dns_type_a)), 3);
    EXPECT_EQ(server.asked("a b.test"), 1U);
    EXPECT_EQ(server.asked("a\\032b.test"), 1U);
    EXPECT_EQ(server.asked("a..b"), 0U);
    server.set_faults("a b.test", {.code = dns_code::refused, .times = 1});
    EXPECT_EQ((co_await ask_for(at, wire, fakes::dns_type_a))[3] & 15, 5);
    server.remove("a\\ b.test");
    EXPECT_EQ(answers_in(co_await ask_for(at, wire, fakes::dns_type_a)), 0);
    server.add_address(".", ip("192.0.2.3"));
    EXPECT_EQ(answers_in(co_await ask_for(at, "\0"s, fakes::dns_type_a)), 1);
  }));
}

HEDDLE_TEST(fakes_dns, "16 aliases lead to an address, and 17 do not") {
  runtime rt(std::make_unique<sim_driver>());
  rt.run(with_dns([](dns_server& server, address at) -> task<> {
    using namespace std::string_literals;
    for (char c = 'a'; c != 'a' + 17; ++c)
      server.add_alias(std::string(1, c), std::string(1, static_cast<char>(c + 1)));
    server.add_address("r", ip("192.0.2.1"));  // the end of the aliases of "a"
    EXPECT_EQ(answers_in(co_await ask_for(at, "\1b\0"s, fakes::dns_type_a)), 17);
    EXPECT_EQ(answers_in(co_await ask_for(at, "\1a\0"s, fakes::dns_type_a)), 16);
    server.remove("r");
    server.add_alias("r", "a");  // a loop
    EXPECT_EQ(answers_in(co_await ask_for(at, "\1a\0"s, fakes::dns_type_a)), 16);
  }));
}

HEDDLE_TEST(fakes_dns, "faults with a code beyond four bits or a negative delay are refused") {
  dns_server server;
  EXPECT_THROW(server.set_faults("", {.code = dns_code(99)}), failure);
  EXPECT_THROW(server.set_faults("a", {.delay = -1ns}), failure);
  EXPECT_NO_THROW(server.set_faults("a", {.code = dns_code(15)}));
}

DRIVER_TEST(fakes_dns,
            "a question that is none gets its code, and names that are none are refused") {
  runtime rt(make());
  rt.run(with_dns([](dns_server& server, address at) -> task<> {
    using namespace std::string_literals;
    const udp_socket own = udp_socket::bind(address::loopback(0));
    const std::string bad = "\x12\x34\x01\x00\x00\x02\x00\x00\x00\x00\x00\x00"s;
    co_await own.send_to(at, std::string_view(bad));
    std::string room(600, '\0');
    const datagram got = co_await own.receive_from(room);
    EXPECT_EQ(hex(room.substr(0, got.size)), "123485810000000000000000");
    EXPECT_EQ(server.dropped(), 1U);
    EXPECT_EQ(server.asked(), 0U);
    EXPECT_THROW(server.add_address("a..b", ip("192.0.2.1")), failure);
    EXPECT_THROW(server.set_faults("a..b", {}), failure);
    dns_server small({.records_max = 1});
    small.add_address("a", ip("192.0.2.1"));
    EXPECT_THROW(small.add_address("b", ip("192.0.2.1")), failure);
    small.remove("a");
    small.add_address("b", ip("192.0.2.1"));
  }));
}

}  // namespace
}  // namespace heddle::test
