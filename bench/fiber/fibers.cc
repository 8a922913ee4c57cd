// SPDX-License-Identifier: MIT
// Suite fiber: what a switch, a yield, a spawn with its join and a waiting fiber cost. A yield is
// two switches, out to the carrier and in again. Peers are the programs `core` of bench/rivals.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <fstream>

#include "heddle/fiber/fiber.hh"
#include "heddle/heddle.hh"

namespace {

using namespace heddle;

double resident_bytes() {
  std::ifstream text("/proc/self/statm");
  double total = 0, resident = 0;
  text >> total >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

void nothing() {}

bool stop_yielding = false;
int begun = 0;
void yield_for_ever() {
  ++begun;
  while (!stop_yielding) await(yield());
}

/// Starts so many, and lets each run until it waits.
void start_yielding(runtime& rt, int fibers) {
  stop_yielding = false;
  begun = 0;
  for (int i = 0; i < fibers; ++i) rt.spawn(fiber(yield_for_ever));
  while (begun < fibers) rt.once();
}

/// Items are yields, or switches: two of them make a yield.
template <int Fibers, int ItemsOfYield>
void yields(benchmark::State& state) {
  runtime rt;
  start_yielding(rt, Fibers);
  worker& w = rt.main_worker();
  constexpr std::size_t batch = 8192;
  for (auto _ : state) w.run_ready(batch);
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * batch * ItemsOfYield));
  stop_yielding = true;
  rt.run();
}
BENCHMARK(yields<2, 2>)->Name("fiber/switch");
BENCHMARK(yields<2, 1>)->Name("fiber/yield_2");
BENCHMARK(yields<10'000, 1>)->Name("fiber/yield_10000");

/// What the resident memory grows by for each fiber that has run and waits.
void parked(benchmark::State& state) {
  constexpr int fibers = 10'000;
  runtime rt;
  rt.spawn(fiber(nothing));
  rt.run();
  for (auto _ : state) {
    const double before = resident_bytes();
    start_yielding(rt, fibers);
    state.counters["bytes"] = (resident_bytes() - before) / fibers;
  }
  stop_yielding = true;
  rt.run();
}
BENCHMARK(parked)->Name("fiber/parked_bytes")->Iterations(1);

constexpr int rounds = 4096;

task<> spawn_and_join() {
  for (int i = 0; i < rounds; ++i) co_await fiber(nothing);
}

task<> spawn_and_join_many() {
  for (int i = 0; i < rounds / 64; ++i) {
    scope s;
    for (int k = 0; k < 64; ++k) s.spawn(fiber(nothing));
    co_await s.join();
  }
}

template <task<> (*Program)()>
void programs(benchmark::State& state) {
  runtime rt;
  for (auto _ : state) rt.run(Program());
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * rounds);
}
BENCHMARK(programs<spawn_and_join>)->Name("fiber/spawn_join");
BENCHMARK(programs<spawn_and_join_many>)->Name("fiber/spawn_join_64");

}  // namespace

BENCHMARK_MAIN();
