// SPDX-License-Identifier: MIT
// What the programs of the rules share: check(...) tells of what does not hold, and each program
// ends with the number of checks that held.
#pragma once

#include <atomic>
#include <cstdio>
#include <cstdlib>

inline std::atomic<int> checks_held{0};  // several colors check
inline std::atomic<int> checks_failed{0};

#define check(...)                                                          \
  do {                                                                      \
    if (__VA_ARGS__) {                                                      \
      ++checks_held;                                                        \
    } else {                                                                \
      ++checks_failed;                                                      \
      std::printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #__VA_ARGS__); \
    }                                                                       \
  } while (0)

inline int end_of_checks() {
  std::printf(checks_failed == 0 ? "all held\n" : "%d failed\n", checks_failed.load());
  return checks_failed == 0 && checks_held > 0 ? 0 : 1;
}

/// Counts its objects.
struct counted {
  inline static std::atomic<int> live{0};
  counted() { ++live; }
  counted(const counted&) { ++live; }
  ~counted() { --live; }
};
