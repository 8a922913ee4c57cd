// SPDX-License-Identifier: MIT
// Nodes of a cluster: their programs, clocks and limits; kill, restart, pause; one seed is one run.
#include "heddle/sim/cluster.hh"

#include <malloc.h>

#include <cstdlib>
#include <vector>

#include "heddle/base/sanitizer.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/io/directory.hh"
#include "heddle/io/file.hh"
#include "heddle/io/signal.hh"
#include "nodes.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

HEDDLE_TEST(cluster, "two nodes speak over the network, and the service need not end") {
  sim::cluster all;
  all.add({.name = "web", .program = echo_service, .service = true});
  sim::node& user = all.add({.name = "user", .program = [](sim::node&) -> task<int> {
                               const std::string back = co_await echo("web", "hello");
                               co_return back == "hello" ? 42 : 1;
                             }});
  const sim::outcome end = all.run(1min);
  EXPECT_TRUE(end) << end.why << all.trace_text();
  EXPECT_EQ(user.result(), 42);
  EXPECT_EQ(user.starts(), 1U);
  EXPECT_FALSE(user.running());
  EXPECT_TRUE(all.find("web")->running());
  EXPECT_EQ(all.find("nobody"), nullptr);
  EXPECT_EQ(user.address(), "10.0.0.2");
}

/// Runs three nodes that draw numbers, sleep and speak, and gives the hash of the trace.
std::uint64_t hash_of(std::uint64_t seed) {
  sim::cluster all({.world = {.seed = seed, .link = {.latency = 1ms, .jitter = 1ms}}});
  all.add({.name = "web", .program = echo_service, .service = true});
  for (const char* name : {"first", "second"})
    all.add({.name = name, .program = [](sim::node&) -> task<int> {
               for (int i = 0; i < 5; ++i) {
                 const std::uint64_t drawn = runtime::here().io().random();
                 co_await sleep_for(nanoseconds(drawn % 1'000'000));
                 static_cast<void>(co_await echo("web", std::to_string(drawn)));
               }
               co_return 0;
             }});
  EXPECT_TRUE(all.run(1min));
  return all.trace_hash();
}

HEDDLE_TEST(cluster, "one seed is one run, wherever its memory lies") {
  std::vector<std::unique_ptr<char[]>> other_layout;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::uint64_t first = hash_of(seed);
    other_layout.push_back(std::make_unique<char[]>(seed * 1000));
    EXPECT_EQ(hash_of(seed), first) << seed;
    EXPECT_NE(hash_of(seed + 100), first) << seed;
  }
}

HEDDLE_TEST(cluster, "each node has a clock of its own, which may be ahead or too fast") {
  sim::cluster all;
  std::vector<nanoseconds> slept(3), wall(3);
  const auto program = [&all, &slept, &wall](sim::node& n) -> task<int> {
    const std::size_t i = n.name() == "right" ? 0 : n.name() == "fast" ? 1 : 2;
    wall[i] = n.driver().wall_time();
    const nanoseconds before = all.time();
    co_await sleep_for(10s);
    slept[i] = all.time() - before;
    co_return 0;
  };
  all.add({.name = "right", .program = program});
  all.add({.name = "fast", .program = program, .clock_rate = 2});
  all.add({.name = "ahead", .program = program, .clock_offset = 1h, .clock_rate = 0.5});
  EXPECT_TRUE(all.run(1min));
  const auto near = [](nanoseconds got, nanoseconds wanted) {
    return got >= wanted && got < wanted + 1ms;
  };
  EXPECT_TRUE(near(slept[0], 10s)) << slept[0].count();
  EXPECT_TRUE(near(slept[1], 5s)) << slept[1].count();
  EXPECT_TRUE(near(slept[2], 20s)) << slept[2].count();
  EXPECT_TRUE(near(wall[2] - wall[0] + 1ms, 1h + 1ms - 500us) || near(wall[2] - wall[0], 1h - 1ms))
      << (wall[2] - wall[0]).count();
}

