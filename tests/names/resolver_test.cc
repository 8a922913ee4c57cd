// SPDX-License-Identifier: MIT
// Look-ups at a name server of the test's, on every driver: answers, failures, search lists.
#include "heddle/names/resolver.hh"

#include "names/name_server.hh"
#include "support/wait_until.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;
using names::errc;

NAMES_TEST("a look-up gives all addresses of both versions in the order of the answers") {
  if (!names::asks_servers()) GTEST_SKIP() << "without c-ares";
  runtime rt(make());
  rt.run(with_name_server(usual, [](name_server& server) -> task<> {
    names::resolver resolver(asking({server.at()}));
    const names::found got = co_await resolver.lookup("Www.Example.test", {.port = 80});
    EXPECT_EQ(text_of(got), "[2001:db8::9]:80 [2001:db8::3]:80 192.0.2.9:80 192.0.2.3:80");
    EXPECT_EQ(got.name, "www.example.test");
    EXPECT_LE(got.ttl, 60s);
    EXPECT_GE(got.ttl, 50s);
    EXPECT_FALSE(got.cached);
    const names::found again = co_await resolver.lookup("www.example.TEST", {.port = 80});
    EXPECT_TRUE(again.cached);
    EXPECT_EQ(server.count(), 2u);
    const names::found four =
        co_await resolver.lookup("www.example.test", {.family = address_family::v4});
    EXPECT_EQ(text_of(four), "192.0.2.9:0 192.0.2.3:0");
    EXPECT_EQ(server.count(), 2u);
    resolver.forget();
    const names::found six =
        co_await resolver.lookup("www.example.test", {.family = address_family::v6});
    EXPECT_EQ(text_of(six), "[2001:db8::9]:0 [2001:db8::3]:0");
    EXPECT_EQ(server.count(), 3u);
  }));
}

NAMES_TEST("numbers need no server, and bad names are told apart") {
  runtime rt(make());
  rt.run([]() -> task<> {
    names::resolver resolver(asking({address::loopback(9)}));
    EXPECT_EQ(text_of(co_await resolver.try_lookup("192.0.2.1", {.port = 7})), "192.0.2.1:7");
    EXPECT_EQ(text_of(co_await resolver.try_lookup("2001:db8::1")), "[2001:db8::1]:0");
    const std::pair<std::string, const char*> bad[] = {
        {"", "it is empty"},
        {"a..b", "an empty label"},
        {".a", "an empty label"},
        {"a b", "no space or control"},
        {"a/b", "but no '/'"},
        {"1.2.3.4:80", "but no ':'"},
        {"b\xc3\xbc"
         "cher.test",
         "Punycode"},
        {std::string("a\0b", 3), "control"},
        {std::string(64, 'x') + ".test", "more than 63"},
        {std::string(254, 'x'), "at most 253"},
    };
    for (const auto& [host, why] : bad) {
      const names::outcome got = co_await resolver.try_lookup(host);
      EXPECT_FALSE(got);
      if (got) continue;
      EXPECT_EQ(got.error().code, errc::bad_name) << host;
      EXPECT_EQ(got.error().code, std::errc::invalid_argument);
      EXPECT_NE(got.error().text.find(why), std::string::npos) << got.error().text;
    }
    const names::outcome other =
        co_await resolver.try_lookup("192.0.2.1", {.family = address_family::v6});
    EXPECT_EQ(other.error().code, errc::no_address);
  }());
}

NAMES_TEST("aliases are followed, and records of other names are not used") {
  if (!names::asks_servers()) GTEST_SKIP() << "without c-ares";
  runtime rt(make());
  const auto handle = [](const asked_name& q) {
    made_answer a(q);
    if (q.type != type_a) return now(a.soa(60, 60));
    if (q.name == "loop.test")
      return now(a.cname("loop.test", 9, "two.test").cname("two.test", 9, "loop.test"));
    return now(a.a("evil.test", 60, "192.0.2.66")
                   .cname("three.test", 7, "four.test")
                   .cname("one.test", 50, "Three.test")
                   .a("four.test", 60, "192.0.2.4"));
  };
  rt.run(with_name_server(handle, [](name_server& server) -> task<> {
    names::resolver resolver(asking({server.at()}));
    const names::found got = co_await resolver.lookup("one.test");
    EXPECT_EQ(text_of(got), "192.0.2.4:0");
    EXPECT_EQ(got.name, "four.test");
    EXPECT_LE(got.ttl, 7s);  // the shortest of the chain
    const names::outcome loop = co_await resolver.try_lookup("loop.test");
    EXPECT_FALSE(loop);
    EXPECT_EQ(loop.error().code, errc::bad_answer);
  }));
}

