// SPDX-License-Identifier: MIT
//
// What the C++ rivals of the suites fiber and bus share. Each is a program with the arguments CASE
// and COUNT that does COUNT operations (or parks COUNT threads) and prints one JSON line;
// scripts/bench chooses the counts, repeats, and takes turns between rivals.
#pragma once

#include <unistd.h>
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

}  // namespace rival
