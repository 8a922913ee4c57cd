// SPDX-License-Identifier: MIT
// Look-ups in a simulated world: times to live, lost and late datagrams, servers that are silent,
// and the machine's files.
#include "heddle/io/file.hh"
#include "names/name_server.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;
using names::errc;

constexpr names::lookup_options only_four = {.port = 0, .family = address_family::v4};

/// Runs the body beside a server in a world, at whose end nothing is open.
template <class Body>
void simulate(name_handler handle, Body body, sim_options world = {}) {
  if (!names::asks_servers()) GTEST_SKIP() << "without c-ares";
  auto made = std::make_unique<sim_driver>(std::move(world));
  sim_driver& sim = *made;
  runtime rt(std::move(made), {});
  rt.run(with_name_server(std::move(handle),
                          [&](name_server& server) -> task<> { co_await body(server, sim); }));
  EXPECT_EQ(rt.drain(), 0u);
  EXPECT_EQ(sim.open_descriptors(), 0u) << sim.trace_text();
}

HEDDLE_TEST(names_time, "an answer is used until its time is over, and no longer") {
  const auto handle = [](const asked_name& q) {
    made_answer a(q);
    if (q.name == "none.test") return now(a.code(3).soa(300, 7));
    if (q.name == "zero.test") return now(a.a(q.name, 0, "192.0.2.1"));
    if (q.name == "huge.test") return now(a.a(q.name, 0x90000000, "192.0.2.1"));
    return now(a.a(q.name, 10, "192.0.2.1").a(q.name, 4'000'000, "192.0.2.2"));
  };
  simulate(handle, [](name_server& server, sim_driver&) -> task<> {
    names::resolver_options o = asking({server.at()});
    o.cache.ttl_max = 6s;
    names::resolver usual_times(asking({server.at()})), shortened(o);
    for (names::resolver* r : {&usual_times, &shortened}) {
      const nanoseconds span = r == &shortened ? 6s : 10s;
      const names::found first = co_await r->lookup("a.test", only_four);
      EXPECT_LE(first.ttl, span);
      co_await sleep_for(span - 1s);
      const names::found kept = co_await r->lookup("a.test", only_four);
      EXPECT_TRUE(kept.cached);
      EXPECT_LE(kept.ttl, 1s);
      co_await sleep_for(1s);
      const names::found fresh = co_await r->lookup("a.test", only_four);
      EXPECT_FALSE(fresh.cached);
    }
    const std::size_t before = server.count();
    for (const nanoseconds pause : {1s, 5s, 2s}) {
      const names::outcome none = co_await usual_times.try_lookup("none.test", only_four);
      EXPECT_EQ(none.error().code, errc::no_such_name);
      co_await sleep_for(pause);
    }
    EXPECT_EQ(server.count(), before + 1);
    const names::outcome none = co_await usual_times.try_lookup("none.test", only_four);
    EXPECT_FALSE(none);
    EXPECT_EQ(server.count(), before + 2);                 // RFC 2308: the smaller of 300 s and 7 s
    for (const char* name : {"zero.test", "huge.test"}) {  // RFC 2181: beyond 2^31 is 0
      co_await usual_times.lookup(name, only_four);
      co_await usual_times.lookup(name, only_four);
      EXPECT_EQ(server.count(name), 2u);
    }
  });
}

HEDDLE_TEST(names_time, "the cache is bounded, and old answers leave it") {
  simulate(usual, [](name_server& server, sim_driver&) -> task<> {
    names::resolver_options o = asking({server.at()});
    o.cache.entries_max = 3;
    names::resolver r(o);
    for (const char* name : {"a.test", "b.test", "c.test"}) co_await r.lookup(name, only_four);
    co_await r.lookup("a.test", only_four);  // now b is the least recently used
    co_await r.lookup("d.test", only_four);
    EXPECT_EQ(r.cached(), 3u);
    EXPECT_EQ(server.count(), 4u);
    co_await r.lookup("a.test", only_four);
    co_await r.lookup("c.test", only_four);
    EXPECT_EQ(server.count(), 4u);
    co_await r.lookup("b.test", only_four);
    EXPECT_EQ(server.count(), 5u);
    co_await sleep_for(61s);
    co_await r.lookup("e.test", only_four);
    EXPECT_EQ(r.cached(), 1u);
  });
}