NAMES_TEST("a truncated answer is asked for again over TCP") {
  if (!names::asks_servers()) GTEST_SKIP() << "without c-ares";
  runtime rt(make());
  const auto handle = [](const asked_name& q) {
    made_answer a(q);
    if (q.type != type_a) return now(a.soa(60, 60));
    if (!q.tcp) return now(a.truncated());
    for (int i = 1; i <= 60; ++i) a.a(q.name, 60, ("10.0.0." + std::to_string(i)).c_str());
    return now(a);
  };
  rt.run(with_name_server(handle, [](name_server& server) -> task<> {
    names::resolver resolver(asking({server.at()}));
    const names::found got = co_await resolver.lookup("large.test");
    EXPECT_EQ(got.addresses.size(), 60u);
    EXPECT_EQ(got.addresses.back().to_string(), "10.0.0.60:0");
    EXPECT_EQ(resolver.counters().over_tcp, 1u);
    names::resolver_options few = asking({server.at()});
    few.addresses_max = 3;
    few.tcp_only = true;
    names::resolver small(few);
    EXPECT_EQ(text_of(co_await small.try_lookup("large.test")), "10.0.0.1:0 10.0.0.2:0 10.0.0.3:0");
    EXPECT_TRUE(server.questions.back().tcp);
  }));
}

NAMES_TEST("an answer to another question is dropped, and the right one is waited for") {
  if (!names::asks_servers()) GTEST_SKIP() << "without c-ares";
  runtime rt(make());
  const auto handle = [](const asked_name& q) {
    made_answer good(q), wrong_id(q), wrong_name(q), wrong_type(q), no_answer(q);
    if (q.type != type_a) return now(good.soa(60, 60));
    good.a(q.name, 60, "192.0.2.1");
    wrong_id.a(q.name, 60, "192.0.2.66");
    wrong_id.id[0] = static_cast<char>(wrong_id.id[0] ^ 1);
    wrong_name.question("b.test", type_a).a("b.test", 60, "192.0.2.66");
    wrong_type.question(q.name, type_aaaa).a(q.name, 60, "192.0.2.66");
    no_answer.a(q.name, 60, "192.0.2.66").flags(0x0100);
    return sent_list{{wrong_id.bytes()},
                     {wrong_name.bytes()},
                     {wrong_type.bytes()},
                     {no_answer.bytes()},
                     {"short"},
                     {""},
                     {good.bytes(), 20ms}};
  };
  rt.run(with_name_server(handle, [](name_server& server) -> task<> {
    names::resolver resolver(asking({server.at()}));
    EXPECT_EQ(text_of(co_await resolver.try_lookup("a.test")), "192.0.2.1:0");
    EXPECT_EQ(resolver.counters().mismatches, 6u);
    EXPECT_EQ(server.count(), 2u);
  }));
}

NAMES_TEST("too many wrong answers make the question go over TCP") {
  if (!names::asks_servers()) GTEST_SKIP() << "without c-ares";
  runtime rt(make());
  const auto handle = [](const asked_name& q) {
    made_answer good(q), wrong(q);
    if (q.type != type_a) return now(good.soa(60, 60));
    good.a(q.name, 60, "192.0.2.1");
    wrong.a(q.name, 60, "192.0.2.66");
    wrong.id[0] = static_cast<char>(wrong.id[0] ^ 1);
    if (q.tcp) return now(good);
    return sent_list(5, {wrong.bytes()});
  };
  rt.run(with_name_server(handle, [](name_server& server) -> task<> {
    names::resolver_options o = asking({server.at()});
    o.mismatches_max = 4;
    names::resolver resolver(o);
    EXPECT_EQ(text_of(co_await resolver.try_lookup("a.test")), "192.0.2.1:0");
    EXPECT_EQ(resolver.counters().over_tcp, 1u);
  }));
}

