// SPDX-License-Identifier: MIT
// Transactions on one thread: values, retry, alternatives, nesting, exceptions, cancellation.
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/base/sanitizer.hh"
#include "heddle/heddle.hh"
#include "heddle/sync/atomically.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

using namespace heddle;
using heddle::test::virtual_runtime;
using namespace std::chrono_literals;

namespace {

/// Each test is a task; what it leaves behind is checked by the runtime.
#define STM_TEST(sentence, program)                                 \
  HEDDLE_TEST(stm, sentence) {                                      \
    virtual_runtime v;                                              \
    v.rt.run((program)());                                          \
    EXPECT_TRUE(v.reports.empty()) << to_string(v.reports.front()); \
  }                                                                 \
  static_assert(true)

int move_amount(transaction& tx, tvar<int>& from, tvar<int>& to, int amount) {
  tx.write(from, tx.read(from) - amount);
  tx.write(to, tx.read(to) + amount);
  return tx.read(from);
}

task<> commits() {
  tvar<int> a = 100, b = 1;
  EXPECT_EQ(co_await atomically(move_amount, std::ref(a), std::ref(b), 30), 70);
  EXPECT_EQ(a.value(), 70);
  EXPECT_EQ(b.value(), 31);
  EXPECT_EQ(a.version(), b.version());
  EXPECT_NE(a.version(), 0u);
}

struct point {
  double x, y, z;
  friend bool operator==(const point&, const point&) = default;
};

task<> kinds_of_values() {
  tvar<point> p = point{1, 2, 3};
  tvar<std::string> s = "one";
  tvar<std::vector<int>> v;
  tvar<std::shared_ptr<int>> shared = std::make_shared<int>(4);
  tvar<bool> flag;
  co_await atomically([&](transaction& tx) {
    tx.update(p, [](point old) { return point{old.z, old.y, old.x}; });
    tx.update(s, [](const std::string& old) { return old + " two"; });
    tx.update(v, [](std::vector<int> old) {
      old.push_back(7);
      return old;
    });
    const std::string& same = tx.read(s);
    tx.write(s, same + " three");  // the reference outlives what it refers to
    tx.write(flag, true);
    tx.write(shared, nullptr);
  });
  EXPECT_EQ(p.value(), (point{3, 2, 1}));
  EXPECT_EQ(s.value(), "one two three");
  EXPECT_EQ(v.value(), std::vector<int>{7});
  EXPECT_TRUE(flag.value());
  EXPECT_EQ(shared.value(), nullptr);
}

task<> values_die() {
  const auto alive = std::make_shared<int>(1);
  {
    tvar<std::shared_ptr<int>> a = alive, b;
    EXPECT_EQ(alive.use_count(), 2);
    co_await atomically([&](transaction& tx) {
      for (int i = 0; i < 5; ++i) tx.write(b, tx.read(a));
      tx.write(a, nullptr);
    });
    EXPECT_EQ(alive.use_count(), 2);
  }
  EXPECT_EQ(alive.use_count(), 1);
}

task<> exceptions_undo() {
  tvar<int> a = 1;
  tvar<std::string> s = "kept";
  try {
    co_await atomically([&](transaction& tx) {
      tx.write(a, 2);
      tx.write(s, "lost");
      EXPECT_EQ(tx.read(a), 2);
      throw std::runtime_error("no");
    });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "no");
  }
  EXPECT_EQ(a.value(), 1);
  EXPECT_EQ(s.value(), "kept");
}

/// Takes an item, waiting for one.
int take(transaction& tx, tvar<std::vector<int>>& from) {
  tx.wait_until(!tx.read(from).empty());
  std::vector<int> rest = tx.read(from);
  const int last = rest.back();
  rest.pop_back();
  tx.write(from, std::move(rest));
  return last;
}
void put(transaction& tx, tvar<std::vector<int>>& to, int value) {
  std::vector<int> more = tx.read(to);
  more.push_back(value);
  tx.write(to, std::move(more));
}

struct counted {
  int runs = 0;
  int operator()(transaction& tx, tvar<std::vector<int>>& from) {
    ++runs;
    return take(tx, from);
  }
};