HEDDLE_TEST(names_time, "every name is found although a third of the datagrams is lost") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    sim_options world;
    world.seed = seed;
    world.link.loss = 0.33;
    world.link.jitter = 300ms;
    simulate(
        usual,
        [](name_server& server, sim_driver&) -> task<> {
          names::resolver_options o = asking({server.at()});
          o.tries = 40;
          o.timeout_max = 2s;
          o.whole = 100s;
          names::resolver r(o);
          std::vector<task<names::found>> all;
          for (int i = 0; i < 20; ++i) all.push_back(r.lookup("n" + std::to_string(i), only_four));
          const auto got = co_await heddle::all(std::move(all));
          for (const names::found& each : got) EXPECT_EQ(each.addresses.size(), 2u);
          EXPECT_GT(r.counters().tries, 20u);
        },
        world);
  }
}

HEDDLE_TEST(names_time, "an answer that comes after its try is dropped; the next try has its own") {
  const auto handle = [](const asked_name& q) {
    made_answer a(q);
    a.a(q.name, 60, q.number == 0 ? "192.0.2.66" : "192.0.2.1");
    return later(a, q.number == 0 ? 2500ms : 1s);
  };
  simulate(handle, [](name_server& server, sim_driver&) -> task<> {
    names::resolver r(asking({server.at()}));
    const time_point began = clock::now();
    EXPECT_EQ(text_of(co_await r.try_lookup("a.test", only_four)), "192.0.2.1:0");
    EXPECT_GE(clock::now() - began, 3s);
    EXPECT_LE(clock::now() - began, 3100ms);
    EXPECT_EQ(r.counters().mismatches, 0u);
    co_await sleep_for(1s);
  });
}

HEDDLE_TEST(names_time, "tries wait twice as long each round, up to the limits, and then say so") {
  const auto silent = [](const asked_name&) { return sent_list{}; };
  simulate(silent, [](name_server& server, sim_driver&) -> task<> {
    names::resolver_options o = asking({server.at()});
    o.tries = 5;
    o.timeout = 1s;
    o.timeout_max = 3s;
    o.whole = 8s;
    names::resolver r(o);
    const time_point began = clock::now();
    const names::outcome none = co_await r.try_lookup("a.test", only_four);
    EXPECT_EQ(none.error().code, errc::no_answer);
    EXPECT_EQ(none.error().code, std::errc::timed_out);
    EXPECT_NE(none.error().text.find("no answer within 2 s"), std::string::npos)
        << none.error().text;
    EXPECT_EQ(server.count(), 4u);  // 1 + 2 + 3 + 2 s
    EXPECT_LE(clock::now() - began, 8100ms);
    const time_point again = clock::now();  // a failure is kept for a second
    EXPECT_FALSE(co_await r.try_lookup("a.test", only_four));
    EXPECT_LT(clock::now() - again, 100ms);
    co_await sleep_for(1s);
    EXPECT_FALSE(co_await r.try_lookup("a.test", only_four));
    EXPECT_EQ(server.count(), 8u);
  });
}

HEDDLE_TEST(names_time, "a silent server is asked last for a while") {
  const auto silent = [](const asked_name&) { return sent_list{}; };
  simulate(silent, [](name_server& first, sim_driver&) -> task<> {
    name_server second(usual);
    scope s;
    s.spawn(second.serve());
    names::resolver r(asking({first.at(), second.at()}));
    co_await r.lookup("a.test", only_four);
    EXPECT_EQ(first.count(), 1u);
    const time_point began = clock::now();
    co_await r.lookup("b.test", only_four);
    EXPECT_LT(clock::now() - began, 100ms);
    co_await sleep_for(11s);
    co_await r.lookup("c.test", only_four);
    EXPECT_EQ(first.count(), 2u);
    names::resolver_options o = asking({second.at(), second.at(), first.at()});
    o.rotate = true;
    names::resolver turns(o);
    for (const char* name : {"d.test", "e.test", "f.test"}) co_await turns.lookup(name, only_four);
    EXPECT_EQ(first.count(), 3u);
    s.cancel();
    co_await s.join();
  });
}

