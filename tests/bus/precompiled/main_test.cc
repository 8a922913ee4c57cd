// SPDX-License-Identifier: MIT
// One of two files whose unnamed namespaces have a function, a member function and a topic of the
// same names. Built with a precompiled header by tests/bus/precompiled/run.
#include "parts.hh"

#include <cstdio>

namespace {

int sum = 0;
int own_raises = 0;
void weigh(int n) { sum += 1 * n; }
struct scale {
  void read(int n) { sum += 1 * n; }
} own;
struct own_topic : heddle::topic<int> {};
void on_own_of_main(int n) { own_raises += 1 * n; }

}  // namespace

int main() {
  heddle::bus b;
  b.bind<weighed, &weigh>(10);
  b.bind<weighed, &scale::read>(&own, 20);
  b.bind<own_topic, &on_own_of_main>(10);
  bind_other(b);
  for (int i = 0; i < 100; ++i) {
    b.raise<weighed>(1);
    b.raise<own_topic>(1);
  }
  raise_other_private(b, 10);
  std::printf("%d %d %d, %zu merged\n", sum, own_raises, other_private(), b.merged<weighed>());
}
