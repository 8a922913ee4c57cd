// SPDX-License-Identifier: MIT
// Hops between colors for each request, counted in the simulation with 16 workers: what the model
// of docs/papers/capacity.md assumes. Each client has a color; its requests need what belongs to
// the client alone, or what belongs to one color that all share.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>

#include "heddle/heddle.hh"
#include "heddle/sim/driver.hh"

namespace {

using namespace heddle;

constexpr std::int64_t first_client = 1, clients = 64;
constexpr color shared_data(1000);
constexpr int orders = 8;  // each seed is another order of the workers

task<long> look_up(color in, long& count) {
  co_await enter(in);
  co_return ++count;
}

/// The requests of one client, one after the other.
task<> ask(bool shares, color own, long requests, long& shared_count) {
  long own_count = 0;
  for (long i = 0; i < requests; ++i) {
    if (shares) {
      co_await look_up(shared_data, shared_count);
    } else {
      co_await look_up(own, own_count);
    }
  }
}

task<> ask_all(bool shares, long requests, long& shared_count) {
  scope all;
  for (std::int64_t i = 0; i < clients; ++i) {
    const color own(first_client + i);
    all.spawn(own, ask(shares, own, requests, shared_count));
  }
  co_await all.join();
}

/// Frames that run in any color until all requests are answered.
std::uint64_t frames(bool shares, long requests, std::uint64_t seed) {
  runtime_options options;
  options.workers = 16;
  runtime rt(std::make_unique<sim_driver>(sim_options{.seed = seed}), options);
  long shared_count = 0;
  rt.run(ask_all(shares, requests, shared_count));
  std::uint64_t sum = 0;
  for (const color_statistics& each : rt.read_colors()) sum += each.frames;
  return sum;
}

/// The difference of two runs, so that starting and ending the clients does not count.
void hops(benchmark::State& state, bool shares) {
  constexpr long requests = 100;
  std::uint64_t more = 0;
  for (auto _ : state) {
    for (std::uint64_t seed = 1; seed <= orders; ++seed) {
      const std::uint64_t one = frames(shares, requests, seed);
      const std::uint64_t each = frames(shares, 2 * requests, seed) - one;
      if (seed != 1 && each != more) state.SkipWithError("the count depends on the order");
      more = each;
    }
  }
  state.counters["hops"] = static_cast<double>(more) / static_cast<double>(clients * requests);
}
BENCHMARK_CAPTURE(hops, own, false)->Name("capacity/hops_own_color")->Iterations(1);
BENCHMARK_CAPTURE(hops, shared, true)->Name("capacity/hops_shared_color")->Iterations(1);

}  // namespace

BENCHMARK_MAIN();
