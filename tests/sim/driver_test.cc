// SPDX-License-Identifier: MIT
// The simulated world's clock, order, races of cancelling, descriptors, signals and calls. Its
// sockets, files and faults have files of their own.
#include <netdb.h>
#include <poll.h>
#include <sys/signalfd.h>

#include <chrono>
#include <csignal>
#include <set>
#include <thread>

#include "heddle/io/detail/resolve_request.hh"
#include "sim/harness.hh"
#include "support/test.hh"

namespace heddle::test {

using namespace std::chrono_literals;

HEDDLE_TEST(sim, "time starts at a thousand million seconds and a reading takes a microsecond") {
  sim_harness h;
  EXPECT_EQ(h.sim.now().time_since_epoch(), 1'000'000'000s + 1us);
  EXPECT_EQ(h.sim.now().time_since_epoch(), 1'000'000'000s + 2us);
  EXPECT_EQ(h.sim.wall_time(), 1'000'000'000s + 3us);
}

HEDDLE_TEST(sim, "a turn with nothing ready jumps to its limit") {
  sim_harness h;
  const time_point limit = h.sim.now() + 1h;
  h.sim.turn(h.w, limit);
  EXPECT_FALSE(h.sim.stalled());
  EXPECT_EQ(h.sim.now(), limit + 1us);
}

HEDDLE_TEST(sim, "a turn jumps to the next completion when that comes before its limit") {
  sim_harness h({.link = {.latency = 5ms}});
  int a, b;
  h.connected(a, b);
  const time_point before = h.sim.now();
  h.write(a, "x");
  asked r(op_code::receive, b);
  char byte;
  r.data = &byte;
  r.len = 1;
  h.submit(r);
  h.sim.turn(h.w, before + 1h);
  EXPECT_EQ(r.result(), 1);
  EXPECT_LT(h.sim.now() - before, 6ms);
  EXPECT_GE(h.sim.now() - before, 5ms);
}

HEDDLE_TEST(sim, "a turn without limit and without anything to come says that it is stalled") {
  sim_harness h;
  const int l = h.listener(endpoint(80));
  asked a(op_code::accept, l);
  h.submit(a);
  h.sim.turn(h.w, never);
  EXPECT_TRUE(h.sim.stalled());
  EXPECT_EQ(h.sim.pending(), 1u);
  h.stop(a);
  EXPECT_EQ(a.result(), -ECANCELED);
  EXPECT_EQ(h.sim.pending(), 0u);
}

HEDDLE_TEST(sim, "a program that waits for what can never come is stopped and told so") {
  EXPECT_DEATH(
      {
        sim_harness h({.stalled_turns_max = 5});
        for (int i = 0; i < 6; ++i) h.sim.turn(h.w, never);
      },
      "waits for what can never come");
  sim_harness h({.stalled_turns_max = 5});
  for (int i = 0; i < 5; ++i) h.sim.turn(h.w, never);
}

HEDDLE_TEST(sim, "wake() ends the wait for a thread outside") {
  sim_harness h;
  h.sim.outside_began();
  std::thread other([&] { h.sim.wake(); });
  h.sim.turn(h.w, never);
  other.join();
  EXPECT_FALSE(h.sim.stalled());
  h.sim.outside_ended();
}

HEDDLE_TEST(sim, "wake() keeps the next turn from jumping") {
  sim_harness h;
  h.sim.wake();
  const time_point before = h.sim.now();
  h.sim.turn(h.w, before + 1h);
  EXPECT_LT(h.sim.now(), before + 1s);
}

HEDDLE_TEST(sim, "what is ready at one time comes in every order, each drawn by a seed") {
  std::set<std::string> orders;
  for (std::uint64_t seed = 1; seed <= 64; ++seed) {
    sim_harness h({.seed = seed, .inline_rate = 0});
    int ends[3][2];
    std::vector<std::unique_ptr<asked>> polls;
    for (auto& pair : ends) {
      ASSERT_EQ(h.sim.socket_pair(pair), 0);
      polls.push_back(std::make_unique<asked>(op_code::poll, pair[0]));
      polls.back()->flags = POLLOUT;
      h.submit(*polls.back());
    }
    h.settle();
    std::string order;
    for (const auto& p : polls) order += std::to_string(p->order);
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 6u);
}

HEDDLE_TEST(sim, "operations end in submit() for some seeds and in a turn for others") {
  int inline_count = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    sim_harness h({.seed = seed});
    int ends[2];
    ASSERT_EQ(h.sim.pipe(ends), 0);
    asked a(op_code::write, ends[1]);
    a.data = const_cast<char*>("x");
    a.len = 1;
    h.submit(a);
    inline_count += a.from_submit;
    EXPECT_EQ(a.is_pending(), !a.from_submit);
    EXPECT_EQ(h.finish(a), 1);
  }
  EXPECT_GT(inline_count, 5);
  EXPECT_LT(inline_count, 35);
}

HEDDLE_TEST(sim, "a request to cancel wins or loses against bytes on their way, as the seed says") {
  int won = 0, lost = 0, inside = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    sim_harness h({.seed = seed, .link = {.latency = 5us}});
    int a, b;
    h.connected(a, b);
    asked r(op_code::receive, b);
    char byte;
    r.data = &byte;
    r.len = 1;
    h.submit(r);
    h.write(a, "x");
    h.sim.cancel(r, h.w);
    inside += r.done;
    h.finish(r);
    ASSERT_EQ(r.got.size(), 1u);
    if (r.result() == 1) ++lost;
    if (r.result() == -ECANCELED) ++won;
    // What a cancelled read did not take is still there.
    if (r.result() == -ECANCELED) {
      EXPECT_EQ(h.read(b, &byte, 1), 1);
    }
    EXPECT_EQ(h.sim.pending(), 0u);
  }
  EXPECT_EQ(won + lost, 200);
  EXPECT_GT(won, 10);
  EXPECT_GT(lost, 10);
  EXPECT_GT(inside, 10);
}

HEDDLE_TEST(sim, "close ends what is pending on the descriptor, and keeps what had ended") {
  sim_harness h({.inline_rate = 0});
  int ends[2];
  ASSERT_EQ(h.sim.socket_pair(ends), 0);
  char bytes[4];
  asked first(op_code::receive, ends[0]), second(op_code::receive, ends[0]);
  for (asked* a : {&first, &second}) a->data = bytes, a->len = 1;
  h.submit(first);
  h.submit(second);
  asked w(op_code::send, ends[1]);
  w.data = const_cast<char*>("x");
  w.len = 1;
  h.submit(w);
  h.close(ends[0]);
  h.settle();
  EXPECT_EQ(first.result(), 1);
  EXPECT_EQ(second.result(), -ECANCELED);
  EXPECT_EQ(h.read(ends[0], bytes, 1), -EBADF);
  EXPECT_EQ(h.sim.open_descriptors(), 1u);
}

HEDDLE_TEST(sim, "reads of one descriptor end in the order of their calls") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    sim_harness h({.seed = seed, .faults = {.delayed = 0.5}});
    int ends[2];
    ASSERT_EQ(h.sim.socket_pair(ends), 0);
    char bytes[3];
    asked r[3] = {
        {op_code::receive, ends[0]}, {op_code::receive, ends[0]}, {op_code::receive, ends[0]}};
    for (int i = 0; i < 3; ++i) {
      r[i].data = &bytes[i];
      r[i].len = 1;
      h.submit(r[i]);
    }
    h.write(ends[1], "abc");
    h.settle();
    EXPECT_EQ(std::string(bytes, 3), "abc");
    EXPECT_LT(r[0].order, r[1].order);
    EXPECT_LT(r[1].order, r[2].order);
  }
}

