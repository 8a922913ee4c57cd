// SPDX-License-Identifier: MIT
// Suite io: a blocking call's round trip on each driver, beside the least that handing work to a
// thread and waiting for its answer can cost: a mutex and two condition variables. Processor time
// of both threads, so that whoever else uses the machine does not matter.
#include <benchmark/benchmark.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "heddle/heddle.hh"
#include "heddle/io/blocking.hh"

namespace {

using namespace heddle;

constexpr int rounds = 256;

int add_one(int n) { return n + 1; }

task<> round_trips() {
  int n = 0;
  for (int i = 0; i < rounds; ++i) n = co_await blocking(add_one, n);
  benchmark::DoNotOptimize(n);
}

void calls(benchmark::State& state, const char* driver) {
  runtime rt({.driver = driver});
  for (auto _ : state) rt.run(round_trips());
  state.SetItemsProcessed(state.iterations() * rounds);
}
BENCHMARK_CAPTURE(calls, io_uring, "io_uring")
    ->Name("io/blocking_call/heddle_uring")
    ->MeasureProcessCPUTime();
BENCHMARK_CAPTURE(calls, epoll, "epoll")
    ->Name("io/blocking_call/heddle_epoll")
    ->MeasureProcessCPUTime();
BENCHMARK_CAPTURE(calls, poll, "poll")
    ->Name("io/blocking_call/heddle_poll")
    ->MeasureProcessCPUTime();

struct bare {
  std::mutex lock;
  std::condition_variable asked, answered;
  bool has_call = false, has_answer = false, ending = false;
  int value = 0;

  void serve() {
    std::unique_lock hold(lock);
    for (;;) {
      asked.wait(hold, [&] { return has_call || ending; });
      if (ending) return;
      has_call = false;
      hold.unlock();
      const int result = add_one(value);
      hold.lock();
      value = result;
      has_answer = true;
      answered.notify_one();
    }
  }
  int call(int n) {
    std::unique_lock hold(lock);
    value = n;
    has_call = true;
    asked.notify_one();
    answered.wait(hold, [&] { return has_answer; });
    has_answer = false;
    return value;
  }
};

void hand_off(benchmark::State& state) {
  bare b;
  std::thread server([&] { b.serve(); });
  for (auto _ : state) {
    int n = 0;
    for (int i = 0; i < rounds; ++i) n = b.call(n);
    benchmark::DoNotOptimize(n);
  }
  {
    const std::lock_guard hold(b.lock);
    b.ending = true;
  }
  b.asked.notify_one();
  server.join();
  state.SetItemsProcessed(state.iterations() * rounds);
}
BENCHMARK(hand_off)->Name("io/blocking_call/condition_variable")->MeasureProcessCPUTime();

}  // namespace

BENCHMARK_MAIN();