HEDDLE_TEST(cluster, "the wall clock jumps when it is told, and the other clock does not") {
  sim::cluster all;
  nanoseconds wall_span{}, span{};
  sim::node& one = all.add({.name = "one", .program = [&](sim::node& n) -> task<int> {
                              const nanoseconds wall = n.driver().wall_time();
                              const time_point at = n.driver().now();
                              co_await sleep_for(2s);
                              wall_span = n.driver().wall_time() - wall;
                              span = n.driver().now() - at;
                              co_return 0;
                            }});
  all.at(1s, [&] { all.jump_clock(one, -1h); });
  EXPECT_TRUE(all.run(1min));
  EXPECT_LT(wall_span, -59min);
  EXPECT_GE(span, 2s);
  EXPECT_LT(span, 2s + 1ms);
}

/// Writes and sends in its destructor what nobody must see.
struct last_words {
  ~last_words() {
    static_cast<void>(conn.try_write("last words"));
    io.note("last words");
  }
  const tcp_stream& conn;
  sim_driver& io;
};

HEDDLE_TEST(cluster, "after a kill no destructor has an effect, and the peer sees a reset") {
  for (const sim::death how : {sim::death::power, sim::death::process}) {
    sim::cluster all({.world = {.seed = 3}});
    bool unwound = false;
    sim::node& web =
        all.add({.name = "web",
                 .program = [&unwound](sim::node& n) -> task<int> {
                   struct mark {
                     ~mark() { at = true; }
                     bool& at;
                   };
                   const mark end{unwound};
                   const tcp_listener listener = tcp_listener::listen(address::any_v4(echo_port));
                   const tcp_stream peer = co_await listener.accept();
                   const last_words words{peer, n.driver()};
                   co_await peer.write("hello");
                   try {
                     co_await sleep_for(1h);
                   } catch (const std::exception&) {
                   }
                   // Even what comes after the cancellation has no effect.
                   static_cast<void>(co_await as_expected(shield(write_file("/late", "late"), 1h)));
                   co_return 1;
                 },
                 .service = true});
    std::string got, error;
    all.add({.name = "user", .program = [&](sim::node&) -> task<int> {
               const tcp_stream conn = co_await tcp_connect("web", echo_port);
               char buffer[64];
               try {
                 while (const std::size_t n = co_await conn.read_some(buffer))
                   got.append(buffer, n);
                 error = "ended";
               } catch (const failure& f) {
                 error = f.code() == std::errc::connection_reset ? "reset" : f.what();
               }
               co_return 0;
             }});
    all.at(1s, [&] {
      all.kill(web, how);
      all.kill(web, how);  // once is enough
    });
    const sim::outcome end = all.run(10s);
    EXPECT_TRUE(end) << end.why;
    EXPECT_EQ(got, "hello");
    EXPECT_EQ(error, how == sim::death::power ? "reset" : "ended");
    EXPECT_TRUE(unwound);
    EXPECT_FALSE(web.running());
    EXPECT_FALSE(web.result());
    EXPECT_TRUE(web.files().empty());
    EXPECT_EQ(all.trace_text().find("last words"), std::string::npos);
    const std::string log = all.trace_text(&web);
    const std::size_t last = log.rfind('\n', log.size() - 2);
    EXPECT_NE(log.find(" web: death", last), std::string::npos) << log.substr(last);
  }
}

HEDDLE_TEST(cluster, "a restart goes on with what the disk kept") {
  for (const sim::death how : {sim::death::power, sim::death::process}) {
    sim::cluster all;
    sim::node& one = all.add(
        {.name = "one", .program = [](sim::node& n) -> task<int> {
           if (n.starts() == 2) co_return 42;
           const file kept = co_await open_file("/tmp/kept", {.write = true, .create = true});
           co_await kept.write_at(0, "kept");
           co_await kept.sync();
           const directory place = co_await open_directory("/tmp");
           co_await place.sync();
           const file lost = co_await open_file("/tmp/unsynced", {.write = true, .create = true});
           co_await lost.write_at(0, std::string_view("unsynced"));
           co_await sleep_for(1h);
           co_return 1;
         }});
    all.at(1s, [&] {
      all.kill(one, how);
      all.restart(one);
      all.restart(one);
    });
    const sim::outcome end = all.run(10s);
    EXPECT_TRUE(end) << end.why;
    EXPECT_EQ(one.result(), 42);
    EXPECT_EQ(one.starts(), 2U);
    EXPECT_EQ(one.files().at("/tmp/kept"), "kept");
    if (how == sim::death::process) EXPECT_EQ(one.files().at("/tmp/unsynced"), "unsynced");
    EXPECT_EQ(one.files(), one.files());
  }
}