HEDDLE_TEST(sim, "descriptors count up from a thousand and are not used again") {
  sim_harness h;
  const int first = h.sim.socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(first, 1000);
  h.close(first);
  EXPECT_EQ(h.sim.socket(AF_INET, SOCK_STREAM, 0), 1001);
}

HEDDLE_TEST(sim, "an option gives the lowest free descriptor, as kernels do") {
  sim_harness h({.reuse_descriptors = true});
  int fds[3];
  for (int& fd : fds) fd = h.sim.socket(AF_INET, SOCK_STREAM, 0);
  h.close(fds[1]);
  h.close(fds[0]);
  EXPECT_EQ(h.sim.socket(AF_INET, SOCK_STREAM, 0), fds[0]);
  EXPECT_EQ(h.sim.socket(AF_INET, SOCK_STREAM, 0), fds[1]);
}

HEDDLE_TEST(sim, "descriptors are bounded, and a pair comes whole or not at all") {
  sim_harness h({.descriptors_max = 1});
  int ends[2];
  EXPECT_EQ(h.sim.pipe(ends), -EMFILE);
  EXPECT_EQ(h.sim.socket(AF_INET, SOCK_STREAM, 0), 1000);
  EXPECT_EQ(h.sim.socket(AF_INET, SOCK_STREAM, 0), -EMFILE);
}

