// SPDX-License-Identifier: MIT
// Suite sim: a whole run under simulation, from the making of its world and its runtime to their
// end, as tests and fuzzers make them by the thousand: a run of nothing, of a small random program
// (2 to 7 tasks of 10 steps), of one with fibers, of 100 requests of HTTP, and of a cluster of two
// nodes. On epoll the first two show what a real runtime adds. Each counts page faults and time in
// the kernel, too; scripts/bench_sim.py counts system calls.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "heddle/heddle.hh"
#include "heddle/sim/cluster.hh"
#include "heddle/sim/driver.hh"
#include "heddle/sync/channel.hh"
#include "heddle/sync/mutex.hh"
#include "heddle/web/server.hh"
#if HEDDLE_WITH_FIBER
#include "heddle/fiber/fiber.hh"
#endif

namespace {

using namespace heddle;
using namespace std::chrono_literals;

/// Numbers from a seed (Steele and others 2014, SplitMix).
class dice {
 public:
  explicit dice(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t below(std::uint64_t bound) noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (z ^ (z >> 31)) % bound;
  }

 private:
  std::uint64_t state_;
};

/// What the tasks of a program share. The channel is bounded, so pushes wait as well.
struct shared {
  explicit shared(std::uint64_t seed) noexcept : random(seed) {}
  dice random;
  channel<int> values{2};
  mutex lock;
  long sum = 0;
};

nanoseconds drawn_span(shared& all) {
  return nanoseconds(static_cast<std::int64_t>(all.random.below(1'000'000)));
}

task<> step(shared& all, std::uint64_t kind) {
  switch (kind) {
    case 0:
      co_await sleep_for(drawn_span(all));
      break;
    case 1:
      co_await all.values.push(1);
      break;
    case 2:
      if (const std::optional<int> value = co_await all.values.pop()) all.sum += *value;
      break;
    case 3: {
      const auto held = co_await all.lock.lock();
      co_await sleep_for(drawn_span(all));
      break;
    }
    default:
      co_await yield();
  }
}

task<> steps(shared& all, std::uint64_t count) {
  for (std::uint64_t i = 0; i != count; ++i) {
    // A push into a full channel may wait for ever, so each step has a time limit. The limit of
    // 100 us also cancels steps that would have ended.
    const auto limit = all.random.below(4) == 0 ? 100us : 5ms;
    const std::uint64_t kind = all.random.below(5);
    static_cast<void>(co_await as_expected(with_timeout(step(all, kind), limit)));
  }
}

#if HEDDLE_WITH_FIBER
void fiber_steps(shared& all, std::uint64_t count) {
  for (std::uint64_t i = 0; i != count; ++i) {
    const std::uint64_t kind = all.random.below(5);
    static_cast<void>(await(as_expected(with_timeout(step(all, kind), 5ms))));
  }
}
#endif

enum class cast : bool { tasks, fibers_too };

task<> program(std::uint64_t seed, cast who) {
  shared all(seed);
  scope s;
  for (std::uint64_t left = 2 + all.random.below(6); left != 0; --left) {
    const std::uint64_t count = 5 + all.random.below(11);
#if HEDDLE_WITH_FIBER
    if (who == cast::fibers_too && left % 2 == 0) {
      s.spawn(fiber(fiber_steps, std::ref(all), count));
      continue;
    }
#endif
    s.spawn(steps(all, count));
  }
  static_cast<void>(who);
  co_await s.join();
}

task<> nothing() { co_return; }

task<> hundred_answers() {
  constexpr std::string_view request = "GET /a HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n";
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  const address at = door.local();
  http::server web([](http::request&) -> task<http::response> {
    co_return http::response(200).text("hello\n");
  });
  scope s;
  s.spawn(web.serve(std::move(door)));
  {
    tcp_stream conn = co_await tcp_connect(at);
    for (int i = 0; i != 100; ++i) {
      co_await conn.write(request);
      const received answer = co_await conn.receive();
      if (answer.empty()) std::abort();
    }
  }
  web.stop();
  co_await s.join();
}

std::unique_ptr<driver> simulated(std::uint64_t seed) {
  return std::make_unique<sim_driver>(sim_options{.seed = seed});
}
std::unique_ptr<driver> real(std::uint64_t) { return make_driver("epoll", driver_options{}); }

/// What this process has used since the object was made.
class usage {
 public:
  usage() noexcept { ::getrusage(RUSAGE_SELF, &before_); }
  void store(benchmark::State& state, double items) const {
    rusage now{};
    ::getrusage(RUSAGE_SELF, &now);
    const auto ns = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_usec) * 1e3;
    };
    state.counters["kernel_ns"] = (ns(now.ru_stime) - ns(before_.ru_stime)) / items;
    state.counters["page_faults"] = static_cast<double>(now.ru_minflt - before_.ru_minflt) / items;
  }

 private:
  rusage before_{};
};

