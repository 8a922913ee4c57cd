// SPDX-License-Identifier: MIT
// Eight levels of raises: both handlers of a level raise the next one from two places, if a bit of
// the argument says so. A profile of `deep 0` has none of these raises; tests/bus/stale/run builds
// the program with it. Prints the sum of what all handlers got, and how many handlers are merged.
#include <cstdio>
#include <cstdlib>

#include "heddle/bus/bus.hh"

namespace deep {

heddle::bus* shared = nullptr;
long sum = 0;

#define HEDDLE_TEST_TOPIC(level) \
  struct level_##level : heddle::topic<int> {};
#define HEDDLE_TEST_HANDLER(name, level, next)                  \
  void name##_##level(int x) {                                  \
    sum += x + level;                                           \
    if (x & (1 << level)) shared->raise<level_##next>(x);       \
    if (x & (1 << level)) shared->raise<level_##next>(x + 256); \
  }
#define HEDDLE_TEST_LEVEL(level, next)               \
  HEDDLE_TEST_HANDLER(first, level, next)            \
  HEDDLE_TEST_HANDLER(second, level, next)           \
  void bind_##level() {                              \
    shared->bind<level_##level, &first_##level>(0);  \
    shared->bind<level_##level, &second_##level>(1); \
  }

HEDDLE_TEST_TOPIC(0)
HEDDLE_TEST_TOPIC(1)
HEDDLE_TEST_TOPIC(2)
HEDDLE_TEST_TOPIC(3)
HEDDLE_TEST_TOPIC(4)
HEDDLE_TEST_TOPIC(5)
HEDDLE_TEST_TOPIC(6)
HEDDLE_TEST_TOPIC(7)
HEDDLE_TEST_TOPIC(8)
HEDDLE_TEST_LEVEL(0, 1)
HEDDLE_TEST_LEVEL(1, 2)
HEDDLE_TEST_LEVEL(2, 3)
HEDDLE_TEST_LEVEL(3, 4)
HEDDLE_TEST_LEVEL(4, 5)
HEDDLE_TEST_LEVEL(5, 6)
HEDDLE_TEST_LEVEL(6, 7)
HEDDLE_TEST_LEVEL(7, 8)

void last(int x) { sum += 3 * static_cast<long>(x); }

void raise_each(int x) {
  shared->raise<level_0>(x);
  shared->raise<level_1>(x);
  shared->raise<level_2>(x);
  shared->raise<level_3>(x);
  shared->raise<level_4>(x);
  shared->raise<level_5>(x);
  shared->raise<level_6>(x);
  shared->raise<level_7>(x);
  shared->raise<level_8>(x);
}

}  // namespace deep

int main(int argc, char** argv) {
  heddle::bus b;
  deep::shared = &b;
  deep::bind_0();
  deep::bind_1();
  deep::bind_2();
  deep::bind_3();
  deep::bind_4();
  deep::bind_5();
  deep::bind_6();
  deep::bind_7();
  b.bind<deep::level_8, &deep::last>(0);
  deep::raise_each(argc > 1 ? std::atoi(argv[1]) : 0);
  std::printf("%ld, %zu merged\n", deep::sum, b.merged<deep::level_0>());
}