HEDDLE_TEST(cluster, "a program may kill and restart its own node and others") {
  sim::cluster all;
  sim::node& web = all.add({.name = "web", .program = echo_service, .service = true});
  sim::node& user = all.add({.name = "user", .program = [&all, &web](sim::node& n) -> task<int> {
                               if (n.starts() == 2) {
                                 const std::string back = co_await echo("web", "again");
                                 co_return back == "again" ? 42 : 1;
                               }
                               all.kill(web);
                               EXPECT_FALSE(web.running());
                               all.restart(web);
                               all.kill(n);
                               all.restart(n);
                               co_await sleep_for(1s);
                               ADD_FAILURE() << "a killed program goes on";
                               co_return 1;
                             }});
  const sim::outcome end = all.run(1min);
  EXPECT_TRUE(end) << end.why;
  EXPECT_EQ(user.result(), 42);
  EXPECT_EQ(web.starts(), 2U);
}

HEDDLE_TEST(cluster, "a paused process keeps its sockets and goes on later") {
  sim::cluster all;
  sim::node& web = all.add({.name = "web", .program = echo_service, .service = true});
  nanoseconds took{};
  all.add({.name = "user", .program = [&](sim::node&) -> task<int> {
             co_await sleep_for(1s);
             const nanoseconds before = all.time();
             const std::string back = co_await echo("web", "hello");
             took = all.time() - before;
             co_return back == "hello" ? 0 : 1;
           }});
  all.at(500ms, [&] { all.pause(web, 5s); });
  all.at(600ms, [&] { all.pause(web, 1s); });  // ends before the first one
  EXPECT_TRUE(all.run(1min));
  EXPECT_GE(took, 4500ms);
  EXPECT_LT(took, 4600ms);
}

HEDDLE_TEST(cluster, "a run that cannot go on says where each node waits") {
  sim::cluster all;
  all.add({.name = "web", .program = echo_service, .service = true});
  sim::node& dead = all.add({.name = "dead", .program = [](sim::node&) -> task<int> {
                               co_await sleep_for(1h);
                               co_return 0;
                             }});
  all.at(1s, [&] { all.kill(dead); });
  const sim::outcome end = all.run(10min);
  EXPECT_STREQ(word(end), "nothing left");
  EXPECT_NE(end.why.find("web:\n"), std::string::npos) << end.why;
  EXPECT_NE(end.why.find("nodes.hh"), std::string::npos) << end.why;
  EXPECT_NE(end.why.find("dead: was killed, and not started again"), std::string::npos) << end.why;
}

HEDDLE_TEST(cluster, "a run ends at its limit and can go on") {
  sim::cluster all({.world = {.trace_lines_max = 16}, .time_max = 1min});
  sim::node& one = all.add({.name = "one", .program = [](sim::node&) -> task<int> {
                              co_await sleep_for(15s);
                              co_return 3;
                            }});
  EXPECT_STREQ(word(all.run(10s)), "time over");
  EXPECT_EQ(all.time(), 10s);
  EXPECT_TRUE(all.run(10s));
  EXPECT_EQ(one.result(), 3);
  EXPECT_THROW(static_cast<void>(all.run(1min)), failure);
}

HEDDLE_TEST(cluster, "turns are limited, so that a busy program ends the run") {
  sim::cluster all({.turns_max = 1000});
  all.add({.name = "busy", .program = [](sim::node&) -> task<int> {
             for (;;) co_await sleep_for(1us);
           }});
  const sim::outcome end = all.run(1h);
  EXPECT_STREQ(word(end), "too many turns");
  EXPECT_NE(end.why.find("turns_max"), std::string::npos);
}

