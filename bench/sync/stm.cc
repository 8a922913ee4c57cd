// SPDX-License-Identifier: MIT
// Transactions: what one costs alone, with many variables, and between two threads beside a mutex.
// One operation is one item; with two threads, the time is the processor time of both.
#include <benchmark/benchmark.h>

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "heddle/heddle.hh"
#include "heddle/sync/atomically.hh"

namespace {

using namespace heddle;

constexpr int rounds = 4096;

int add_one(transaction& tx, tvar<int>& v) {
  const int n = tx.read(v) + 1;
  tx.write(v, n);
  return n;
}

task<> add_many(tvar<int>& v, int times) {
  for (int i = 0; i < times; ++i) co_await atomically(add_one, std::ref(v));
}

void read_modify_write(benchmark::State& state) {
  runtime rt;
  tvar<int> v = 0;
  for (auto _ : state) rt.run(add_many(v, rounds));
  state.SetItemsProcessed(state.iterations() * rounds);
}
BENCHMARK(read_modify_write)->Name("stm/read_modify_write");

long sum(transaction& tx, const std::vector<std::unique_ptr<tvar<int>>>& all) {
  long n = 0;
  for (const auto& v : all) n += tx.read(*v);
  return n;
}

task<> sum_many(const std::vector<std::unique_ptr<tvar<int>>>& all, int times) {
  for (int i = 0; i < times; ++i)
    benchmark::DoNotOptimize(co_await atomically(sum, std::cref(all)));
}

/// An item is one variable: the same for each count means linear.
void read_only(benchmark::State& state) {
  runtime rt;
  std::vector<std::unique_ptr<tvar<int>>> all;
  for (std::int64_t i = 0; i < state.range(0); ++i) all.push_back(std::make_unique<tvar<int>>(1));
  for (auto _ : state) rt.run(sum_many(all, 16));
  state.SetItemsProcessed(state.iterations() * 16 * state.range(0));
}
BENCHMARK(read_only)->Name("stm/read_variables")->Arg(10)->Arg(100)->Arg(1000)->Arg(10000);

/// On its own line, so that two of them do not share one.
struct alignas(128) padded {
  tvar<int> v = 0;
  std::mutex lock;
  int plain = 0;
};

constexpr int contended_rounds = 100'000;

template <class Body>
void on_two_threads(benchmark::State& state, Body body) {
  for (auto _ : state) {
    std::atomic<int> ready = 0;
    std::vector<std::thread> all;
    for (int i = 0; i < 2; ++i)
      all.emplace_back([&, i] {
        runtime rt;
        ++ready;
        while (ready < 2) {
        }
        body(rt, i);
      });
    for (std::thread& t : all) t.join();
  }
  state.SetItemsProcessed(state.iterations() * 2 * contended_rounds);
}

void transactions(benchmark::State& state, bool shared) {
  std::vector<padded> all(2);
  on_two_threads(state, [&](runtime& rt, int self) {
    rt.run(add_many(all[shared ? 0 : static_cast<std::size_t>(self)].v, contended_rounds));
  });
}
/// The same work behind one lock, which is what protects "all counters" without transactions.
void locked(benchmark::State& state, bool shared) {
  std::vector<padded> all(2);
  on_two_threads(state, [&](runtime&, int self) {
    for (int i = 0; i < contended_rounds; ++i) {
      const std::lock_guard hold(all[0].lock);
      int& n = all[shared ? 0 : static_cast<std::size_t>(self)].plain;
      benchmark::DoNotOptimize(++n);
    }
  });
}
BENCHMARK_CAPTURE(transactions, one_counter, true)
    ->Name("stm/two_threads_one")
    ->MeasureProcessCPUTime();
BENCHMARK_CAPTURE(locked, one_counter, true)
    ->Name("mutex/two_threads_one")
    ->MeasureProcessCPUTime();
BENCHMARK_CAPTURE(transactions, disjoint, false)
    ->Name("stm/two_threads_disjoint")
    ->MeasureProcessCPUTime();
BENCHMARK_CAPTURE(locked, disjoint, false)
    ->Name("mutex/two_threads_disjoint")
    ->MeasureProcessCPUTime();

}  // namespace

BENCHMARK_MAIN();