task<> taker(tvar<std::vector<int>>& from, int& out, int& runs) {
  counted call;
  out = co_await atomically(std::ref(call), std::ref(from));
  runs = call.runs;
}

task<> retry_waits() {
  tvar<std::vector<int>> queue;
  tvar<int> other = 0;
  int got = 0, runs = 0;
  scope s;
  s.spawn(taker(queue, got, runs));
  co_await sleep_for(1s);
  EXPECT_EQ(got, 0);
  for (int i = 0; i < 5; ++i) {
    co_await atomically([&](transaction& tx) { tx.write(other, i); });  // nothing that was read
    co_await yield();
  }
  EXPECT_EQ(runs, 0);
  co_await atomically(put, std::ref(queue), 8);
  co_await s.join();
  EXPECT_EQ(got, 8);
  EXPECT_EQ(runs, 2) << "it ran again only when what it had read changed";
}

task<> one_of_several_takes_it() {
  tvar<std::vector<int>> queue;
  int got[3] = {}, runs[3] = {};
  scope s;
  for (int i = 0; i < 3; ++i) s.spawn(taker(queue, got[i], runs[i]));
  co_await yield();
  co_await atomically(put, std::ref(queue), 5);
  co_await sleep_for(1s);
  EXPECT_EQ(got[0] + got[1] + got[2], 5);
  EXPECT_EQ(s.live(), 2u);
  s.cancel();
  try {
    co_await s.join();
  } catch (const failure& f) {
    EXPECT_EQ(f.code(), std::errc::operation_canceled);
  }
}

task<> retry_is_cancelled() {
  tvar<std::vector<int>> queue;
  const auto waiting = [&] { return atomically(take, std::ref(queue)); };
  const auto r = co_await as_expected(with_timeout(waiting(), 1s));
  EXPECT_FALSE(r);
  EXPECT_EQ(r.error(), std::errc::timed_out);
  co_await atomically(put, std::ref(queue), 1);  // nobody is woken that is gone
  EXPECT_EQ(queue.value().size(), 1u);
}

task<> nothing_read() {
  try {
    co_await atomically([](transaction& tx) { tx.retry(); });
    ADD_FAILURE() << "it can never go on";
  } catch (const std::logic_error& e) {
    EXPECT_NE(std::string(e.what()).find("read nothing"), std::string::npos);
  }
}

task<> alternatives() {
  tvar<std::vector<int>> left, right;
  tvar<int> tries = 0;
  const auto either = [&](transaction& tx) {
    return tx.or_else(
        [&](transaction& t) {
          t.update(tries, [](int n) { return n + 1; });  // undone when the queue is empty
          return take(t, left);
        },
        [&](transaction& t) { return 100 + take(t, right); });
  };
  co_await atomically(put, std::ref(right), 2);
  EXPECT_EQ(co_await atomically(either), 102);
  EXPECT_EQ(tries.value(), 0);
  co_await atomically(put, std::ref(left), 1);
  co_await atomically(put, std::ref(right), 2);
  EXPECT_EQ(co_await atomically(either), 1);
  EXPECT_EQ(tries.value(), 1);
  co_await atomically(take, std::ref(right));

  // With both empty it waits for either.
  int got = 0;
  scope s;
  s.spawn([](decltype(either)& call, int& out) -> task<> { out = co_await atomically(call); },
          std::ref(either), std::ref(got));
  co_await sleep_for(1s);
  EXPECT_EQ(got, 0);
  co_await atomically(put, std::ref(right), 3);
  co_await s.join();
  EXPECT_EQ(got, 103);
}

