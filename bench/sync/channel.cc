// SPDX-License-Identifier: MIT
// Values and locks that go from one function to another on one color: a channel that holds one
// value, one that holds many, and a mutex that another function waits for each time.
#include <benchmark/benchmark.h>

#include "heddle/heddle.hh"
#include "heddle/sync/channel.hh"
#include "heddle/sync/mutex.hh"
#include "heddle/sync/semaphore.hh"

namespace {

using namespace heddle;

constexpr int rounds = 8192;

task<> gives(channel<int>& to) {
  for (int i = 0; i < rounds; ++i) co_await to.push(i);
  to.close();
}
task<> takes(channel<int>& from) {
  int sum = 0;
  while (auto n = co_await from.pop()) sum += *n;
  benchmark::DoNotOptimize(sum);
}

template <std::size_t Capacity>
task<> hand_over() {
  channel<int> c(Capacity);
  scope s;
  s.spawn(takes(c));
  s.spawn(gives(c));
  co_await s.join();
}

/// The same in batches of 64.
task<> gives_many(channel<int>& to) {
  std::vector<int> batch(64);
  for (int i = 0; i < rounds / 64; ++i) co_await to.push_many(batch);
  to.close();
}
task<> takes_many(channel<int>& from) {
  int sum = 0;
  std::vector<int> batch;
  for (std::size_t n = 1; n != 0;) {
    batch.clear();
    n = co_await from.pop_many(batch, 64);
    for (const int value : batch) sum += value;
  }
  benchmark::DoNotOptimize(sum);
}
task<> batches() {
  channel<int> c(128);
  scope s;
  s.spawn(takes_many(c));
  s.spawn(gives_many(c));
  co_await s.join();
}

task<> takes_turns(mutex& m, int count) {
  for (int i = 0; i < count; ++i) {
    auto held = co_await m.lock();
    co_await yield();
  }
}

/// Each release hands the lock to the other function, which waits for it.
task<> contended() {
  mutex m;
  scope s;
  s.spawn(takes_turns(m, rounds / 2));
  s.spawn(takes_turns(m, rounds / 2));
  co_await s.join();
}

task<> uncontended() {
  mutex m;
  for (int i = 0; i < rounds; ++i) auto held = co_await m.lock();
}

task<> permits() {
  semaphore sem(8);
  for (int i = 0; i < rounds; ++i) auto held = co_await sem.acquire(3);
}

template <task<> (*Program)()>
void programs(benchmark::State& state) {
  runtime rt;
  for (auto _ : state) rt.run(Program());
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * rounds);
}
BENCHMARK(programs<hand_over<0>>)->Name("sync/channel_0");
BENCHMARK(programs<hand_over<1>>)->Name("sync/channel_1");
BENCHMARK(programs<hand_over<128>>)->Name("sync/channel_128");
BENCHMARK(programs<batches>)->Name("sync/channel_batches");
BENCHMARK(programs<contended>)->Name("sync/mutex_hand_over");
BENCHMARK(programs<uncontended>)->Name("sync/mutex_free");
BENCHMARK(programs<permits>)->Name("sync/semaphore_free");

}  // namespace

BENCHMARK_MAIN();
