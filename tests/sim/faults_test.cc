// SPDX-License-Identifier: MIT
// Injected faults, and the trace by which two runs of one seed are compared.
#include <algorithm>
#include <chrono>
#include <map>

#include "sim/harness.hh"
#include "support/test.hh"

namespace heddle::test {

using namespace std::chrono_literals;

namespace {

/// A small program with a bit of everything: an echo of several connections, some of them
/// cancelled.
std::string story(sim_harness& h) {
  const endpoint at(80);
  const int l = h.listener(at);
  std::string told;
  for (int i = 0; i < 8; ++i) {
    const int client = h.sim.socket(AF_INET, SOCK_STREAM, 0);
    if (h.connect(client, at) != 0) continue;
    const int server = h.accept(l);
    char bytes[64];
    asked r(op_code::receive, server);
    r.data = bytes;
    r.len = sizeof bytes;
    h.submit(r);
    h.write(client, "number " + std::to_string(h.sim.random() % 1000));
    if (i % 2 == 0) h.sim.cancel(r, h.w);
    h.finish(r);
    h.stop(r);
    told += std::to_string(r.result()) + " ";
    h.close(server);
    if (i % 3 != 0) h.close(client);
  }
  h.sim.turn(h.w, h.sim.now() + 1s);
  return told;
}

sim_options troubled(std::uint64_t seed) {
  return {.seed = seed,
          .link = {.latency = 20us, .jitter = 100us},
          .slow_links = 0.2,
          .faults = {.short_transfer = 0.3,
                     .interrupted = 0.1,
                     .reset = 0.1,
                     .no_memory = 0.05,
                     .no_descriptors = 0.05,
                     .delayed = 0.2}};
}

}  // namespace

HEDDLE_TEST(sim_faults, "one seed gives one run, bit for bit") {
  std::map<std::uint64_t, std::uint64_t> hashes;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    sim_harness first(troubled(seed)), second(troubled(seed));
    const std::string told = story(first);
    EXPECT_EQ(told, story(second)) << "seed " << seed;
    ASSERT_EQ(first.sim.trace_text(), second.sim.trace_text()) << "seed " << seed;
    EXPECT_EQ(first.sim.trace_hash(), second.sim.trace_hash());
    ++hashes[first.sim.trace_hash()];
  }
  EXPECT_EQ(hashes.size(), 100u) << "two seeds gave the same run";
}

HEDDLE_TEST(sim_faults, "the hash tells runs apart that differ in a single byte sent") {
  std::uint64_t hashes[2];
  for (int i = 0; i < 2; ++i) {
    sim_harness h;
    int client, server;
    h.connected(client, server);
    h.write(client, i == 0 ? "a" : "b");
    h.settle();
    hashes[i] = h.sim.trace_hash();
  }
  EXPECT_NE(hashes[0], hashes[1]);
}

HEDDLE_TEST(sim_faults, "the trace's text is bounded, its hash covers everything") {
  sim_harness small({.trace_lines_max = 10}), large;
  story(small);
  story(large);
  EXPECT_EQ(small.sim.trace_hash(), large.sim.trace_hash());
  const std::string text = small.sim.trace_text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 11);
  EXPECT_NE(text.find("earlier records"), std::string::npos);
}

HEDDLE_TEST(sim_faults, "a program's remarks stand in the trace") {
  sim_harness h;
  h.sim.note("now the second request");
  EXPECT_NE(h.sim.trace_text().find("now the second"), std::string::npos) << h.sim.trace_text();
}

HEDDLE_TEST(sim_faults, "a scripted fault hits the next operations of its kind, and no more") {
  sim_harness h;
  int ends[2];
  h.sim.fail_next(sim_call::socket_pair, -EMFILE);
  EXPECT_EQ(h.sim.socket_pair(ends), -EMFILE);
  ASSERT_EQ(h.sim.socket_pair(ends), 0);
  h.sim.fail_next(op_code::send, -EINTR, 2);
  EXPECT_EQ(h.write(ends[0], "x", op_code::write), 1);
  EXPECT_EQ(h.write(ends[0], "x"), -EINTR);
  EXPECT_EQ(h.write(ends[0], "x"), -EINTR);
  EXPECT_EQ(h.write(ends[0], "x"), 1);
  EXPECT_EQ(h.sim.faults_injected(), 3u);
}