HEDDLE_TEST(sim, "a signal reaches who asked for it, once for many raises") {
  sim_harness h;
  EXPECT_FALSE(h.sim.raise_signal(SIGINT));
  const int fd = h.sim.signal_source(std::uint64_t{1} << (SIGINT - 1));
  const int other = h.sim.signal_source(std::uint64_t{3} << (SIGINT - 1));
  std::uint64_t count = 0;
  asked a(op_code::read, fd);
  a.data = &count;
  a.len = sizeof count;
  h.submit(a);
  h.settle();
  EXPECT_FALSE(a.done);
  EXPECT_FALSE(h.sim.raise_signal(SIGTERM));
  EXPECT_TRUE(h.sim.raise_signal(SIGINT));
  EXPECT_TRUE(h.sim.raise_signal(SIGINT));
  EXPECT_EQ(h.finish(a), 8);
  h.sim.release_signals(other, std::uint64_t{3} << (SIGINT - 1));
  EXPECT_EQ(h.sim.take_signal(std::uint64_t{1} << (SIGINT - 1)), SIGINT) << "others listen";
  EXPECT_EQ(h.sim.take_signal(std::uint64_t{1} << (SIGINT - 1)), 0) << "nothing is left";
  EXPECT_EQ(h.read(fd, &count, sizeof count, op_code::read), -EINPROGRESS);
}

HEDDLE_TEST(sim, "a call runs once, in line, and its value is the result") {
  sim_harness h;
  int runs = 0;
  asked a(op_code::call, -1);
  a.more = &runs;
  a.function = [](void* argument) noexcept -> std::int64_t {
    return ++*static_cast<int*>(argument) + 41;
  };
  h.submit(a);
  EXPECT_EQ(h.finish(a), 42);
  EXPECT_EQ(runs, 1);
}

HEDDLE_TEST(sim, "names of hosts come from a table, after the delay that it gives") {
  sim_harness h;
  h.sim.set_host("www.example.com", {"192.0.2.7", "2001:db8::7"}, 30ms);
  h.sim.set_host("gone.example.com", {});
  const auto question = [](const char* host, const char* service, int family) {
    resolve_request request;
    request.host = host;
    request.service = service;
    request.family = family;
    return request;
  };
  const auto ask = [&](resolve_request& request) {
    asked a(op_code::resolve, -1);
    a.more = &request;
    h.submit(a);
    EXPECT_EQ(h.finish(a), 0);
    return request.error;
  };
  resolve_request both = question("www.example.com", "8080", AF_UNSPEC);
  const time_point before = h.sim.now();
  EXPECT_EQ(ask(both), 0);
  EXPECT_GE(h.sim.now() - before, 30ms);
  ASSERT_EQ(both.found.size(), 2u);
  ::sockaddr_in name{};
  ASSERT_EQ(both.found[0].len, sizeof name);
  std::memcpy(&name, both.found[0].bytes.data(), sizeof name);
  EXPECT_EQ(std::memcmp(&name, endpoint(8080, "192.0.2.7").get(), sizeof name), 0);
  resolve_request six = question("www.example.com", "http", AF_INET6);
  EXPECT_EQ(ask(six), 0);
  EXPECT_EQ(six.found.size(), 1u);
  for (const char* missing : {"gone.example.com", "never.example.com"}) {
    resolve_request none = question(missing, "80", AF_UNSPEC);
    EXPECT_EQ(ask(none), EAI_NONAME) << missing;
  }
  resolve_request numeric = question("10.1.2.3", "80", AF_UNSPEC);
  resolve_request odd = question("::1", "?", AF_UNSPEC);
  EXPECT_EQ(ask(numeric), 0);
  EXPECT_EQ(ask(odd), EAI_SERVICE);
}

HEDDLE_TEST(sim, "random numbers come from the seed") {
  sim_harness a({.seed = 5}), b({.seed = 5}), c({.seed = 6});
  const std::uint64_t first = a.sim.random();
  EXPECT_EQ(first, b.sim.random());
  EXPECT_NE(first, c.sim.random());
  EXPECT_NE(first, a.sim.random());
}

}  // namespace heddle::test
