// SPDX-License-Identifier: MIT
// Dining philosophers by transactions: each takes both forks as one step, or waits until somebody
// puts one down. Nobody holds one fork and waits for the other, so no order of asking is needed and
// no table is stuck. They sit on two threads; a waiter counts who eats at once.
#include <array>
#include <cstdio>
#include <thread>

#include "heddle/heddle.hh"
#include "heddle/sync/atomically.hh"

using namespace heddle;

constexpr std::size_t seats = 5;
constexpr int meals = 2000;

struct table {
  std::array<tvar<bool>, seats> fork_taken;
  tvar<int> eating = 0;
  std::array<tvar<int>, seats> eaten;
};

/// Waits until both forks lie there; what was found changes only together.
void take_both(transaction& tx, table& t, std::size_t self) {
  tvar<bool>& left = t.fork_taken[self];
  tvar<bool>& right = t.fork_taken[(self + 1) % seats];
  tx.wait_until(!tx.read(left) && !tx.read(right));
  tx.write(left, true);
  tx.write(right, true);
  tx.update(t.eating, [](int n) { return n + 1; });
}

void put_down_both(transaction& tx, table& t, std::size_t self) {
  tx.write(t.fork_taken[self], false);
  tx.write(t.fork_taken[(self + 1) % seats], false);
  tx.update(t.eating, [](int n) { return n - 1; });
  tx.update(t.eaten[self], [](int n) { return n + 1; });
}

task<> philosopher(table& t, std::size_t self) {
  for (int i = 0; i < meals; ++i) {
    co_await atomically(take_both, std::ref(t), self);
    co_await yield();  // eats
    co_await atomically(put_down_both, std::ref(t), self);
  }
}

/// Two neighbours never eat at once: of five at a table, two at most.
task<> waiter(table& t, int& most) {
  for (int i = 0; i < 2000; ++i) {
    const int now = co_await atomically(
        [](transaction& tx, table& at) { return tx.read(at.eating); }, std::ref(t));
    most = now > most ? now : most;
    co_await yield();
  }
}

int main() {
  table t;
  int most = 0;
  std::thread other([&t] {
    runtime rt;
    rt.spawn(philosopher(t, 0));
    rt.spawn(philosopher(t, 2));
    rt.run();
  });
  {
    runtime rt;
    for (const std::size_t self : {1, 3, 4}) rt.spawn(philosopher(t, self));
    rt.spawn(waiter(t, most));
    rt.run();
  }
  other.join();
  for (std::size_t i = 0; i < seats; ++i)
    std::printf("philosopher %zu ate %d times\n", i, t.eaten[i].value());
  std::printf("neighbours at once: %s\n", most <= 2 ? "never" : "seen");
  return most <= 2 ? 0 : 1;
}
