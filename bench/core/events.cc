// SPDX-License-Identifier: MIT
// Events: made, triggered and collected; a call with a completion event; timers; a turn of the
// loop.
#include <benchmark/benchmark.h>

#include "heddle/core/twait.hh"
#include "heddle/heddle.hh"

namespace {

using namespace heddle;
using namespace std::chrono_literals;

constexpr int rounds = 4096;

task<> made_triggered_collected() {
  rendezvous<> r;
  int slot = 0;
  for (int i = 0; i < rounds; ++i) {
    event<int> e = r.make_event(slot);
    e.trigger(i);
    co_await r;
  }
  benchmark::DoNotOptimize(slot);
}

[[gnu::noinline]] void answer_at_once(event<int> done) { done.trigger(1); }

task<> calls() {
  int slot = 0;
  for (int i = 0; i < rounds; ++i) {
    twait { answer_at_once(mkevent(slot)); }
  }
  benchmark::DoNotOptimize(slot);
}

[[gnu::noinline]] tamed answer_tamed(event<int> done) {
  done.trigger(1);
  co_return;
}

task<> tamed_calls() {
  int slot = 0;
  for (int i = 0; i < rounds; ++i) {
    twait { answer_tamed(mkevent(slot)); }
  }
  benchmark::DoNotOptimize(slot);
}

task<> asap_turns() {
  for (int i = 0; i < rounds; ++i) {
    twait { asap(mkevent()); }
  }
}

task<> quiet_timeouts() {
  for (int i = 0; i < rounds; ++i) co_await with_timeout(yield(), 1h);
}

template <task<> (*Program)()>
void programs(benchmark::State& state) {
  runtime rt;
  for (auto _ : state) rt.run(Program());
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * rounds);
}
BENCHMARK(programs<made_triggered_collected>)->Name("core/event");
BENCHMARK(programs<calls>)->Name("core/twait_call");
BENCHMARK(programs<tamed_calls>)->Name("core/twait_tamed_call");
BENCHMARK(programs<asap_turns>)->Name("core/twait_asap");
BENCHMARK(programs<quiet_timeouts>)->Name("core/timeout_not_fired");

}  // namespace

BENCHMARK_MAIN();