double items_made = 0;  // by all repetitions, for bench_sim.py

template <class Make>
void runs(benchmark::State& state, std::unique_ptr<driver> (*world)(std::uint64_t), Make make,
          int items = 1) {
  std::uint64_t seed = 0;
  const usage used;
  for (auto _ : state) {
    runtime_options options;
    options.workers = 1;
    runtime rt(world(++seed), std::move(options));
    rt.run(make(seed));
  }
  const double made = static_cast<double>(state.iterations()) * items;
  used.store(state, made);
  items_made += made;
  state.counters["items_made"] = items_made;
  state.SetItemsProcessed(static_cast<std::int64_t>(made));
}

task<int> answering(sim::node&) {
  const tcp_listener door = tcp_listener::listen(address::any_v4(7));
  const tcp_stream caller = co_await door.accept();
  while (received in = co_await caller.receive()) co_await caller.write(in.data());
  co_return 0;
}

task<int> asking(sim::node&) {
  const tcp_stream conn = co_await tcp_connect("web", 7);
  co_await conn.write("ask");
  char answer[3];
  const std::size_t count = co_await conn.read(answer);
  co_return count == sizeof answer ? 0 : 1;
}

/// A run of two nodes: one resolves the other's name, connects, asks and gets an answer.
void cluster_runs(benchmark::State& state) {
  std::uint64_t seed = 0;
  const usage used;
  for (auto _ : state) {
    sim::cluster all({.world = {.seed = ++seed}});
    all.add({.name = "web", .program = answering});
    all.add({.name = "user", .program = asking});
    if (!all.run(1min)) std::abort();
  }
  const auto made = static_cast<double>(state.iterations());
  used.store(state, made);
  items_made += made;
  state.counters["items_made"] = items_made;
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(cluster_runs)->Name("sim/cluster_run");

task<> of_tasks(std::uint64_t seed) { return program(seed, cast::tasks); }
task<> of_nothing(std::uint64_t) { return nothing(); }
task<> of_answers(std::uint64_t) { return hundred_answers(); }

BENCHMARK_CAPTURE(runs, , simulated, of_nothing)->Name("sim/empty_run");
BENCHMARK_CAPTURE(runs, , real, of_nothing)->Name("sim/empty_run/heddle_epoll");
BENCHMARK_CAPTURE(runs, , simulated, of_tasks)->Name("sim/small_run");
BENCHMARK_CAPTURE(runs, , real, of_tasks)->Name("sim/small_run/heddle_epoll");
#if HEDDLE_WITH_FIBER
task<> of_fibers(std::uint64_t seed) { return program(seed, cast::fibers_too); }
BENCHMARK_CAPTURE(runs, , simulated, of_fibers)->Name("sim/small_run_fibers");
#endif
// An item is one answer of 100 on one connection, the making of the runtime included.
BENCHMARK_CAPTURE(runs, , simulated, of_answers, 100)->Name("sim/http_answer");

}  // namespace