NAMES_TEST("no such name and no address are told apart, named and remembered") {
  if (!names::asks_servers()) GTEST_SKIP() << "without c-ares";
  runtime rt(make());
  const auto handle = [](const asked_name& q) {
    made_answer a(q);
    if (q.name == "none.test") return now(a.code(3).soa(60, 30));
    if (q.name == "vague.test") return now(a.code(3));
    return now(a.soa(60, 30));
  };
  rt.run(with_name_server(handle, [](name_server& server) -> task<> {
    names::resolver resolver(asking({server.at()}));
    for (int i = 0; i < 2; ++i) {
      const names::outcome none = co_await resolver.try_lookup("none.test");
      EXPECT_EQ(none.error().code, errc::no_such_name);
      EXPECT_EQ(none.error().code, std::errc::address_not_available);
      EXPECT_EQ(none.error().text,
                "cannot find none.test: there is no such name (" + server.at().to_string() + ")");
      const names::outcome empty = co_await resolver.try_lookup("empty.test");
      EXPECT_EQ(empty.error().code, errc::no_address);
      const names::outcome vague = co_await resolver.try_lookup("vague.test");
      EXPECT_EQ(vague.error().code, errc::no_such_name);
    }
    EXPECT_EQ(server.count("none.test"), 2u);
    EXPECT_EQ(server.count("empty.test"), 2u);
    EXPECT_EQ(server.count("vague.test"), 4u);  // without an SOA record it is not kept
    try {
      co_await resolver.lookup("none.test");
      ADD_FAILURE();
    } catch (const failure& e) {
      EXPECT_EQ(e.code(), errc::no_such_name);
      EXPECT_NE(std::string(e.what()).find("cannot find none.test"), std::string::npos);
    }
  }));
}

NAMES_TEST("after a failure the next server is asked") {
  if (!names::asks_servers()) GTEST_SKIP() << "without c-ares";
  runtime rt(make());
  const auto handle = [](const asked_name& q) {
    if (q.name == "refused.test") return now(made_answer(q).code(5));
    if (q.name == "lame.test")
      return now(made_answer(q).flags(0x8100).record("other.test", 2, 9, name_bytes("ns.test")));
    return now(made_answer(q).code(2));
  };
  rt.run(with_name_server(handle, [](name_server& first) -> task<> {
    name_server second(usual);
    scope s;
    s.spawn(second.serve());
    names::resolver both(asking({first.at(), second.at()}));
    const names::found got = co_await both.lookup("a.test", {.family = address_family::v4});
    EXPECT_EQ(text_of(got), "192.0.2.9:0 192.0.2.3:0");
    EXPECT_EQ(first.count(), 1u);
    names::resolver_options o = asking({first.at()});
    names::resolver one(o);
    const names::outcome bad = co_await one.try_lookup("b.test");
    EXPECT_EQ(bad.error().code, errc::server_failed);
    EXPECT_EQ(bad.error().code, std::errc::resource_unavailable_try_again);
    EXPECT_EQ(bad.error().text, "cannot find b.test: " + first.at().to_string() + ": SERVFAIL");
    EXPECT_EQ(first.count("b.test"), 4u);  // two versions, two tries
    const names::outcome refused = co_await one.try_lookup("refused.test");
    EXPECT_NE(refused.error().text.find("REFUSED"), std::string::npos) << refused.error().text;
    s.cancel();
    co_await s.join();
  }));
}