HEDDLE_TEST(names_time, "addresses of one version do not wait long for the other's") {
  const auto handle = [](const asked_name& q) {
    if (q.type == type_aaaa) return later(made_answer(q).aaaa(q.name, 60, "2001:db8::1"), 1s);
    return later(made_answer(q).a(q.name, 60, "192.0.2.1"), 100ms);
  };
  simulate(handle, [](name_server& server, sim_driver&) -> task<> {
    names::resolver r(asking({server.at()}));
    const time_point began = clock::now();
    EXPECT_EQ(text_of(co_await r.try_lookup("a.test")), "192.0.2.1:0");
    EXPECT_GE(clock::now() - began, 150ms);
    EXPECT_LE(clock::now() - began, 160ms);
    co_await sleep_for(1s);  // the other question went on
    EXPECT_EQ(text_of(co_await r.try_lookup("a.test")), "[2001:db8::1]:0 192.0.2.1:0");
    EXPECT_EQ(server.count(), 2u);
  });
}

HEDDLE_TEST(names_time,
            "the machine's files give servers, search list and hosts, and are read again") {
  simulate(usual, [](name_server& server, sim_driver& sim) -> task<> {
    // A simulated server cannot have port 53 of another address, so the file names this one.
    sim.write_file("/etc/nsswitch.conf", "hosts: files dns\n");
    sim.write_file("/etc/resolv.conf", "search a.test\noptions attempts:1 timeout:1\n");
    sim.write_file("/etc/hosts", "192.0.2.7 Box box.a.test # mine\nrubbish\n2001:db8::7 box\n");
    names::resolver_options o;
    o.servers = {server.at()};
    names::resolver r(o);
    EXPECT_EQ(text_of(co_await r.try_lookup("BOX", {.port = 9})), "192.0.2.7:9 [2001:db8::7]:9");
    EXPECT_EQ(text_of(co_await r.try_lookup("box.a.test.")), "192.0.2.7:0");
    EXPECT_EQ(text_of(co_await r.try_lookup("localhost")), "[::1]:0 127.0.0.1:0");
    EXPECT_EQ(text_of(co_await r.try_lookup("x.localhost", only_four)), "127.0.0.1:0");
    EXPECT_EQ((co_await r.try_lookup("x.invalid")).error().code, errc::no_such_name);
    EXPECT_EQ((co_await r.try_lookup("x.onion")).error().code, errc::no_such_name);
    EXPECT_EQ(server.count(), 0u);
    EXPECT_NE(r.describe().find("/etc/hosts:2: "), std::string::npos) << r.describe();
    EXPECT_NE(r.describe().find(server.at().to_string()), std::string::npos) << r.describe();
    co_await write_file("/etc/hosts", "192.0.2.8 box\n");
    EXPECT_EQ(text_of(co_await r.try_lookup("box", only_four)), "192.0.2.7:0");
    co_await sleep_for(5s);
    EXPECT_EQ(text_of(co_await r.try_lookup("box", only_four)), "192.0.2.8:0");
    co_await remove_file("/etc/hosts");
    co_await sleep_for(5s);
    EXPECT_EQ(text_of(co_await r.try_lookup("box", only_four)), "192.0.2.9:0 192.0.2.3:0");
  });
}

HEDDLE_TEST(names_time,
            "a file that is too large fails look-ups with its name, until it is smaller") {
  simulate(usual, [](name_server& server, sim_driver& sim) -> task<> {
    sim.write_file("/etc/hosts", std::string(1000, '#'));
    names::resolver_options o;
    o.servers = {server.at()};
    o.files.bytes_max = 500;
    names::resolver r(o);
    const names::outcome bad = co_await r.try_lookup("a.test", only_four);
    EXPECT_EQ(bad.error().code, errc::bad_file);
    EXPECT_NE(bad.error().text.find("/etc/hosts: it has more than 500 bytes"), std::string::npos)
        << bad.error().text;
    co_await write_file("/etc/hosts", "192.0.2.8 box\n");
    EXPECT_TRUE(co_await r.try_lookup("a.test", only_four));
    // What was read stays, if the file can no longer be read.
    co_await write_file("/etc/hosts", std::string(1000, '#'));
    co_await sleep_for(6s);
    EXPECT_EQ(text_of(co_await r.try_lookup("box", only_four)), "192.0.2.8:0");
  });
}

