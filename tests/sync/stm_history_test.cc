// SPDX-License-Identifier: MIT
// Histories: what transactions on several threads read and wrote must be what some order of them,
// one after another, gives. Long ones write in each variable whose turn it was, so the order can be
// drawn from the records; short ones write blindly, and all orders are tried. Seeded.
#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "heddle/base/sanitizer.hh"
#include "heddle/heddle.hh"
#include "heddle/sync/atomically.hh"
#include "on_threads.hh"
#include "support/seeds.hh"
#include "support/test.hh"

using namespace heddle;
using heddle::test::on_threads;

namespace {

constexpr std::size_t variables = 6;

/// One committed transaction as it saw the world.
struct record {
  struct access {
    std::size_t variable;
    int value;
  };
  std::vector<access> reads;           // of what it had not written itself
  std::vector<access> writes;          // in order
  std::array<int, variables> turns{};  // of the variables that it wrote, from 1
};

struct history {
  std::array<tvar<int>, variables> plain;
  std::array<tvar<std::string>, variables> boxed;  // the same values, as text
  std::array<tvar<int>, variables> turns;          // how often it was written
  std::vector<std::vector<record>> threads;
  bool blind = false;  // turns are not counted
};

/// A random mix of reads and writes, drawn before so that each run of it does the same.
struct step {
  std::size_t variable;
  bool write;
  bool pause;
  int value;
};

void run_steps(transaction& tx, history& h, const std::vector<step>& plan, record& seen) {
  seen = {};
  for (const step& s : plan) {
    if (s.pause) std::this_thread::yield();  // so that others come in between
    if (s.write) {
      tx.write(h.plain[s.variable], s.value);
      tx.write(h.boxed[s.variable], std::to_string(s.value));
      seen.writes.push_back({s.variable, s.value});
      if (h.blind || seen.turns[s.variable] != 0) continue;
      seen.turns[s.variable] = tx.read(h.turns[s.variable]) + 1;
      tx.write(h.turns[s.variable], seen.turns[s.variable]);
      continue;
    }
    const int value = tx.read(h.plain[s.variable]);
    // Opacity: also a run that will not commit sees values that belong together.
    EXPECT_EQ(std::to_string(value), tx.read(h.boxed[s.variable]));
    const auto own = [&](const record::access& w) { return w.variable == s.variable; };
    if (std::none_of(seen.writes.begin(), seen.writes.end(), own))
      seen.reads.push_back({s.variable, value});
  }
}

task<> make_history(history& h, int self, std::uint64_t seed, int rounds) {
  std::mt19937_64 random(seed * 1000 + static_cast<std::uint64_t>(self));
  int next = self * 1'000'000 + 1;
  for (int round = 0; round < rounds; ++round) {
    std::vector<step> plan(1 + random() % 6);
    for (step& s : plan) s = {random() % variables, random() % 2 == 0, random() % 8 == 0, next++};
    record seen;
    co_await atomically([&](transaction& tx) { run_steps(tx, h, plan, seen); });
    h.threads[static_cast<std::size_t>(self)].push_back(seen);
  }
}

void run_history(history& h, std::uint64_t seed, int threads, int rounds) {
  for (auto& text : h.boxed) {
    runtime rt({.driver = "epoll"});
    rt.run([](tvar<std::string>& v) -> task<> {
      co_await atomically([&](transaction& tx) { tx.write(v, "0"); });
    }(text));
  }
  h.threads.resize(static_cast<std::size_t>(threads));
  on_threads(threads, [&](int self) { return make_history(h, self, seed, rounds); });
}

/// The variables of the sequential model.
struct model {
  std::array<int, variables> values{};
  [[nodiscard]] bool explains(const record& r) const {
    return std::all_of(r.reads.begin(), r.reads.end(),
                       [&](const record::access& a) { return values[a.variable] == a.value; });
  }
  void apply(const record& r) {
    for (const auto& [variable, value] : r.writes) values[variable] = value;
  }
  [[nodiscard]] bool is_now(const history& h) const {
    for (std::size_t i = 0; i < variables; ++i)
      if (values[i] != h.plain[i].value()) return false;
    return true;
  }
};

/// Who must come before whom: on a thread as they ran, in a variable by turns; who read a value
/// comes after who wrote it, and before who wrote the next.
class precedence {
 public:
  explicit precedence(const history& h) {
    for (const auto& thread : h.threads)
      for (const record& r : thread) {
        if (&r != &thread.front()) before(nodes_.size() - 1, nodes_.size());
        nodes_.push_back(&r);
      }
    for (std::size_t v = 0; v < variables; ++v) order_variable(v);
  }
  /// All of them in an order that holds to it; fewer when there is none.
  [[nodiscard]] std::vector<const record*> order() const {
    std::vector<int> left(nodes_.size());
    for (const auto& [a, b] : edges_) ++left[b];
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (left[i] == 0) free.push_back(i);
    std::vector<const record*> out;
    while (!free.empty()) {
      const std::size_t n = free.back();
      free.pop_back();
      out.push_back(nodes_[n]);
      for (auto e = edges_.lower_bound(n); e != edges_.end() && e->first == n; ++e)
        if (--left[e->second] == 0) free.push_back(e->second);
    }
    return out;
  }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }

 private:
  void before(std::size_t a, std::size_t b) {
    if (a != b) edges_.emplace(a, b);
  }
  void order_variable(std::size_t v) {
    std::map<int, std::size_t> writers;  // by turn
    std::map<int, int> turn_of_value = {{0, 0}};
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const int turn = nodes_[i]->turns[v];
      if (turn == 0) continue;
      EXPECT_TRUE(writers.emplace(turn, i).second) << "two wrote in one turn";
      for (const record::access& a : nodes_[i]->writes)
        if (a.variable == v) turn_of_value[a.value] = turn;
    }
    for (const auto& [turn, i] : writers)
      if (const auto next = writers.find(turn + 1); next != writers.end()) before(i, next->second);
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      for (const record::access& a : nodes_[i]->reads) {
        if (a.variable != v) continue;
        const auto turn = turn_of_value.find(a.value);
        ASSERT_NE(turn, turn_of_value.end()) << "nobody wrote " << a.value;
        if (turn->second != 0) before(writers.at(turn->second), i);
        if (const auto next = writers.find(turn->second + 1); next != writers.end())
          before(i, next->second);
      }
  }

  std::vector<const record*> nodes_;
  std::multimap<std::size_t, std::size_t> edges_;
};

/// Tries all orders that keep each thread's own.
bool some_order_explains(const history& h, std::vector<std::size_t>& done, const model& now) {
  bool all_done = true;
  for (std::size_t t = 0; t < h.threads.size(); ++t) {
    if (done[t] == h.threads[t].size()) continue;
    all_done = false;
    const record& r = h.threads[t][done[t]];
    if (!now.explains(r)) continue;
    model next = now;
    next.apply(r);
    ++done[t];
    if (some_order_explains(h, done, next)) return true;
    --done[t];
  }
  return all_done && now.is_now(h);
}

constexpr int scale = HEDDLE_TSAN || HEDDLE_ASAN ? 1 : 5;

}  // namespace

HEDDLE_TEST(stm_history, "every long history is one of a sequential model") {
  heddle::test::for_seeds(8, [](std::uint64_t seed) {
    history h;
    run_history(h, seed, 3, 50 * scale);
    const precedence rules(h);
    const std::vector<const record*> order = rules.order();
    ASSERT_EQ(order.size(), rules.size()) << "no order of them exists";
    model m;
    for (const record* r : order) {
      ASSERT_TRUE(m.explains(*r));
      m.apply(*r);
    }
    EXPECT_TRUE(m.is_now(h));
  });
}

HEDDLE_TEST(stm_history, "every short history without reads before writes is one as well") {
  heddle::test::for_seeds(60, [](std::uint64_t seed) {
    history h;
    h.blind = true;
    run_history(h, seed, 3, 4);
    std::vector<std::size_t> done(h.threads.size());
    EXPECT_TRUE(some_order_explains(h, done, {}));
  });
}