HEDDLE_TEST(sim_faults, "each fault comes about as often as asked, to what can have it") {
  struct trial {
    sim_rates rates;
    std::int64_t error;
  };
  for (const trial& t :
       {trial{{.interrupted = 0.3}, -EINTR}, trial{{.no_memory = 0.3}, -ENOBUFS}}) {
    sim_harness h;
    h.sim.set_faults(op_code::send, t.rates);
    int ends[2];
    ASSERT_EQ(h.sim.socket_pair(ends), 0);
    int hits = 0;
    for (int i = 0; i < 1000; ++i) hits += h.write(ends[0], "x") == t.error;
    EXPECT_GT(hits, 220) << t.error;
    EXPECT_LT(hits, 380) << t.error;
    EXPECT_EQ(h.write(ends[0], "x", op_code::write), 1) << "another kind of operation";
  }
}

HEDDLE_TEST(sim_faults, "short transfers move some bytes, never none and never wrong ones") {
  sim_harness h;
  h.sim.set_faults(op_code::send, {.short_transfer = 0.7});
  h.sim.set_faults(op_code::receive, {.short_transfer = 0.7});
  int ends[2];
  ASSERT_EQ(h.sim.socket_pair(ends), 0);
  const std::string text = "the quick brown fox jumps over the lazy dog";
  std::size_t sent = 0;
  int calls = 0;
  for (; sent < text.size(); ++calls) {
    const std::int64_t n = h.write(ends[0], std::string_view(text).substr(sent));
    ASSERT_GT(n, 0);
    sent += static_cast<std::size_t>(n);
  }
  EXPECT_GT(calls, 1);
  h.close(ends[0]);
  EXPECT_EQ(h.read_all(ends[1]), text);
}

HEDDLE_TEST(sim_faults, "a reset ends the connection on both sides") {
  sim_harness h;
  int client, server;
  h.connected(client, server);
  h.sim.set_faults(op_code::send, {.reset = 1});
  EXPECT_EQ(h.write(client, "x"), -ECONNRESET);
  char byte;
  EXPECT_EQ(h.read(server, &byte, 1), -ECONNRESET);
  EXPECT_EQ(h.read(server, &byte, 1), 0);
}

HEDDLE_TEST(sim_faults, "a delayed operation takes virtual time") {
  sim_harness h({.fault_delay_max = 10s});
  h.sim.set_faults(op_code::send, {.delayed = 1});
  int ends[2];
  ASSERT_EQ(h.sim.socket_pair(ends), 0);
  const time_point before = h.sim.now();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(h.write(ends[0], "x"), 1);
  EXPECT_GT(h.sim.now() - before, 5s);
}

HEDDLE_TEST(sim_faults, "a delayed read is not hurried by bytes that arrive meanwhile") {
  sim_harness h({.fault_delay_max = 10s});
  h.sim.set_faults(op_code::receive, {.delayed = 1});
  int ends[2];
  ASSERT_EQ(h.sim.socket_pair(ends), 0);
  const time_point before = h.sim.now();
  for (int i = 0; i < 10; ++i) {
    char byte;
    asked r(op_code::receive, ends[1]);
    r.data = &byte;
    r.len = 1;
    h.submit(r);
    h.write(ends[0], "x");
    EXPECT_EQ(h.finish(r), 1);
  }
  EXPECT_GT(h.sim.now() - before, 5s);
}

HEDDLE_TEST(sim_faults, "a slow link is slow") {
  sim_harness h({.slow_links = 1});
  const time_point before = h.sim.now();
  int client, server;
  h.connected(client, server);
  EXPECT_GT(h.sim.now() - before, 400ms);
}

HEDDLE_TEST(sim_faults, "accept and open run out of descriptors, and so do sockets") {
  sim_harness h({.faults = {.no_descriptors = 1}});
  EXPECT_EQ(h.sim.socket(AF_INET, SOCK_STREAM, 0), -EMFILE);
  asked a(op_code::accept, 5);
  h.submit(a);
  EXPECT_EQ(h.finish(a), -EMFILE);
}

}  // namespace heddle::test
