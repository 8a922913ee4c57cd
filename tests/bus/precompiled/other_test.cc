// SPDX-License-Identifier: MIT
// One of two files whose unnamed namespaces have a function, a member function and a topic of the
// same names. Built with a precompiled header by tests/bus/precompiled/run.
#include "parts.hh"

#include <cstdio>

namespace {

int sum = 0;
int own_raises = 0;
void weigh(int n) { sum += 100 * n; }
struct scale {
  void read(int n) { sum += 100 * n; }
} own;
struct own_topic : heddle::topic<int> {};
void on_own_of_other(int n) { own_raises += 100 * n; }

}  // namespace

void bind_other(heddle::bus& b) {
  b.bind<weighed, &weigh>(30);
  b.bind<weighed, &scale::read>(&own, 40);
  b.bind<own_topic, &on_own_of_other>(10);
}
void raise_other_private(heddle::bus& b, int times) {
  for (int i = 0; i < times; ++i) b.raise<own_topic>(1);
}
int other_private() { return sum + own_raises; }
