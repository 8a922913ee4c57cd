// SPDX-License-Identifier: MIT
// Memory for each of N tasks that do nothing but yield (Li and Zdancewic, 2007, section 5.1, who
// have 48 bytes for each of ten million): what the resident set grows by, scope and queue included.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

#include "heddle/heddle.hh"

namespace {

using namespace heddle;

double resident_bytes() {
  unsigned long total = 0, resident = 0;
  std::FILE* const f = std::fopen("/proc/self/statm", "r");
  if (f == nullptr || std::fscanf(f, "%lu %lu", &total, &resident) != 2)
    throw std::runtime_error("/proc/self/statm cannot be read");
  std::fclose(f);
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

task<> yields_until(const bool& end) {
  while (!end) co_await yield();
}

/// Each task has yielded twice when memory is read.
task<> many(long count, double& bytes) {
  bool end = false;
  const double before = resident_bytes();
  scope all;
  for (long i = 0; i < count; ++i) all.spawn(yields_until(end));
  co_await yield();
  co_await yield();
  bytes = (resident_bytes() - before) / static_cast<double>(count);
  end = true;
  co_await all.join();
}

void tasks(benchmark::State& state) {
  double bytes = 0;
  for (auto _ : state) {
    runtime_options options;
    options.workers = 1;
    runtime rt(options);
    rt.run(many(state.range(0), bytes));
  }
  state.counters["bytes"] = bytes;
}
BENCHMARK(tasks)->Name("capacity/tasks_10000")->Arg(10'000)->Iterations(1);
BENCHMARK(tasks)->Name("capacity/tasks_100000")->Arg(100'000)->Iterations(1);
BENCHMARK(tasks)->Name("capacity/tasks_1000000")->Arg(1'000'000)->Iterations(1);
BENCHMARK(tasks)->Name("capacity/tasks_10000000")->Arg(10'000'000)->Iterations(1);

}  // namespace

BENCHMARK_MAIN();
