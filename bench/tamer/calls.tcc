// SPDX-License-Identifier: MIT
// What tamed functions cost that were translated: a call without a wait, a wait that is not taken, an
// event, a call that answers at once, a wait that is taken, and the bytes of a function that waits.
#include <benchmark/benchmark.h>
#include <tamer/tamer.hh>

#include <cstdint>
#include <vector>

namespace {

using namespace tamer;

constexpr int rounds = 4096;

[[gnu::noinline]] tamed void null_function(int* n) { ++*n; }

[[gnu::noinline]] tamed void wait_not_taken(int* n) {
  twait { ++*n; }
}

[[gnu::noinline]] void answer(int n, event<int> done) { done(n); }

tamed void calls_of_nothing(int* n) {
  for (int i = 0; i < rounds; ++i) null_function(n);
}

tamed void waits_not_taken(int* n) {
  for (int i = 0; i < rounds; ++i) wait_not_taken(n);
}

tamed void events(int* n) {
  tvars { rendezvous<> r; int i; int slot(0); }
  for (i = 0; i < rounds; ++i) {
    event<int> e = make_event(r, slot);
    e(i);
    twait(r);
  }
  *n += slot;
}

/// The same with a variable that is not the function's: it is looked up, so that it is cut off when
/// its function ends.
tamed void events_elsewhere(int* n) {
  tvars { rendezvous<> r; int i; }
  for (i = 0; i < rounds; ++i) {
    event<int> e = make_event(r, *n);
    e(i);
    twait(r);
  }
}

tamed void answers(int* n) {
  tvars { int i; int slot(0); }
  for (i = 0; i < rounds; ++i) twait { answer(i, make_event(slot)); }
  *n += slot;
}

tamed void turns(int* n) {
  tvars { int i; }
  for (i = 0; i < rounds; ++i) twait { at_asap(make_event()); }
  ++*n;
}

template <void (*Program)(int*)>
void programs(benchmark::State& state) {
  tamer::initialize();
  int n = 0;
  for (auto _ : state) {
    Program(&n);
    tamer::loop();
    benchmark::DoNotOptimize(n);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * rounds);
  tamer::cleanup();
}
BENCHMARK(programs<calls_of_nothing>)->Name("tamer/nullfn");
BENCHMARK(programs<waits_not_taken>)->Name("tamer/wait_not_taken");
BENCHMARK(programs<events>)->Name("tamer/event");
BENCHMARK(programs<events_elsewhere>)->Name("tamer/event_with_foreign_slot");
BENCHMARK(programs<answers>)->Name("tamer/answer_at_once");
BENCHMARK(programs<turns>)->Name("tamer/wait_on_asap");

tamed void one_wait(std::vector<std::uintptr_t>* at, std::vector<event<>>* out) {
  tvars { void* variable; }
  at->push_back(reinterpret_cast<std::uintptr_t>(&variable));
  twait { out->push_back(make_event()); }
  benchmark::DoNotOptimize(variable);
}

/// The bytes between two functions that were called one after the other, each with an event.
void bytes_of_a_function(benchmark::State& state) {
  tamer::initialize();
  std::uintptr_t least = UINTPTR_MAX;
  for (auto _ : state) {
    std::vector<std::uintptr_t> at;
    std::vector<event<>> out;
    for (int i = 0; i < rounds; ++i) one_wait(&at, &out);
    for (int i = 1; i < rounds; ++i)
      if (at[i] > at[i - 1] && at[i] - at[i - 1] < least) least = at[i] - at[i - 1];
    for (event<>& e : out) e();
    tamer::loop();
  }
  state.counters["bytes"] = static_cast<double>(least);
  tamer::cleanup();
}
BENCHMARK(bytes_of_a_function)->Name("tamer/bytes_of_a_function")->Iterations(3);

}  // namespace

BENCHMARK_MAIN();
