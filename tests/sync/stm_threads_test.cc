// SPDX-License-Identifier: MIT
// Transactions on several threads, each with a runtime of its own: counting, waiting across
// threads, views, seats, and transactions that are long. Histories: stm_history_test.cc.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "heddle/base/sanitizer.hh"
#include "heddle/heddle.hh"
#include "heddle/sync/atomically.hh"
#include "on_threads.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

using namespace heddle;
using heddle::test::on_threads;
using heddle::test::virtual_runtime;

namespace {

task<> add_many(tvar<long>& counter, int times) {
  for (int i = 0; i < times; ++i)
    co_await atomically([&](transaction& tx) {
      const long before = tx.read(counter);
      if (i % 8 == 0) std::this_thread::yield();
      tx.write(counter, before + 1);
    });
}

/// A queue of bounded size between threads.
struct bounded {
  tvar<std::vector<int>> items;
  static constexpr std::size_t room = 3;
  void put(transaction& tx, int value) {
    tx.wait_until(tx.read(items).size() < room);
    tx.update(items, [&](std::vector<int> all) {
      all.push_back(value);
      return all;
    });
  }
  int take(transaction& tx) {
    tx.wait_until(!tx.read(items).empty());
    const int first = tx.read(items).front();
    tx.update(items, [](std::vector<int> all) {
      all.erase(all.begin());
      return all;
    });
    return first;
  }
};

task<> produce(bounded& to, int from, int count) {
  for (int i = 0; i < count; ++i)
    co_await atomically([&](transaction& tx) { to.put(tx, from + i); });
}
task<> consume(bounded& from, int count, std::atomic<long>& sum) {
  for (int i = 0; i < count; ++i)
    sum += co_await atomically([&](transaction& tx) { return from.take(tx); });
}

/// Short transactions for as long as a long one is under way.
task<> disturb(std::vector<std::unique_ptr<tvar<long>>>& all, std::atomic<bool>& done) {
  for (std::size_t i = 0; !done; i = (i + 1) % all.size())
    co_await atomically([&](transaction& tx) {
      tx.write(*all[i], tx.read(*all[i]) + 1);
      auto& other = *all[(i + 1) % all.size()];
      tx.write(other, tx.read(other) - 1);
    });
}

task<> sum_them_all(std::vector<std::unique_ptr<tvar<long>>>& all, std::atomic<bool>& done,
                    int rounds) {
  for (int round = 0; round < rounds; ++round) {
    unsigned attempts = 0;
    const long sum = co_await atomically([&](transaction& tx) {
      attempts = tx.attempt();
      long n = 0;
      for (std::size_t i = 0; i < all.size(); ++i) {
        n += tx.read(*all[i]);
        if (i % 64 == 0) std::this_thread::yield();  // so that others come in between
      }
      return n;
    });
    EXPECT_EQ(sum, 0);
    // Eight failures, then it goes first: one more for each other thread at most.
    EXPECT_LE(attempts, 12u);
  }
  done = true;
}

constexpr int times = HEDDLE_TSAN || HEDDLE_ASAN ? 1 : 5;

}  // namespace

/// Reads two variables that are always equal; on its first run somebody changes both in between.
task<> read_both(tvar<int>& a, tvar<int>& b, std::atomic<int>& step) {
  unsigned attempts = 0;
  co_await atomically([&](transaction& tx) {
    attempts = tx.attempt();
    const int first = tx.read(a);
    if (attempts == 1) {
      step = 1;
      while (step != 2) std::this_thread::yield();
      EXPECT_EQ(b.value(), 1);  // a look of its own, which must not count as this transaction's
    }
    EXPECT_EQ(tx.read(b), first);
  });
  EXPECT_EQ(attempts, 2u);
}
task<> change_both(tvar<int>& a, tvar<int>& b, std::atomic<int>& step) {
  while (step != 1) std::this_thread::yield();
  co_await atomically([&](transaction& tx) {
    tx.write(a, 1);
    tx.write(b, 1);
  });
  step = 2;
}

HEDDLE_TEST(stm_threads, "a value looked at on the way does not move a transaction's view") {
  tvar<int> a = 0, b = 0;
  std::atomic<int> step = 0;
  on_threads(2,
             [&](int self) { return self == 0 ? read_both(a, b, step) : change_both(a, b, step); });
}

HEDDLE_TEST(stm_threads, "workers beyond the seats share one, and lose nothing") {
  if (HEDDLE_TSAN || HEDDLE_ASAN) GTEST_SKIP() << "no address space for so many runtimes";
  // Each that has run a transaction keeps its seat until it ends; there are 255 and the shared one.
  tvar<long> counter = 0;
  std::vector<std::unique_ptr<virtual_runtime>> crowd;
  for (int i = 0; i < 260; ++i) {
    crowd.push_back(std::make_unique<virtual_runtime>());
    crowd.back()->rt.run(add_many(counter, 1));
  }
  on_threads(3, [&](int) { return add_many(counter, 500 * times); });
  while (!crowd.empty()) crowd.pop_back();  // the last first, as each lies inside the one before
  EXPECT_EQ(counter.value(), 260 + 3 * 500 * times);
}

HEDDLE_TEST(stm_threads, "no addition is lost") {
  tvar<long> counter = 0;
  on_threads(4, [&](int) { return add_many(counter, 2000 * times); });
  EXPECT_EQ(counter.value(), 4 * 2000 * times);
}

HEDDLE_TEST(stm_threads, "retry waits for another thread, and is woken by it") {
  bounded queue;
  std::atomic<long> sum = 0;
  constexpr int each = 300 * times;
  on_threads(4, [&](int self) {
    return self % 2 == 0 ? produce(queue, self * each, each) : consume(queue, each, sum);
  });
  long expected = 0;
  for (int i = 0; i < each; ++i) expected += i + (2 * each + i);
  EXPECT_EQ(sum, expected);
  EXPECT_TRUE(queue.items.value().empty());
}

HEDDLE_TEST(stm_threads, "a long transaction is not starved by short ones") {
  std::vector<std::unique_ptr<tvar<long>>> all;
  for (int i = 0; i < 512; ++i) all.push_back(std::make_unique<tvar<long>>(0L));
  std::atomic<bool> done = false;
  on_threads(3,
             [&](int self) { return self == 0 ? sum_them_all(all, done, 4) : disturb(all, done); });
}