HEDDLE_TEST(cluster, "what a program throws names its node") {
  sim::cluster all;
  all.add({.name = "bad", .program = [](sim::node&) -> task<int> {
             co_await sleep_for(1s);
             throw std::runtime_error("no luck");
           }});
  const sim::outcome end = all.run(1min);
  EXPECT_STREQ(word(end), "failed");
  EXPECT_EQ(end.why, "bad: its program threw: no luck");
}

HEDDLE_TEST(cluster, "a task that does not end after a kill is reported with its line") {
  sim::cluster all;
  sim::node_options options{.name = "stubborn", .program = [](sim::node&) -> task<int> {
                              for (;;) {
                                const auto none =
                                    co_await as_expected(shield(remove_file("/none"), 1h));
                                EXPECT_FALSE(none);
                              }
                            }};
  std::size_t leaks = 0;
  options.runtime.report = [&leaks](const diagnostic& d) {
    leaks += d.kind == diagnostic_kind::leaked_memory ? 1 : 0;
  };
  sim::node& stubborn = all.add(std::move(options));
  all.at(1s, [&] { all.kill(stubborn); });
  const sim::outcome end = all.run(1min);
  EXPECT_STREQ(word(end), "failed");
  EXPECT_NE(end.why.find("stubborn: 1 task has not ended"), std::string::npos) << end.why;
  EXPECT_NE(end.why.find("cluster_test.cc"), std::string::npos) << end.why;
  EXPECT_EQ(leaks, 1U);
}

HEDDLE_TEST(cluster, "a pause ends with its process") {
  sim::cluster all;
  sim::node& one = all.add({.name = "one", .program = [&all](sim::node& n) -> task<int> {
                              if (n.starts() == 2) co_return 1;
                              static_cast<void>(all);
                              co_await sleep_for(1h);
                              co_return 0;
                            }});
  all.at(1s, [&] { all.pause(one, 30min); });
  all.at(2s, [&] { all.kill(one); });
  all.at(3s, [&] { all.restart(one); });
  EXPECT_TRUE(all.run(10s));
  EXPECT_EQ(one.result(), 1);
}

HEDDLE_TEST(cluster, "code of a process that has ended changes nothing of the cluster") {
  sim::cluster all;
  sim::node& other = all.add({.name = "other", .program = echo_service, .service = true});
  sim::node& one = all.add({.name = "one", .program = [&](sim::node& n) -> task<int> {
                              struct at_end {
                                ~at_end() {
                                  all.kill(other);
                                  all.restart(own);
                                  all.partition(own, other);
                                  all.note("from the dead");
                                  all.at(0s, [] { ADD_FAILURE() << "called"; });
                                  other.write_file("/x", "x");
                                  own.driver().note("from the dead");
                                }
                                sim::cluster& all;
                                sim::node &other, &own;
                              };
                              const at_end end{all, other, n};
                              co_await sleep_for(1h);
                              co_return 0;
                            }});
  all.at(1s, [&] { all.kill(one); });
  EXPECT_STREQ(word(all.run(10s)), "nothing left");
  EXPECT_TRUE(other.running());
  EXPECT_EQ(one.starts(), 1U);
  EXPECT_TRUE(other.files().empty());
  EXPECT_EQ(all.trace_text().find("from the dead"), std::string::npos);
}

HEDDLE_TEST(cluster, "a wait that is shielded may end a process late, on a clock of its own") {
  sim::cluster all;
  bool ended = false;
  sim::node& one = all.add({.name = "one", .program = [&](sim::node&) -> task<int> {
                              try {
                                co_await sleep_for(1h);
                              } catch (const failure&) {
                                // cancelled
                              }
                              co_await shield(sleep_for(20min), 1h);
                              ended = true;
                              co_return 0;
                            }});
  all.at(1s, [&] { all.kill(one); });
  const sim::outcome end = all.run(2s);
  EXPECT_STREQ(word(end), "nothing left") << end.why;
  EXPECT_TRUE(ended);
  EXPECT_LT(all.time(), 2s);
}

