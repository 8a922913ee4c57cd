// SPDX-License-Identifier: MIT
// Tasks: what a yield, a child and a spawned task cost, and how much memory a suspended one takes.
// One operation is one item: items_per_second gives the time of one.
#include <benchmark/benchmark.h>

#include "heddle/heddle.hh"

namespace {

using namespace heddle;

/// The minimal task of Li and Zdancewic, 2007: it yields for ever, with nothing of its own.
bool stop_minimal = false;
task<> minimal() {
  while (!stop_minimal) co_await yield();
}

template <int Tasks>
void yields(benchmark::State& state) {
  runtime rt;
  stop_minimal = false;
  for (std::int64_t i = 0; i < Tasks; ++i) rt.spawn(minimal());
  rt.once();
  worker& w = rt.main_worker();
  constexpr std::size_t batch = 8192;
  for (auto _ : state) w.run_ready(batch);
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * batch));
  stop_minimal = true;
  rt.run();
}
BENCHMARK(yields<2>)->Name("core/yield_2");
BENCHMARK(yields<10'000>)->Name("core/yield_10000");

void parked(benchmark::State& state) {
  constexpr std::int64_t count = 10'000'000;
  for (auto _ : state) {
    runtime rt;
    stop_minimal = false;
    const std::size_t before = rt.main_worker().memory.home().chunks_taken();
    for (std::int64_t i = 0; i < count; ++i) rt.spawn(minimal());
    for (int turn = 0; turn < 3; ++turn) rt.main_worker().run_ready(count);
    const std::size_t chunks = rt.main_worker().memory.home().chunks_taken() - before;
    state.counters["bytes"] =
        static_cast<double>(chunks * slab_chunk_bytes) / static_cast<double>(count);
    stop_minimal = true;
    rt.run();
  }
}
BENCHMARK(parked)->Name("core/parked_bytes");

task<> empty() { co_return; }

constexpr int rounds = 4096;

task<> await_children() {
  for (int i = 0; i < rounds; ++i) co_await empty();
}

task<> spawn_and_join_one() {
  scope s;
  for (int i = 0; i < rounds; ++i) {
    s.spawn(empty());
    co_await s.join();
  }
}

task<> spawn_and_join_many() {
  for (int i = 0; i < rounds / 64; ++i) {
    scope s;
    for (int k = 0; k < 64; ++k) s.spawn(empty());
    co_await s.join();
  }
}

template <task<> (*Program)()>
void programs(benchmark::State& state) {
  runtime rt;
  for (auto _ : state) rt.run(Program());
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * rounds);
}
BENCHMARK(programs<await_children>)->Name("core/await_empty_child");
BENCHMARK(programs<spawn_and_join_many>)->Name("core/spawn_join");
BENCHMARK(programs<spawn_and_join_one>)->Name("core/spawn_join_one");

}  // namespace

BENCHMARK_MAIN();
