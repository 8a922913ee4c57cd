// SPDX-License-Identifier: MIT
// Suite sync: what a transaction costs alone, by the number of variables that it reads, and on two
// threads beside a mutex. With two threads `cpu_ns` is the processor time of both for one
// operation, and the time of an item is what passes: half of what one thread takes, if both run all
// the time.
#include <benchmark/benchmark.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
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
BENCHMARK(read_modify_write)->Name("sync/read_modify_write");

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
BENCHMARK(read_only)->Name("sync/read_variables/heddle_10")->Arg(10);
BENCHMARK(read_only)->Name("sync/read_variables/heddle_100")->Arg(100);
BENCHMARK(read_only)->Name("sync/read_variables/heddle_1000")->Arg(1000);
BENCHMARK(read_only)->Name("sync/read_variables/heddle_10000")->Arg(10'000);

/// On its own line, so that two of them do not share one.
struct alignas(128) padded {
  tvar<int> v = 0;
  std::mutex lock;
  int plain = 0;
};

// Long beside a time slice: a thread that did all of its work in one would meet nobody.
constexpr int contended_rounds = 1'000'000;

double cpu_ns() {
  timespec t;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

/// Each thread on a core of its own, or the scheduler may run one after the other.
void pin_to(std::size_t core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

/// Both begin at once; what is measured ends with the later one.
template <class Body>
void on_two_threads(benchmark::State& state, Body body) {
  using clock = std::chrono::steady_clock;
  double cpu = 0;
  for (auto _ : state) {
    std::atomic<int> ready = 0;
    clock::time_point begin[2], end[2];
    double cpu_begin[2] = {}, cpu_end[2] = {};
    std::vector<std::thread> all;
    for (std::size_t i = 0; i < 2; ++i)
      all.emplace_back([&, i] {
        pin_to(i);
        runtime rt;
        ++ready;
        while (ready < 2) std::this_thread::yield();
        begin[i] = clock::now();
        cpu_begin[i] = cpu_ns();
        body(rt, static_cast<int>(i));
        cpu_end[i] = cpu_ns();
        end[i] = clock::now();
      });
    for (std::thread& t : all) t.join();
    const auto passed = std::max(end[0], end[1]) - std::min(begin[0], begin[1]);
    state.SetIterationTime(std::chrono::duration<double>(passed).count());
    cpu += std::max(cpu_end[0], cpu_end[1]) - std::min(cpu_begin[0], cpu_begin[1]);
  }
  const double operations = static_cast<double>(state.iterations()) * 2 * contended_rounds;
  state.SetItemsProcessed(static_cast<std::int64_t>(operations));
  state.counters["cpu_ns"] = cpu / operations;
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
BENCHMARK_CAPTURE(transactions, shared, true)
    ->Name("sync/two_workers_shared/heddle")
    ->UseManualTime();
BENCHMARK_CAPTURE(locked, shared, true)->Name("sync/two_workers_shared/mutex")->UseManualTime();
BENCHMARK_CAPTURE(transactions, disjoint, false)
    ->Name("sync/two_workers_disjoint/heddle")
    ->UseManualTime();
BENCHMARK_CAPTURE(locked, disjoint, false)
    ->Name("sync/two_workers_disjoint/mutex")
    ->UseManualTime();

}  // namespace

BENCHMARK_MAIN();
