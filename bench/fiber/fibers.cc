// SPDX-License-Identifier: MIT
// Fibers: what a switch, a spawn with its join, and a wait that is ready cost. One operation is one
// item; a yield is two switches (out to the carrier and in again), so a switch is half of it.
#include <benchmark/benchmark.h>

#include "heddle/fiber/fiber.hh"
#include "heddle/heddle.hh"

namespace {

using namespace heddle;

bool stop_yielding = false;
void yield_for_ever() {
  while (!stop_yielding) await(yield());
}

template <int Fibers>
void yields(benchmark::State& state) {
  runtime rt;
  stop_yielding = false;
  for (int i = 0; i < Fibers; ++i) rt.spawn(fiber(yield_for_ever));
  rt.once();
  worker& w = rt.main_worker();
  constexpr std::size_t batch = 8192;
  for (auto _ : state) w.run_ready(batch);
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * batch));
  stop_yielding = true;
  rt.run();
}
BENCHMARK(yields<2>)->Name("fiber/yield_2");
BENCHMARK(yields<10'000>)->Name("fiber/yield_10000");

constexpr int rounds = 4096;
void nothing() {}

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
BENCHMARK(programs<spawn_and_join>)->Name("fiber/spawn_join_one");
BENCHMARK(programs<spawn_and_join_many>)->Name("fiber/spawn_join");

}  // namespace

BENCHMARK_MAIN();
