// SPDX-License-Identifier: MIT
// What sharing between two workers costs a message: `io/two_workers/heddle_DRIVER` sends 64 bytes
// there and back over 32 connections; `io/two_workers/epoll_sets_N` does as little as possible with
// system calls alone, N = 2: a set for each thread, N = 1: one for both, where each registration is
// one-shot (docs/design/001-busy-workers.md). The counter is processor time for each message.
#include <benchmark/benchmark.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "heddle/heddle.hh"
#include "heddle/io/tcp.hh"

namespace {

using namespace heddle;

double processor_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

constexpr int connections = 32;
constexpr int rounds = 500;

task<> answer(tcp_stream conn) {
  while (received in = co_await conn.receive()) co_await conn.write(in.text());
}

task<> answer_all(tcp_listener& door) {
  for (int i = 0; i != connections; ++i) spawn(color(1000 + i), answer(co_await door.accept()));
}

task<> ask(address to) {
  tcp_stream conn = co_await tcp_connect(to);
  std::array<char, 64> text{};
  for (int i = 0; i != rounds; ++i) {
    co_await conn.write(std::string_view(text.data(), text.size()));
    co_await conn.read(text);
  }
}

task<> conversation() {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  scope s;
  s.spawn(answer_all(door));
  for (int i = 0; i != connections; ++i) s.spawn(color(1 + i), ask(door.local()));
  co_await s.join();
}

void two_workers(benchmark::State& state, const char* driver) {
  runtime_options options;
  options.workers = 2;
  options.driver = driver;
  runtime rt(options);
  double used = 0;
  for (auto _ : state) {
    const double before = processor_seconds();
    rt.run(conversation());
    used += processor_seconds() - before;
  }
  const auto messages = static_cast<double>(state.iterations()) * connections * rounds;
  state.counters["cpu_us"] = used * 1e6 / messages;
}

constexpr int pairs = 64;
constexpr int bytes_each = 5000;

/// Echoes what comes on the descriptors of a set until every one has had its bytes.
void echo(int set, unsigned events, bool again, std::vector<int>& left, std::atomic<int>& open) {
  std::array<epoll_event, 64> ready{};
  while (open > 0) {
    const int n = ::epoll_wait(set, ready.data(), static_cast<int>(ready.size()), 50);
    for (int i = 0; i < n; ++i) {
      const int fd = ready[static_cast<std::size_t>(i)].data.fd;
      char c = 0;
      while (::read(fd, &c, 1) == 1) {
        if (--left[static_cast<std::size_t>(fd)] == 0) --open;
        if (::write(fd, &c, 1) != 1) break;
      }
      epoll_event next{};
      next.events = events;
      next.data.fd = fd;
      if (again) ::epoll_ctl(set, EPOLL_CTL_MOD, fd, &next);
    }
  }
}

void epoll_sets(benchmark::State& state) {
  const bool shared = state.range(0) == 1;
  const unsigned events = EPOLLIN | EPOLLET | (shared ? EPOLLONESHOT : 0U);
  double used = 0;
  for (auto _ : state) {
    const int first = ::epoll_create1(EPOLL_CLOEXEC);
    const int second = shared ? first : ::epoll_create1(EPOLL_CLOEXEC);
    std::vector<int> left(4096), all;
    std::atomic<int> open{2 * pairs};
    for (int i = 0; i != pairs; ++i) {
      int ends[2];
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
        std::abort();
      for (const int fd : ends) {
        epoll_event e{};
        e.events = events;
        e.data.fd = fd;
        left[static_cast<std::size_t>(fd)] = bytes_each;
        all.push_back(fd);
        ::epoll_ctl(i % 2 == 0 ? first : second, EPOLL_CTL_ADD, fd, &e);
      }
      if (::write(ends[0], "x", 1) != 1) std::abort();
    }
    const double before = processor_seconds();
    std::thread other([&] { echo(second, events, shared, left, open); });
    echo(first, events, shared, left, open);
    other.join();
    used += processor_seconds() - before;
    for (const int fd : all) ::close(fd);
    ::close(first);
    if (!shared) ::close(second);
  }
  const auto messages = static_cast<double>(state.iterations()) * 2 * pairs * bytes_each;
  state.counters["cpu_us"] = used * 1e6 / messages;
}

BENCHMARK_CAPTURE(two_workers, heddle_io_uring, "io_uring")->Name("io/two_workers/heddle_io_uring");
BENCHMARK_CAPTURE(two_workers, heddle_epoll, "epoll")->Name("io/two_workers/heddle_epoll");
BENCHMARK(epoll_sets)->Name("io/two_workers/epoll_sets")->Arg(1)->Arg(2);

}  // namespace