task<> nesting() {
  tvar<int> a = 1, b = 1;
  tvar<std::string> s = "s";
  co_await atomically([&](transaction& tx) {
    tx.write(a, 2);
    tx.write(s, "outer");
    try {
      tx.nested([&](transaction& t) {
        t.write(a, 3);
        t.write(b, 3);
        t.write(s, "inner");
        t.nested([&](transaction& u) { u.write(a, 4); });
        EXPECT_EQ(t.read(a), 4);
        throw std::out_of_range("inner");
      });
    } catch (const std::out_of_range&) {
    }
    EXPECT_EQ(tx.read(a), 2);
    EXPECT_EQ(tx.read(b), 1);
    EXPECT_EQ(tx.read(s), "outer");
    tx.nested([&](transaction& t) { t.write(b, 5); });
  });
  EXPECT_EQ(a.value(), 2);
  EXPECT_EQ(b.value(), 5);
  EXPECT_EQ(s.value(), "outer");
}

task<> many_variables() {
  constexpr int count = 1000;
  std::vector<std::unique_ptr<tvar<int>>> all;
  for (int i = 0; i < count; ++i) all.push_back(std::make_unique<tvar<int>>(i));
  const int sum = co_await atomically([&](transaction& tx) {
    int n = 0;
    for (auto& v : all) n += tx.read(*v);
    for (auto& v : all) tx.write(*v, tx.read(*v) + 1);
    try {
      tx.nested([&](transaction& t) {
        for (auto& v : all) t.write(*v, 0);
        throw 1;
      });
    } catch (int) {
    }
    for (auto& v : all) n += tx.read(*v);
    return n;
  });
  EXPECT_EQ(sum, 2 * (count * (count - 1) / 2) + count);
  EXPECT_EQ(all[7]->value(), 8);
}

task<> swallowed_signals() {
  tvar<int> a = 0;
  int runs = 0;
  scope s;
  s.spawn(
      [](tvar<int>& v, int& n) -> task<> {
        co_await atomically([&](transaction& tx) {
          ++n;
          try {
            tx.wait_until(tx.read(v) > 0);
          } catch (...) {  // a mistake that must not commit anything
          }
        });
      },
      std::ref(a), std::ref(runs));
  co_await yield();
  EXPECT_EQ(s.live(), 1u);
  co_await atomically([&](transaction& tx) { tx.write(a, 1); });
  co_await s.join();
  EXPECT_EQ(runs, 2);
}

}  // namespace

STM_TEST("what it wrote appears at once", &commits);
STM_TEST("holds values of any kind", &kinds_of_values);
STM_TEST("values end with their last variable", &values_die);
STM_TEST("an exception undoes everything", &exceptions_undo);
STM_TEST("retry waits until something that was read has changed", &retry_waits);
STM_TEST("of several that wait, one takes what there is", &one_of_several_takes_it);
STM_TEST("a wait in retry can be cancelled", &retry_is_cancelled);
STM_TEST("retry without a read says so", &nothing_read);
STM_TEST("or_else runs the second when the first retries, and waits for both", &alternatives);
STM_TEST("an exception in a nested part undoes that part", &nesting);
STM_TEST("reads and writes a thousand variables", &many_variables);
STM_TEST("a retry that is swallowed still retries", &swallowed_signals);

HEDDLE_TEST(stm, "a program whose transaction nobody can wake is reported, with the wait") {
  virtual_runtime v;
  tvar<int> never_set = 0;
  const auto program = [](tvar<int>& on) -> task<> {
    co_await atomically([&](transaction& tx) { tx.wait_until(tx.read(on) != 0); });
  };
  if (HEDDLE_TSAN) GTEST_SKIP() << "the sanitizer's own thread could be the one that sets it";
  try {
    v.rt.run(program(never_set));
    ADD_FAILURE() << "it ended";
  } catch (const failure& f) {
    EXPECT_EQ(f.code(), std::errc::resource_deadlock_would_occur);
    EXPECT_NE(std::string(f.what()).find("tvar"), std::string::npos) << f.what();
  }
}

HEDDLE_TEST(stm, "a variable must outlive those that wait for it") {
  EXPECT_DEATH(
      {
        virtual_runtime v;
        auto a = std::make_unique<tvar<int>>(0);
        v.rt.spawn([](tvar<int>& on) -> task<> {
          co_await atomically([&](transaction& tx) { tx.wait_until(tx.read(on) != 0); });
        }(*a));
        v.rt.once();
        a.reset();
      },
      "a transaction waits for it");
}
