// SPDX-License-Identifier: MIT
// The paper's small programs: a call of nothing, a call through an implicit and an explicit
// rendezvous on a zero timer, a call with completion, an event with an adapter, a timeout that
// does not fire.
#include <benchmark/benchmark.h>

#include <functional>
#include <utility>

#include "heddle/core/adapt.hh"
#include "heddle/core/notify.hh"
#include "heddle/core/twait.hh"
#include "heddle/heddle.hh"

namespace {

using namespace heddle;
using namespace std::chrono_literals;

constexpr int rounds = 4096;

[[gnu::noinline]] tamed null_function() { co_return; }

task<> nullfn() {
  for (int i = 0; i < rounds; ++i) null_function();
  co_return;
}

task<> benchfn_implicit() {
  for (int i = 0; i < rounds; ++i) {
    twait { timer(0s, mkevent()); }
  }
}

task<> benchfn_explicit() {
  rendezvous<> r;
  for (int i = 0; i < rounds; ++i) {
    timer(0s, r.make_event());
    co_await r;
  }
}

[[gnu::noinline]] void answer(int n, event<int> done) { done.trigger(n); }

task<> completion() {
  rendezvous<> r;
  int slot = 0;
  for (int i = 0; i < rounds; ++i) {
    answer(i, r.make_event(slot));
    co_await r;
  }
  benchmark::DoNotOptimize(slot);
}

task<> adapter() {
  rendezvous<> r;
  int slot = 0;
  for (int i = 0; i < rounds; ++i) {
    bind(r.make_event(slot), i).trigger();
    co_await r;
  }
  benchmark::DoNotOptimize(slot);
}

/// An event with a timeout, triggered before: the timer is armed and cancelled.
task<> event_timeout() {
  rendezvous<> r;
  int slot = 0;
  for (int i = 0; i < rounds; ++i) {
    with_timeout(r.make_event(slot), 1h).trigger(i);
    co_await r;
  }
  benchmark::DoNotOptimize(slot);
}

task<int> number(int n) { co_return n; }

/// A task with a timeout that does not fire.
task<> task_timeout() {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) sum += co_await with_timeout(number(i), 1h);
  benchmark::DoNotOptimize(sum);
}

template <task<> (*Program)()>
void programs(benchmark::State& state) {
  runtime rt;
  for (auto _ : state) rt.run(Program());
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * rounds);
}
BENCHMARK(programs<nullfn>)->Name("core/nullfn");
BENCHMARK(programs<benchfn_implicit>)->Name("core/benchfn_implicit");
BENCHMARK(programs<benchfn_explicit>)->Name("core/benchfn_explicit");
BENCHMARK(programs<completion>)->Name("core/call_completion");
BENCHMARK(programs<adapter>)->Name("core/event_adapter");
BENCHMARK(programs<event_timeout>)->Name("core/event_timeout");
BENCHMARK(programs<task_timeout>)->Name("core/task_timeout");

/// The same work by hand: a function object that is called with the answer.
[[gnu::noinline]] void answer_callback(int n, std::move_only_function<void(int)> done) { done(n); }

void plain_callback(benchmark::State& state) {
  int slot = 0;
  for (auto _ : state) {
    answer_callback(1, [&slot](int n) { slot = n; });
    benchmark::DoNotOptimize(slot);
  }
}
BENCHMARK(plain_callback)->Name("core/plain_callback");

}  // namespace

BENCHMARK_MAIN();