task<> by_system(sim_driver* sim) {
  sim->set_host("one.test", {"192.0.2.1", "2001:db8::1"}, 10ms);
  names::resolver r;
  EXPECT_EQ(text_of(co_await r.try_lookup("one.test", {.port = 3})), "192.0.2.1:3 [2001:db8::1]:3");
  EXPECT_NE(r.describe().find("the system's resolver"), std::string::npos) << r.describe();
  EXPECT_TRUE((co_await r.lookup("one.test")).cached);
  co_await sleep_for(5100ms);
  EXPECT_FALSE((co_await r.lookup("one.test")).cached);
  EXPECT_EQ(text_of(co_await r.try_lookup("one.test", only_four)), "192.0.2.1:0");
  const names::outcome none = co_await r.try_lookup("two.test");
  EXPECT_EQ(none.error().code, errc::no_such_name);
  EXPECT_NE(none.error().text.find("cannot find two.test: the system's resolver: "),
            std::string::npos)
      << none.error().text;
  if (!names::asks_servers()) {
    names::resolver given(asking({address::loopback(9)}));
    EXPECT_EQ((co_await given.try_lookup("one.test")).error().code, errc::not_built);
    co_return;
  }
  // nsswitch.conf names a source that only the system has.
  sim->write_file("/etc/resolv.conf", "nameserver 192.0.2.53\n");
  sim->write_file("/etc/nsswitch.conf", "hosts: files mdns4_minimal [NOTFOUND=return] dns\n");
  names::resolver other;
  EXPECT_TRUE(co_await other.try_lookup("one.test"));
  EXPECT_NE(other.describe().find("mdns4_minimal"), std::string::npos) << other.describe();
  // With a server in the file, that is asked; nobody is there.
  sim->write_file("/etc/nsswitch.conf", "hosts: files [!UNAVAIL = return] dns\n");
  names::resolver third;
  const names::outcome gone = co_await third.try_lookup("one.test");
  EXPECT_EQ(gone.error().code, errc::no_answer);
  EXPECT_NE(gone.error().text.find("192.0.2.53:53"), std::string::npos) << gone.error().text;
  names::resolver_options o;
  o.from = names::answers::servers;
  o.files.resolv_conf = "/none";
  names::resolver fourth(o);
  EXPECT_EQ((co_await fourth.try_lookup("one.test")).error().code, errc::no_server);
}

HEDDLE_TEST(names_time, "without a server the system's resolver is asked, and so says describe()") {
  auto made = std::make_unique<sim_driver>();
  sim_driver* const sim = made.get();
  runtime rt(std::move(made), {});
  rt.run(by_system(sim));
}

HEDDLE_TEST(names_time, "options that make no sense are refused at once") {
  runtime rt(std::make_unique<sim_driver>(), {});
  rt.run([]() -> task<> {
    names::resolver_options search, bytes, none, both;
    search.search = {"a b"};
    bytes.udp_bytes = 100;
    none.servers = {address()};
    both.servers = {address::loopback(53)};
    both.from = names::answers::system;
    for (const names::resolver_options& o : {search, bytes, none, both})
      EXPECT_THROW(names::resolver{o}, failure);
    co_return;
  }());
}

HEDDLE_TEST(names_time, "one seed gives one run, whatever fails in the network") {
  const auto run = [](std::uint64_t seed) {
    sim_options world;
    world.seed = seed;
    world.link.loss = 0.2;
    world.faults.no_memory = 0.05;
    world.faults.reset = 0.05;
    auto made = std::make_unique<sim_driver>(world);
    sim_driver& sim = *made;
    runtime rt(std::move(made), {});
    rt.run(with_name_server(usual, [&](name_server& server) -> task<> {
      names::resolver_options o = asking({server.at()});
      o.tries = 3;
      names::resolver r(o);
      sim.fail_next(sim_call::socket, -EMFILE, 2);
      for (int i = 0; i < 10; ++i) {
        const names::outcome got = co_await r.try_lookup("n" + std::to_string(i) + ".test");
        if (!got) EXPECT_EQ(got.error().code, errc::no_answer) << got.error().text;
      }
    }));
    EXPECT_EQ(rt.drain(), 0u);
    EXPECT_EQ(sim.open_descriptors(), 0u) << sim.trace_text();
    return sim.trace_hash();
  };
  if (!names::asks_servers()) GTEST_SKIP() << "without c-ares";
  for (std::uint64_t seed = 1; seed <= 20; ++seed) EXPECT_EQ(run(seed), run(seed)) << seed;
}

}  // namespace
}  // namespace heddle::test
