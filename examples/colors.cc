// SPDX-License-Identifier: MIT
// All cores without locks: many accounts, each a color. Transfers touch two accounts, one after the
// other; nobody else touches them at the time, so plain numbers do. HEDDLE_WORKERS=4 runs it on
// four workers; nothing in it changes.
#include <cstdio>
#include <heddle/core/enter.hh>
#include <heddle/sched/checked.hh>
#include <heddle/sched/runtime.hh>
#include <vector>

using namespace heddle;

struct bank {
  std::vector<checked<long>> accounts = std::vector<checked<long>>(64);
  static color of(std::size_t account) { return color(account + 1); }
};

task<> withdraw(bank& b, std::size_t from, long amount) {
  co_await enter(bank::of(from));
  b.accounts[from].get() -= amount;
}
task<> deposit(bank& b, std::size_t to, long amount) {
  co_await enter(bank::of(to));
  b.accounts[to].get() += amount;
}

task<> customer(bank& b, std::size_t number) {
  for (std::size_t i = 0; i != 1000; ++i) {
    co_await withdraw(b, (number * 7 + i) % 64, 10);
    co_await deposit(b, (number * 13 + i * 5) % 64, 10);
  }
}

task<long> balance(bank& b, std::size_t account) {
  co_await enter(bank::of(account));
  co_return b.accounts[account].get();
}

task<> day(bank& b) {
  scope customers;
  for (std::size_t n = 0; n != 20; ++n) customers.spawn(color(1000 + n), customer(b, n));
  co_await customers.join();
  long sum = 0;
  for (std::size_t a = 0; a != 64; ++a) sum += co_await balance(b, a);
  std::printf("20000 transfers, and %ld appeared or vanished\n", sum);
}

int main() {
  runtime rt;
  bank b;
  rt.run(day(b));
  std::fputs(to_text(rt.read_workers()).c_str(), stderr);
}