HEDDLE_TEST(cluster, "a program's end reports nothing of the tasks that it leaves") {
  sim::cluster all;
  all.add({.name = "web", .program = echo_service, .service = true});
  sim::node_options options{.name = "user", .program = [](sim::node&) -> task<int> {
                              runtime::here().spawn([]() -> task<> {
                                const tcp_stream conn = co_await tcp_connect("web", echo_port);
                                char byte[1];
                                static_cast<void>(co_await conn.read(byte));
                              });
                              co_await sleep_for(1s);
                              co_return 0;
                            }};
  options.runtime.report = [](const diagnostic& d) { ADD_FAILURE() << to_string(d); };
  all.add(std::move(options));
  EXPECT_TRUE(all.run(10s));
}

HEDDLE_TEST(cluster, "a power failure loses what a program left unsynced at its end") {
  std::size_t left = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    sim::cluster all({.world = {.seed = seed}});
    sim::node& one = all.add({.name = "one", .program = [](sim::node&) -> task<int> {
                                const file f =
                                    co_await open_file("/f", {.write = true, .create = true});
                                co_await f.write_at(0, "unsynced");
                                co_return 0;
                              }});
    EXPECT_TRUE(all.run(10s));
    all.kill(one);
    left += one.files().size();
  }
  EXPECT_GT(left, 0U);
  EXPECT_LT(left, 20U);
}

HEDDLE_TEST(cluster, "services alone run as long as anything can happen") {
  sim::cluster all;
  sim::node& web = all.add({.name = "web", .program = echo_service, .service = true});
  bool called = false;
  all.at(1s, [&] { called = true; });
  const sim::outcome end = all.run(2s);
  EXPECT_STREQ(word(end), "nothing left");
  EXPECT_NE(end.why.find("web:\n"), std::string::npos) << end.why;
  EXPECT_TRUE(web.running() && called);
}

HEDDLE_TEST(cluster, "restarts do not make the cluster grow") {
  sim::cluster all;
  sim::node& one = all.add({.name = "one", .program = [](sim::node&) -> task<int> {
                              co_await sleep_for(1h);
                              co_return 0;
                            }});
  constexpr int restarts = 2000;
  for (int i = 1; i <= restarts; ++i)
    all.at(i * 10ms, [&] {
      all.kill(one, sim::death::process);
      all.restart(one);
    });
  const std::size_t before = ::mallinfo2().uordblks;
  EXPECT_STREQ(word(all.run(30s)), "time over");
  EXPECT_EQ(one.starts(), 1U + restarts);
  if (HEDDLE_ASAN == 0 && HEDDLE_TSAN == 0) {
    EXPECT_LT(::mallinfo2().uordblks - before, restarts * std::size_t{4096});
  }
}