NAMES_TEST("a server that is not there is noticed at once, and then asked last") {
  if (!names::asks_servers()) GTEST_SKIP() << "without c-ares";
  runtime rt(make());
  rt.run(with_name_server(usual, [](name_server& server) -> task<> {
    address gone;
    {
      const udp_socket unused = udp_socket::bind(address::loopback(0));
      gone = unused.local();
    }
    names::resolver_options patient = asking({gone, server.at()});
    patient.timeout = 60s;
    names::resolver resolver(patient);
    const time_point began = clock::now();
    const names::found got = co_await resolver.lookup("a.test", {.family = address_family::v4});
    EXPECT_EQ(got.addresses.size(), 2u);
    EXPECT_LT(clock::now() - began, 30s);  // and not after the timeout
    EXPECT_EQ(resolver.counters().tries, 2u);
    const names::found next = co_await resolver.lookup("b.test", {.family = address_family::v4});
    EXPECT_EQ(next.addresses.size(), 2u);
    EXPECT_EQ(resolver.counters().tries, 3u);
    names::resolver alone(asking({gone}));
    const names::outcome none = co_await alone.try_lookup("a.test");
    EXPECT_EQ(none.error().code, errc::no_answer);
    EXPECT_NE(none.error().text.find(gone.to_string() + ": "), std::string::npos);
  }));
}

NAMES_TEST("a short name is searched by the rules of resolv.conf") {
  if (!names::asks_servers()) GTEST_SKIP() << "without c-ares";
  runtime rt(make());
  const auto handle = [](const asked_name& q) {
    if (q.name == "web.b.test" || q.name == "x.y.a.test") return usual(q);
    if (q.name == "broken.a.test") return now(made_answer(q).code(2));
    return now(made_answer(q).code(3).soa(60, 60));
  };
  rt.run(with_name_server(handle, [](name_server& server) -> task<> {
    names::resolver_options o = asking({server.at()});
    o.search = {"a.test", "b.test."};
    names::resolver resolver(o);
    const auto four = address_family::v4;
    const auto asked = [&] {
      std::string all;
      for (const asked_name& q : std::exchange(server.questions, {})) all += q.name + " ";
      return all;
    };
    EXPECT_EQ((co_await resolver.lookup("web", {.family = four})).name, "web.b.test");
    EXPECT_EQ(asked(), "web.a.test web.b.test ");
    EXPECT_EQ((co_await resolver.lookup("x.y", {.family = four})).name, "x.y.a.test");
    EXPECT_EQ(asked(), "x.y x.y.a.test ");
    EXPECT_FALSE(co_await resolver.try_lookup("zz.", {.family = four}));
    EXPECT_EQ(asked(), "zz ");
    EXPECT_FALSE(co_await resolver.try_lookup("none", {.family = four}));
    EXPECT_EQ(asked(), "none.a.test none.b.test none ");
    const names::outcome broken = co_await resolver.try_lookup("broken", {.family = four});
    EXPECT_EQ(broken.error().code, errc::server_failed);
    EXPECT_EQ(asked(), "broken.a.test broken.a.test ");  // two tries, and no other domain
    names::resolver unsearched(asking({server.at()}));
    const names::outcome number = co_await unsearched.try_lookup("127.1");
    EXPECT_EQ(number.error().code, errc::bad_name);
    EXPECT_NE(number.error().text.find("its last label is a number"), std::string::npos);
    EXPECT_EQ(asked(), "");
  }));
}

NAMES_TEST("a server without EDNS is asked without it from then on") {
  if (!names::asks_servers()) GTEST_SKIP() << "without c-ares";
  runtime rt(make());
  const auto handle = [](const asked_name& q) {
    if (!q.edns) return usual(q);
    // Only the head, as old servers send it.
    return sent_list{{q.bytes.substr(0, 2) + number_bytes(0x8181, 2) + std::string(8, '\0')}};
  };
  rt.run(with_name_server(handle, [](name_server& server) -> task<> {
    names::resolver resolver(asking({server.at()}));
    EXPECT_EQ((co_await resolver.lookup("a.test", {.family = address_family::v4})).ttl > 0s, true);
    EXPECT_EQ(server.count("a.test"), 2u);
    EXPECT_TRUE(server.questions.front().edns);
    co_await resolver.lookup("b.test", {.family = address_family::v4});
    EXPECT_EQ(server.count("b.test"), 1u);
  }));
}

