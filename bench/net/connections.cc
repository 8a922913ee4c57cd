// SPDX-License-Identifier: MIT
// What an idle connection takes in a stack, and how fast connections open while there are many:
//   build/dist/bench/net_connections
// `simulated` has a million connections in memory. `tun` has 190,000 between two stacks of this
// process over two TUN devices, with the kernel routing between them, in a namespace of its own; it
// needs root. bytes: growth of the process' memory for each connection and end; right for the first
// case of a process only, because the second uses memory of the first again. stack_bytes: what the
// stack says. first_per_s, last_per_s: connections in a second of processor time, both ends; of the
// first 20,000 and of the last. open_ratio: the time of these to the time of those.
#include <benchmark/benchmark.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "heddle/net/provider.hh"
#include "heddle/tcp/device_sim.hh"
#include "net/tun.hh"
#include "tests/support/namespaces.hh"

namespace {

using namespace heddle;
using clock_type = std::chrono::steady_clock;

struct counting_user final : tcp::user {
  tcp::stack* on = nullptr;
  std::size_t open = 0;
  void accepted(tcp::connection c, std::uint16_t) noexcept override {
    on->take_accepted(c);
    ++open;
  }
  void connected(tcp::connection) noexcept override { ++open; }
  void received(tcp::connection, std::span<const std::byte>, tcp::packet&) noexcept override {}
  void acknowledged(tcp::connection, std::uint32_t) noexcept override {}
  void finished(tcp::connection) noexcept override {}
  void ended(tcp::connection, std::uint64_t, tcp::ending) noexcept override { --open; }
};

std::size_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  in >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Of this process: others on the machine do not count.
double cpu_seconds() {
  ::timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

constexpr std::size_t batch = 20'000;
constexpr std::uint16_t first_port = 80;
constexpr std::size_t per_port = 20'000;  // of 28,232 that the client has for each

tcp::stack_options options_of(std::uint64_t key) {
  tcp::stack_options o;
  o.key = {key, ~key};
  o.connections_max = 2'000'000;
  return o;
}

/// Opens `count` connections in batches; `run` works until so many are open.
template <class Open, class Run>
void open_all(benchmark::State& state, std::size_t count, const tcp::stack& server, Open&& open,
              Run&& run) {
  const std::size_t before = resident_bytes();
  double first = 0, last = 0;
  for (std::size_t done = 0; done < count;) {
    const std::size_t some = std::min(batch, count - done);
    const double began = cpu_seconds();
    if (!open(done, some) || !run(done + some)) {
      state.SkipWithError("connections did not open");
      return;
    }
    last = cpu_seconds() - began;
    if (done == 0) first = last;
    done += some;
  }
  const auto each = static_cast<double>(count);
  state.counters["bytes"] = static_cast<double>(resident_bytes() - before) / each / 2;
  state.counters["stack_bytes"] = static_cast<double>(server.memory().used) / each;
  state.counters["first_per_s"] = batch / first;
  state.counters["last_per_s"] = batch / last;
  state.counters["open_ratio"] = last / first;
  state.counters["connections"] = each;
}

void simulated(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    counting_user client_user, server_user;
    tcp::device_sim sim(1);
    const std::size_t a = sim.join({});
    tcp::stack client(options_of(1), sim.end(a), client_user);
    tcp::stack server(options_of(2), sim.end(a + 1), server_user);
    client_user.on = &client;
    server_user.on = &server;
    const auto own = tcp::ip_address::v4(10, 0, 0, 1), other = tcp::ip_address::v4(10, 0, 0, 2);
    client.add_address(own);
    server.add_address(other);
    sim.attach(a, client);
    sim.attach(a + 1, server);
    for (std::size_t p = 0; p <= count / per_port; ++p)
      server.listen(static_cast<std::uint16_t>(first_port + p));
    open_all(
        state, count, server,
        [&](std::size_t from, std::size_t some) {
          for (std::size_t i = from; i != from + some; ++i) {
            const auto port = static_cast<std::uint16_t>(first_port + i / per_port);
            if (!client.connect({own, 0}, {other, port}, sim.now())) return false;
            if (i % 100 == 99) sim.run_until(sim.now() + 300);
          }
          return true;
        },
        [&](std::size_t all) {
          for (int i = 0; i != 1000 && (client_user.open < all || server_user.open < all); ++i)
            sim.run_until(sim.now() + 100'000);
          return client_user.open == all && server_user.open == all;
        });
  }
}

void tun(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    const test::net_namespace space;
    if (!space) {
      state.SkipWithError("it needs root, namespaces and /dev/net/tun");
      return;
    }
    const test::net_namespace::visit in(space);
    for (const auto& [name, address] : {std::pair("tun0", "10.9.0.1"), {"tun1", "10.10.0.1"}}) {
      const int fd = test::make_tun(name, address, IFF_VNET_HDR | IFF_MULTI_QUEUE);
      if (fd < 0) {
        state.SkipWithError("no TUN device can be made");
        return;
      }
      ::close(fd);
    }
    std::ofstream("/proc/sys/net/ipv4/ip_forward") << "1";
    counting_user client_user, server_user;
    net::detail::tun_queue client_queue("tun1", true), server_queue("tun0", true);
    tcp::stack_options options = options_of(1);
    options.partial_checksums = true;
    tcp::stack client(options, client_queue, client_user);
    options.key = {7, 9};
    tcp::stack server(options, server_queue, server_user);
    client_user.on = &client;
    server_user.on = &server;
    const auto own = tcp::ip_address::v4(10, 10, 0, 2), other = tcp::ip_address::v4(10, 9, 0, 2);
    client.add_address(own);
    server.add_address(other);
    for (std::size_t p = 0; p <= count / per_port; ++p)
      server.listen(static_cast<std::uint16_t>(first_port + p));
    const auto now = [] {
      return std::chrono::duration_cast<std::chrono::microseconds>(
                 clock_type::now().time_since_epoch())
          .count();
    };
    const auto turn = [&] {
      bool some = false;
      for (auto& [queue, stack] : {std::pair(&client_queue, &client), {&server_queue, &server}}) {
        for (int i = 0; i != 64 && queue->read_into(*stack, now()); ++i) some = true;
        stack->advance(now());
        stack->flush(now());
      }
      return some;
    };
    // The devices begin a moment after their first queues were opened.
    for (int i = 0; i != 1000 && !(net::device_runs("tun0") && net::device_runs("tun1")); ++i)
      ::poll(nullptr, 0, 2);
    open_all(
        state, count, server,
        [&](std::size_t from, std::size_t some) {
          for (std::size_t i = from; i != from + some; ++i) {
            const auto port = static_cast<std::uint16_t>(first_port + i / per_port);
            if (!client.connect({own, 0}, {other, port}, now())) return false;
            if (i % 32 == 31) static_cast<void>(turn());
          }
          return true;
        },
        [&](std::size_t all) {
          const auto end = clock_type::now() + std::chrono::seconds(30);
          while ((client_user.open < all || server_user.open < all) && clock_type::now() < end) {
            if (turn()) continue;
            ::pollfd both[] = {{client_queue.number(), POLLIN, 0},
                               {server_queue.number(), POLLIN, 0}};
            ::poll(both, 2, 1);
          }
          return client_user.open == all && server_user.open == all;
        });
  }
}

BENCHMARK(simulated)->Name("net/connections/simulated")->Arg(1'000'000)->Iterations(1);
BENCHMARK(tun)->Name("net/connections/tun")->Arg(190'000)->Iterations(1);

}  // namespace
