// SPDX-License-Identifier: MIT
// Transactions: a bank that two threads use at once, without a lock. Customers move money; an
// auditor adds everything up meanwhile, and the sum never changes; the manager waits until all
// customers have left, on whichever thread they are.
#include <array>
#include <cstdio>
#include <thread>

#include "heddle/heddle.hh"
#include "heddle/sync/atomically.hh"

using namespace heddle;

constexpr std::size_t accounts = 8;
constexpr long start_cents = 1000;
constexpr int customers = 6;
using bank = std::array<tvar<long>, accounts>;

/// Retries when the account cannot pay.
void transfer(transaction& tx, tvar<long>& from, tvar<long>& to, long cents) {
  tx.wait_until(tx.read(from) >= cents);
  tx.update(from, [cents](long n) { return n - cents; });
  tx.update(to, [cents](long n) { return n + cents; });
}

/// Pays from the first account, else from the second, else not at all: what would have to wait is
/// undone, and the alternative runs.
bool pay(transaction& tx, tvar<long>& first, tvar<long>& second, tvar<long>& to, long cents) {
  return tx.or_else([&](transaction& t) { return transfer(t, first, to, cents), true; },
                    [&](transaction& t) {
                      return t.or_else(
                          [&](transaction& u) { return transfer(u, second, to, cents), true; },
                          [](transaction&) { return false; });
                    });
}

long total(transaction& tx, const bank& all) {
  long sum = 0;
  for (const tvar<long>& account : all) sum += tx.read(account);
  return sum;
}

task<> customer(bank& all, std::size_t self, tvar<int>& gone) {
  for (std::size_t i = 0; i < 20'000; ++i) {
    const std::size_t other = (self + 1 + i % (accounts - 1)) % accounts;
    const long cents = static_cast<long>(i % 50);
    co_await atomically(pay, std::ref(all[self]), std::ref(all[0]), std::ref(all[other]), cents);
  }
  co_await atomically(
      [](transaction& tx, tvar<int>& n) { tx.update(n, [](int k) { return k + 1; }); },
      std::ref(gone));
}

task<> auditor(bank& all, int& wrong) {
  for (int i = 0; i < 2000; ++i) {
    const long sum = co_await atomically(total, std::cref(all));
    wrong += sum != static_cast<long>(accounts) * start_cents;
    co_await yield();
  }
}

task<> manager(tvar<int>& gone) {
  co_await atomically([](transaction& tx, tvar<int>& n) { tx.wait_until(tx.read(n) == customers); },
                      std::ref(gone));
  std::printf("all customers have left\n");
}

/// One thread's half of the bank.
void open_branch(bank& all, tvar<int>& gone, std::size_t branch, int& wrong) {
  runtime rt;
  for (std::size_t i = 1; i <= customers / 2; ++i) rt.spawn(customer(all, branch * 4 + i, gone));
  if (branch == 0) rt.spawn(manager(gone));
  rt.spawn(auditor(all, wrong));
  rt.run();
}

int main() {
  bank all{start_cents, start_cents, start_cents, start_cents,
           start_cents, start_cents, start_cents, start_cents};
  tvar<int> gone = 0;
  int wrong[2] = {};
  std::thread second([&] { open_branch(all, gone, 1, wrong[1]); });
  open_branch(all, gone, 0, wrong[0]);
  second.join();
  long sum = 0;
  for (const tvar<long>& account : all) sum += account.value();
  std::printf("sum %ld, seen wrong %d times\n", sum, wrong[0] + wrong[1]);
  return wrong[0] + wrong[1];
}
