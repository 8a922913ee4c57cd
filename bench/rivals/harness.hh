// SPDX-License-Identifier: MIT
//
// What the C++ rivals of suite `core` share. Each is a program `core CASE COUNT` that does
// COUNT operations (or parks COUNT threads) and prints one JSON line; scripts/bench chooses
// the counts, repeats, and takes turns between rivals.
#pragma once

#include <unistd.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <string>

namespace rival {

// Processor time of the whole process, so a program with several threads pays for all.
inline double cpu_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

inline double wall_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

inline double resident_bytes() {
  unsigned long total = 0, resident = 0;
  std::FILE* f = std::fopen("/proc/self/statm", "r");
  if (f == nullptr || std::fscanf(f, "%lu %lu", &total, &resident) != 2) std::abort();
  std::fclose(f);
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

inline void print(const std::string& name, const char* metric, double value, const char* unit) {
  std::printf("{\"case\":\"%s\",\"metric\":\"%s\",\"value\":%.4f,\"unit\":\"%s\"}\n", name.c_str(),
              metric, value, unit);
}

// A case does `count` operations and returns the processor nanoseconds they took; the case
// parked_bytes returns the bytes that `count` parked threads occupy instead.
using cases = std::map<std::string, std::function<double(long count)>>;

inline int run(int argc, char** argv, const cases& known) {
  const auto found = argc == 3 ? known.find(argv[1]) : known.end();
  const long count = argc == 3 ? std::atol(argv[2]) : 0;
  if (found == known.end() || count <= 0) {
    std::fprintf(stderr, "usage: %s CASE COUNT\ncases:", argv[0]);
    for (const auto& [name, body] : known) std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  const double value = found->second(count) / static_cast<double>(count);
  if (found->first == "parked_bytes") {
    print(found->first, "bytes", value, "B");
  } else {
    print(found->first, "cpu_ns", value, "ns");
  }
  std::fflush(stdout);
  ::_exit(0);  // millions of parked threads need not be taken down one by one
}

// Suite `colors`: programs with several threads, where both the processor time of all of them and
// the time that passes count. Each is a program `colors CASE COUNT` that prints two lines.
struct times {
  double cpu = 0;
  double wall = 0;
};
template <class F>
times both_times(F&& body) {
  const double cpu = cpu_ns(), wall = wall_ns();
  body();
  return {cpu_ns() - cpu, wall_ns() - wall};
}
using timed_cases = std::map<std::string, std::function<times(long count)>>;

inline int run_timed(int argc, char** argv, const timed_cases& known) {
  const auto found = argc == 3 ? known.find(argv[1]) : known.end();
  const long count = argc == 3 ? std::atol(argv[2]) : 0;
  if (found == known.end() || count <= 0) {
    std::fprintf(stderr, "usage: %s CASE COUNT\ncases:", argv[0]);
    for (const auto& [name, body] : known) std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  const times sum = found->second(count);
  print(found->first, "cpu_ns", sum.cpu / static_cast<double>(count), "ns");
  print(found->first, "wall_ns", sum.wall / static_cast<double>(count), "ns");
  std::fflush(stdout);
  ::_exit(0);
}

// What one task of the unbalanced cases does: some 5 microseconds that no compiler shortens.
inline constexpr int work_steps = 2500;
inline std::uint64_t work(std::uint64_t x) {
  for (int i = 0; i < work_steps; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  return x;
}
inline constexpr long many_colors = 100'000;

}  // namespace rival