HEDDLE_TEST(cluster, "what cannot be is refused, and an option or function is named") {
  const auto said = [](auto what) -> std::string {
    try {
      what();
    } catch (const failure& f) {
      return f.what();
    }
    return "nothing";
  };
  sim::cluster all;
  sim::node& one = all.add({.name = "one", .program = echo_service});
  sim::node& two = all.add({.name = "two", .program = echo_service});
  const auto refused = [&](auto what, const char* part) {
    const std::string text = said(what);
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  refused([&] { all.set_link(one, two, {.latency = -1s}); }, "set_link");
  refused([&] { all.set_link(one, two, {.loss = 2}); }, "set_link");
  refused([&] { all.set_host("db", {"ten"}); }, "set_host");
  refused([&] { all.set_host("localhost", {"10.0.0.1"}); }, "set_host");
  refused([&] { all.pause(one, -1s); }, "pause");
  refused([&] { static_cast<void>(all.run(-1s)); }, "run");
  one.write_file("/d/f", "x");
  refused([&] { one.write_file("f", "x"); }, "no absolute path");
  refused([&] { one.write_file("", "x"); }, "no absolute path");
  refused([&] { one.write_file("/d/f/g", "x"); }, "leads through a file");
  refused([&] { one.write_file("/d", "x"); }, "is a folder");
  refused([&] { one.write_file("/", "x"); }, "is a folder");
  refused([&] { one.write_file("/d/../f", "x"); }, "'..'");
  EXPECT_EQ(one.files(), (std::map<std::string, std::string>{{"/d/f", "x"}}));
  using options = sim::cluster_options;
  refused([&] { sim::cluster c(options{.world = {.clock_step = -1ns}}); }, "clock_step");
  refused([&] { sim::cluster c(options{.world = {.link = {.loss = -1}}}); }, "world.link");
  refused([&] { sim::cluster c(options{.world = {.socket_buffer_bytes = 0}}); },
          "socket_buffer_bytes");
  refused([&] { sim::cluster c(options{.world = {.faults = {.reset = 2}}}); }, "rates");
  refused([&] { sim::cluster c(options{.world = {.fault_delay_max = -1s}}); }, "fault_delay_max");
  refused([&] { sim::cluster c(options{.trouble = {.count_max = 1, .until = 0s}}); }, "until");
  refused([&] { sim::cluster c(options{.time_max = -1s}); }, "time_max");
}

constexpr std::size_t small = 1 << 20;

std::string refusal(sim::cluster& all, sim::node_options options) {
  try {
    all.add(std::move(options));
  } catch (const failure& f) {
    return f.what();
  }
  return "";
}

HEDDLE_TEST(cluster, "a node that cannot be is refused by the name of its option") {
  sim::cluster all({.nodes_max = 2, .memory_bytes_max = 66 * small});
  all.add({.name = "web", .addresses = {"192.0.2.1", "2001:db8::1"}, .program = echo_service});
  const auto refused = [&](std::string name, std::vector<std::string> addresses, const char* part,
                           double rate = 1, std::size_t memory = small) {
    sim::node_options options{
        .name = std::move(name), .addresses = std::move(addresses), .program = {}};
    if (std::string_view(part) != "node_options::program") options.program = echo_service;
    options.clock_rate = rate;
    options.memory_bytes = memory;
    const std::string said = refusal(all, std::move(options));
    EXPECT_NE(said.find(part), std::string::npos) << said;
  };
  refused("", {}, "node_options::name");
  refused("web", {}, "node_options::name");
  refused("a", {}, "node_options::program");
  refused("a", {"no"}, "node_options::addresses");
  refused("a", {"127.0.0.1"}, "node_options::addresses");
  refused("a", {"0.0.0.0"}, "node_options::addresses");
  refused("a", {"2001:db8::1"}, "is the address of web");
  refused("a", {}, "node_options::clock_rate", 3);
  refused("a", {}, "node_options::memory_bytes", 1, 3 * small);
  refused("a", {}, "node_options::memory_bytes", 1, 1);
  refused("localhost", {}, "node_options::name");
  refused("10.0.0.9", {}, "node_options::name");
  refused("two words", {}, "node_options::name");
  refused("a", {"::ffff:10.0.0.9"}, "node_options::addresses");
  refused("a", {"10.0.0.9", "10.0.0.9"}, "twice");
  all.add({.name = "a", .program = echo_service, .memory_bytes = small});
  refused("b", {}, "cluster_options::nodes_max");
}

HEDDLE_TEST(cluster, "signals reach one node") {
  sim::cluster all;
  const auto program = [](sim::node& n) -> task<int> {
    signal_set stop({SIGTERM});
    static_cast<void>(n);
    co_return co_await stop.next();
  };
  sim::node& first = all.add({.name = "first", .program = program, .service = true});
  sim::node& second = all.add({.name = "second", .program = program});
  all.at(1s, [&] { EXPECT_TRUE(second.driver().raise_signal(SIGTERM)); });
  EXPECT_TRUE(all.run(1min));
  EXPECT_EQ(second.result(), SIGTERM);
  EXPECT_TRUE(first.running());
}

}  // namespace
}  // namespace heddle::test
