// SPDX-License-Identifier: MIT
// Messages within a color, between colors and between cores, and work that all begins on one of
// two workers: the jobs of bench/rivals/*/colors. One operation is one item. `cpu_ns` is what all
// threads together spend on one; the time that Google Benchmark shows is the one that passes.
#include <benchmark/benchmark.h>

#include <vector>

#include "heddle/core/message.hh"
#include "heddle/heddle.hh"
#include "rivals/harness.hh"

namespace {

using namespace heddle;

runtime_options with_workers(unsigned workers, bool stealing = true) {
  runtime_options o;
  o.workers = workers;
  o.stealing = stealing;
  return o;
}

/// Runs body(runtime, n) in a fresh runtime again and again; it does n operations.
template <class Body>
void measure(benchmark::State& state, const runtime_options& options, long n, Body body) {
  double cpu = 0;
  for (auto _ : state) {
    runtime rt(options);
    const rival::times one = rival::both_times([&] { body(rt, n); });
    state.SetIterationTime(one.wall * 1e-9);
    cpu += one.cpu;
  }
  const auto operations = static_cast<double>(state.iterations()) * static_cast<double>(n);
  state.SetItemsProcessed(static_cast<std::int64_t>(operations));
  state.counters["cpu_ns"] = cpu / operations;
}

/// Runs start(end) in color 0 and waits until somebody triggers `end`, in whatever color.
template <class Start>
task<> until_end(Start start) {
  rendezvous<> r;
  start(r.make_event());
  co_await r;
}

// --- one message under way

/// A task that posts its own frame to the color it runs in; nothing is allocated.
task<> hop_on_the_spot(long n) {
  for (; n > 0; --n) co_await yield();
}

void post_run(benchmark::State& state) {
  measure(state, with_workers(1), 1'000'000,
          [](runtime& rt, long n) { rt.run(hop_on_the_spot(n)); });
}
BENCHMARK(post_run)->Name("sched/post_run")->UseManualTime();

/// A message that sends the next one, to and fro between two colors; each is allocated.
struct message_hop {
  color here, there;
  long left;
  event<>* end;
  void operator()() {
    if (--left > 0) {
      post(there, message_hop{there, here, left, end});
    } else {
      end->trigger();
    }
  }
};

template <unsigned Workers, int A, int B>
void message_hops(benchmark::State& state) {
  // Without stealing, or both ends of the chain might come to run on one worker.
  measure(state, with_workers(Workers, false), 1'000'000, [](runtime& rt, long n) {
    event<> ended;
    rt.run(until_end([&ended, n](event<> end) {
      ended = std::move(end);
      post(color(A), message_hop{color(A), color(B), n, &ended});
    }));
  });
}
BENCHMARK(message_hops<1, 0, 0>)->Name("sched/post_run_message")->UseManualTime();
BENCHMARK(message_hops<1, 1, 2>)->Name("sched/across_one")->UseManualTime();
// Colors 2 and 3 are at home on different workers.
BENCHMARK(message_hops<2, 2, 3>)->Name("sched/latency")->UseManualTime();

// --- a stream between two cores

/// The producer sends batches, and goes on when the consumer has taken as many.
struct item_stream {
  static constexpr long batch = 256;
  static constexpr long window = 4096;

  void produce() {
    while (left > 0 && on_the_way < window) {
      for (long i = 0; i < batch; ++i) post(to, [this, i] { take(i); });
      left -= batch;
      on_the_way += batch;
    }
    if (left == 0 && on_the_way == 0) end.trigger();
  }
  void take(long item) {
    sum += item;
    if (++taken % batch == 0)
      post(from, [this] {
        on_the_way -= batch;
        produce();
      });
  }

  long left;
  color from{2};
  color to{3};
  event<> end = {};
  long on_the_way = 0;
  alignas(128) long sum = 0;  // the consumer's
  long taken = 0;
};

void stream(benchmark::State& state) {
  constexpr long n = 1'000'000 / item_stream::batch * item_stream::batch;
  measure(state, with_workers(2, false), n, [](runtime& rt, long items) {
    item_stream all{.left = items};
    rt.run(until_end([&all](event<> end) {
      all.end = std::move(end);
      post(all.from, [&all] { all.produce(); });
    }));
    benchmark::DoNotOptimize(all.sum);
  });
}
BENCHMARK(stream)->Name("sched/stream")->UseManualTime();

// --- work for which somebody else may have time

/// All colors are even, so that all of them are the first worker's until somebody takes them.
void unbalanced(benchmark::State& state, const runtime_options& options) {
  measure(state, options, 20'000, [](runtime& rt, long n) {
    rt.spawn([](long tasks) -> task<> {
      for (long i = 0; i < tasks; ++i)
        post(color(2 * i), [i] { benchmark::DoNotOptimize(rival::work(i + 1)); });
      co_return;
    }(n));
    rt.run();
  });
}
void unbalanced_1(benchmark::State& state) { unbalanced(state, with_workers(1)); }
void unbalanced_2(benchmark::State& state) { unbalanced(state, with_workers(2)); }
void unbalanced_2_no_stealing(benchmark::State& state) {
  unbalanced(state, with_workers(2, false));
}
BENCHMARK(unbalanced_1)->Name("sched/unbalanced_1")->UseManualTime();
BENCHMARK(unbalanced_2)->Name("sched/unbalanced_2")->UseManualTime();
BENCHMARK(unbalanced_2_no_stealing)->Name("sched/unbalanced_2_no_stealing")->UseManualTime();

void many_colors(benchmark::State& state) {
  measure(state, with_workers(2), 1'000'000, [](runtime& rt, long n) {
    std::vector<long> sums(rival::many_colors);
    rt.spawn([](long messages, std::vector<long>& all) -> task<> {
      for (long i = 0; i < messages; ++i) {
        long& sum = all[static_cast<std::size_t>(i % rival::many_colors)];
        post(color(i % rival::many_colors), [&sum] { ++sum; });
      }
      co_return;
    }(n, sums));
    rt.run();
    for (const long one : sums)
      if (one != n / rival::many_colors) std::abort();
  });
}
BENCHMARK(many_colors)->Name("sched/many_colors")->UseManualTime();

}  // namespace

BENCHMARK_MAIN();
