// SPDX-License-Identifier: MIT
// Transactions on several threads, each with a runtime of its own: histories against a sequential
// model, opacity, waiting across threads, and transactions that are long.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "heddle/base/sanitizer.hh"
#include "heddle/heddle.hh"
#include "heddle/sync/atomically.hh"
#include "support/test.hh"

using namespace heddle;

namespace {

/// Runs program(number) on so many threads, each with a runtime.
template <class Program>
void on_threads(int count, Program program) {
  std::atomic<int> ready = 0;
  std::vector<std::thread> all;
  for (int i = 0; i < count; ++i)
    all.emplace_back([&, i] {
      runtime rt({.driver = "epoll"});
      ++ready;
      while (ready < count) std::this_thread::yield();  // so that they overlap
      rt.run(program(i));
    });
  for (std::thread& t : all) t.join();
}

/// One committed transaction as it saw the world.
struct record {
  struct access {
    std::size_t variable;
    int value;
  };
  std::uint64_t place = 0;
  std::vector<access> reads;   // of what it had not written itself
  std::vector<access> writes;  // in order
};

struct history {
  static constexpr std::size_t variables = 6;
  std::array<tvar<int>, variables> plain;
  std::array<tvar<std::string>, variables> boxed;  // the same values, as text
  std::vector<std::vector<record>> threads;
};

/// A random mix of reads and writes, drawn before so that each run of it does the same.
struct step {
  std::size_t variable;
  bool write;
  bool pause;
  int value;
};

task<> make_history(history& h, int self, std::uint64_t seed, int rounds) {
  std::mt19937_64 random(seed * 1000 + static_cast<std::uint64_t>(self));
  int next = self * 1'000'000 + 1;
  for (int round = 0; round < rounds; ++round) {
    std::vector<step> plan(1 + random() % 6);
    for (step& s : plan)
      s = {random() % history::variables, random() % 2 == 0, random() % 8 == 0, next++};
    record seen;
    auto call = atomically([&](transaction& tx) {
      seen.reads.clear();
      seen.writes.clear();
      for (const step& s : plan) {
        if (s.pause) std::this_thread::yield();  // so that others come in between
        if (s.write) {
          tx.write(h.plain[s.variable], s.value);
          tx.write(h.boxed[s.variable], std::to_string(s.value));
          seen.writes.push_back({s.variable, s.value});
          continue;
        }
        const int value = tx.read(h.plain[s.variable]);
        // Opacity: also a run that will not commit sees values that belong together.
        EXPECT_EQ(std::to_string(value), tx.read(h.boxed[s.variable]));
        const auto own = [&](const record::access& w) { return w.variable == s.variable; };
        if (std::none_of(seen.writes.begin(), seen.writes.end(), own))
          seen.reads.push_back({s.variable, value});
      }
    });
    co_await call;
    seen.place = call.place();
    h.threads[static_cast<std::size_t>(self)].push_back(seen);
  }
}

/// Replays all transactions one after another in the order of their places.
void check_history(const history& h, std::uint64_t seed) {
  std::vector<const record*> order;
  for (const auto& thread : h.threads)
    for (const record& r : thread) order.push_back(&r);
  std::sort(order.begin(), order.end(), [](const record* a, const record* b) {
    // One that only reads comes after the one that wrote with its number.
    if (a->place != b->place) return a->place < b->place;
    return !a->writes.empty() && b->writes.empty();
  });
  std::array<int, history::variables> model{};
  std::uint64_t last_write = 0;
  for (const record* r : order) {
    for (const auto& [variable, value] : r->reads)
      ASSERT_EQ(model[variable], value) << "seed " << seed << ", place " << r->place;
    for (const auto& [variable, value] : r->writes) model[variable] = value;
    if (r->writes.empty()) continue;
    ASSERT_GT(r->place, last_write) << "two commits have one place; seed " << seed;
    last_write = r->place;
  }
  for (std::size_t i = 0; i < history::variables; ++i)
    EXPECT_EQ(model[i], h.plain[i].value()) << "seed " << seed;
}

void run_history(std::uint64_t seed, int threads, int rounds) {
  history h;
  for (auto& text : h.boxed) {
    runtime rt({.driver = "epoll"});
    rt.run([](tvar<std::string>& v) -> task<> {
      co_await atomically([&](transaction& tx) { tx.write(v, "0"); });
    }(text));
  }
  h.threads.resize(static_cast<std::size_t>(threads));
  on_threads(threads, [&](int self) { return make_history(h, self, seed, rounds); });
  check_history(h, seed);
}

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

constexpr int scale = HEDDLE_TSAN || HEDDLE_ASAN ? 1 : 5;

}  // namespace

HEDDLE_TEST(stm_threads, "every history is one of a sequential model") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) run_history(seed, 3, 50 * scale);
}

HEDDLE_TEST(stm_threads, "no addition is lost") {
  tvar<long> counter = 0;
  on_threads(4, [&](int) { return add_many(counter, 2000 * scale); });
  EXPECT_EQ(counter.value(), 4 * 2000 * scale);
}

HEDDLE_TEST(stm_threads, "retry waits for another thread, and is woken by it") {
  bounded queue;
  std::atomic<long> sum = 0;
  constexpr int each = 300 * scale;
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