NAMES_TEST("a thousand names at once are found over a few sockets") {
  if (!names::asks_servers()) GTEST_SKIP() << "without c-ares";
  runtime rt(make());
  rt.run(with_name_server(usual, [](name_server& server) -> task<> {
    names::resolver_options o = asking({server.at()});
    o.sockets_max = 50;
    names::resolver resolver(o);
    std::vector<task<names::found>> all;
    for (int i = 0; i < 1000; ++i)
      all.push_back(resolver.lookup("n" + std::to_string(i) + ".test"));
    const std::vector<names::found> got = co_await heddle::all(std::move(all));
    for (const names::found& each : got) EXPECT_EQ(each.addresses.size(), 4u);
    EXPECT_EQ(server.count(), 2000u);
    EXPECT_EQ(resolver.cached(), 1024u);  // cache.entries_max
  }));
}

NAMES_TEST("equal questions become one, and too many are refused") {
  if (!names::asks_servers()) GTEST_SKIP() << "without c-ares";
  runtime rt(make());
  const auto handle = [](const asked_name& q) { return sent_list{{usual(q).front().bytes, 20ms}}; };
  rt.run(with_name_server(handle, [](name_server& server) -> task<> {
    names::resolver_options o = asking({server.at()});
    o.questions_max = 4;
    names::resolver resolver(o);
    std::vector<task<names::outcome>> all;
    for (int i = 0; i < 100; ++i) all.push_back(resolver.try_lookup("same.test"));
    for (const char* name : {"two.test", "three.test"}) all.push_back(resolver.try_lookup(name));
    const auto got = co_await heddle::all(std::move(all));
    for (int i = 0; i < 101; ++i) EXPECT_TRUE(got[static_cast<std::size_t>(i)]);
    EXPECT_EQ(server.count("same.test"), 2u);
    EXPECT_EQ(resolver.counters().joined, 198u);
    EXPECT_EQ(got.back().error().code, errc::too_many);
  }));
}

NAMES_TEST("a look-up ends when it is cancelled or late; others that wait for its question go on") {
  if (!names::asks_servers()) GTEST_SKIP() << "without c-ares";
  runtime rt(make());
  const auto handle = [](const asked_name& q) {
    if (q.name == "never.test") return sent_list{};
    return sent_list{{usual(q).front().bytes, 30ms}};
  };
  rt.run(with_name_server(handle, [](name_server& server) -> task<> {
    names::resolver resolver(asking({server.at()}));
    const auto late = co_await as_expected(with_timeout(resolver.lookup("never.test"), 10ms));
    EXPECT_EQ(late.error(), std::errc::timed_out);
    auto both = heddle::all(as_expected(with_timeout(resolver.try_lookup("a.test"), 5ms)),
                            resolver.try_lookup("a.test"));
    const auto [first, second] = co_await std::move(both);
    EXPECT_EQ(first.error(), std::errc::timed_out);
    EXPECT_TRUE(second);
    EXPECT_EQ(server.count("a.test"), 2u);
    // A question that was given up is asked anew.
    const auto again = co_await as_expected(with_timeout(resolver.lookup("never.test"), 10ms));
    EXPECT_EQ(again.error(), std::errc::timed_out);
    EXPECT_TRUE(co_await wait_until([&] { return server.count("never.test") == 4; }))
        << server.count("never.test");
  }));
}

NAMES_TEST("look-ups end when their resolver does") {
  if (!names::asks_servers()) GTEST_SKIP() << "without c-ares";
  runtime rt(make());
  const auto silent = [](const asked_name&) { return sent_list{}; };
  rt.run(with_name_server(silent, [](name_server& server) -> task<> {
    auto resolver = std::make_unique<names::resolver>(asking({server.at()}));
    std::error_code code;
    scope s;
    s.spawn([&]() -> task<> {
      const auto got = co_await as_expected(resolver->lookup("a.test"));
      code = got.error();
    });
    while (server.count() < 2) co_await sleep_for(1ms);
    resolver.reset();
    co_await s.join();
    EXPECT_EQ(code, std::errc::operation_canceled);
  }));
}

}  // namespace
}  // namespace heddle::test
