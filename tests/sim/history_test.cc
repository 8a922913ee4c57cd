// SPDX-License-Identifier: MIT
// Histories: which answers an order of operations explains, compared with all orders of small
// random histories, and the message if there is no order.
#include "heddle/sim/history.hh"

#include <algorithm>
#include <numeric>

#include "heddle/core/sleep.hh"
#include "heddle/sim/cluster.hh"
#include "heddle/sim/models.hh"
#include "support/draws.hh"
#include "support/seeds.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;
using sim::cell;
using sim::fenced_lock;
using sim::growing_list;
using cells = sim::history<cell>;

/// Operations that follow each other: "put a", "get a", "swap a b", "keep a b" (a refused swap).
cells one_after_the_other(const std::vector<std::string>& operations) {
  cells seen;
  for (const std::string& each : operations) {
    const std::string what = each.substr(0, each.find(' '));
    const std::string rest = what == each ? "" : each.substr(what.size() + 1);
    const std::string first = rest.substr(0, rest.find(' '));
    const std::string second = first == rest ? "" : rest.substr(first.size() + 1);
    const cell::input asked = what == "put"   ? cell::put(first)
                              : what == "get" ? cell::get()
                                              : cell::put_if(first, second);
    const sim::operation_id id = seen.call("user", "k", asked);
    seen.answer(id, {.value = what == "get" ? first : "", .done = what != "keep"});
  }
  return seen;
}

HEDDLE_TEST(history, "operations that follow each other have one order") {
  EXPECT_EQ(cells().wrong(), "");
  EXPECT_EQ(one_after_the_other({"get", "put a", "get a", "swap a b", "get b", "keep a c", "get b"})
                .wrong(),
            "");
  for (const auto& wrong :
       std::vector<std::vector<std::string>>{{"get a"},
                                             {"put a", "get"},
                                             {"put a", "put b", "get a"},
                                             {"put a", "swap b c"},
                                             {"put a", "keep a b"},
                                             {"put a", "get a", "put b", "get b", "get a"}})
    EXPECT_TRUE(one_after_the_other(wrong).wrong().starts_with("not linearizable: k\n"))
        << wrong.back();
}

HEDDLE_TEST(history, "operations that overlap may take effect in either order") {
  for (const char* answer : {"", "a", "b"}) {
    cells seen;
    const auto first = seen.call("one", "k", cell::put("a"));
    const auto second = seen.call("two", "k", cell::put("b"));
    const auto reads = seen.call("three", "k", cell::get());
    seen.answer(reads, {.value = answer});
    seen.answer(second, {});
    seen.answer(first, {});
    EXPECT_EQ(seen.wrong(), "") << answer;
    // After a read has returned one of the values, no later read may return the old one.
    const auto again = seen.call("four", "k", cell::get());
    seen.answer(again, {.value = ""});
    EXPECT_NE(seen.wrong(), "");
  }
}

HEDDLE_TEST(history, "without an answer it may have happened, or happen later, or never") {
  for (const std::vector<std::string>& reads : std::vector<std::vector<std::string>>{
           {""}, {"a"}, {"", "a"}, {"", "", "a", "a"}, {"a", ""}, {"", "a", ""}}) {
    cells seen;
    static_cast<void>(seen.call("one", "k", cell::put("a")));
    bool back = false;
    for (std::size_t i = 0; i != reads.size(); ++i) {
      const auto id = seen.call("two", "k", cell::get());
      seen.answer(id, {.value = reads[i]});
      back |= i != 0 && reads[i - 1] == "a" && reads[i].empty();
    }
    EXPECT_EQ(seen.wrong().empty(), !back) << seen.text();
  }
}

HEDDLE_TEST(history, "refused operations never happened, and keys are objects of their own") {
  cells seen;
  const auto put = seen.call("one", "k", cell::put("a"));
  seen.refused(put);
  seen.answer(put, {});  // too late: it is refused
  const auto other = seen.call("one", "other", cell::put("b"));
  seen.answer(other, {});
  seen.answer(seen.call("two", "k", cell::get()), {.value = ""});
  EXPECT_EQ(seen.wrong(), "");
  seen.answer(seen.call("two", "other", cell::get()), {.value = ""});
  EXPECT_TRUE(seen.wrong().starts_with("not linearizable: other\n")) << seen.wrong();
  EXPECT_EQ(seen.size(), 4U);
}

HEDDLE_TEST(history, "the message names the key and the answer that fits no order") {
  cells seen;
  seen.answer(seen.call("one", "k", cell::put("a")), {});
  static_cast<void>(seen.call("three", "k", cell::put(std::string(100, 'x'))));
  seen.answer(seen.call("two", "k", cell::get()), {.value = "b"});
  EXPECT_EQ(seen.wrong(),
            "not linearizable: k\n"
            "  0.000000 s to 0.000000 s  one  put \"a\": done\n"
            "  0.000000 s to no answer  three  put \"" +
                std::string(40, 'x') +
                "...\" (100 bytes)\n"
                "  0.000000 s to 0.000000 s  two  get: \"b\"\n"
                "no order explains this answer:\n"
                "  0.000000 s to 0.000000 s  two  get: \"b\"\n"
                "the longest order that explains its own answers:\n"
                "  0.000000 s to 0.000000 s  one  put \"a\": done\n");
}

HEDDLE_TEST(history, "a key that is wrong counts more than one that is undecided") {
  cells seen;
  for (int i = 0; i != 201; ++i) seen.answer(seen.call("one", "a", cell::put("x")), {});
  seen.answer(seen.call("one", "b", cell::get()), {.value = "never put"});
  EXPECT_TRUE(seen.wrong().starts_with("not linearizable: b\n")) << seen.wrong();
  EXPECT_TRUE(seen.text().contains("one  b: get: \"never put\"")) << seen.text();
  // The first answer counts; a put that was not done is no put.
  cells first;
  const auto id = first.call("one", "k", cell::get());
  first.answer(id, {.value = ""});
  first.answer(id, {.value = "b"});
  first.refused(id);
  EXPECT_EQ(first.wrong(), "");
  first.answer(first.call("one", "k", cell::put("a")), {.done = false});
  EXPECT_TRUE(first.wrong().contains("put \"a\": not done")) << first.wrong();
}

/// A counter whose values only grow, with a model that counts the questions of the search.
struct asked_model {
  struct input {};
  struct output {
    int value = 0;
  };
  using state = int;
  static std::optional<int> step(const int& before, const input&, const output* got) {
    if (got != nullptr && got->value != before + 1) return std::nullopt;
    return before + 1;
  }
  static std::string text(const input&, const output*) { return "next"; }
  static bool may_follow(const auto& now, const input&, const output& got) {
    ++questions;
    return got.value > now;
  }
  static inline int questions = 0;
};

HEDDLE_TEST(history, "a model's may_follow is asked in whatever form it can be called") {
  sim::history<asked_model> seen;
  seen.answer(seen.call("one", "k", {}), {.value = 1});
  EXPECT_EQ(seen.wrong(), "");
  EXPECT_GT(asked_model::questions, 0);
}

HEDDLE_TEST(history, "limits say that nothing is decided, and which one it was") {
  cells seen;
  for (int i = 0; i != 12; ++i)
    static_cast<void>(seen.call("one", "k", cell::put(std::to_string(i))));
  seen.answer(seen.call("two", "k", cell::get()), {.value = "none of them"});
  const std::string few = seen.wrong({.operations_max = 12});
  EXPECT_TRUE(few.starts_with("undecided: k\n13 operations")) << few;
  EXPECT_TRUE(few.contains("operations_max is 12")) << few;
  const std::string brief = seen.wrong({.steps_max = 100});
  EXPECT_TRUE(brief.starts_with("undecided: k\n")) << brief;
  EXPECT_TRUE(brief.contains("steps_max")) << brief;
  EXPECT_TRUE(seen.wrong().starts_with("not linearizable: k\n"));
}

HEDDLE_TEST(history, "a list has each item that was added exactly once") {
  sim::history<growing_list> seen;
  seen.answer(seen.call("one", "k", growing_list::add("a")), {.length = 1});
  const auto unknown = seen.call("two", "k", growing_list::add("b"));
  seen.answer(seen.call("one", "k", growing_list::add("c")), {});
  sim::history<growing_list> twice = seen, lost = seen, swapped = seen;
  seen.answer(seen.call("three", "k", growing_list::get()), {.items = {"a", "b", "c"}});
  EXPECT_EQ(seen.wrong(), "");
  twice.answer(twice.call("three", "k", growing_list::get()), {.items = {"a", "b", "b", "c"}});
  EXPECT_TRUE(twice.wrong().contains("get: a b b c")) << twice.wrong();
  lost.answer(lost.call("three", "k", growing_list::get()), {.items = {"a", "b"}});
  EXPECT_NE(lost.wrong(), "");
  swapped.answer(swapped.call("three", "k", growing_list::get()), {.items = {"a", "c"}});
  EXPECT_EQ(swapped.wrong(), "");
  swapped.answer(unknown, {.length = 2});
  EXPECT_NE(swapped.wrong(), "");
}

HEDDLE_TEST(history, "a lock gives greater numbers, and smaller ones are refused once used") {
  sim::history<fenced_lock> seen;
  const auto acquire = [&seen](std::uint64_t number) {
    seen.answer(seen.call("user", "lock", fenced_lock::acquire()),
                {.number = number, .done = number != 0});
  };
  const auto use = [&seen](std::uint64_t number, bool done) {
    seen.answer(seen.call("user", "lock", fenced_lock::use(number)), {.done = done});
  };
  acquire(1);
  acquire(0);
  use(1, true);
  acquire(2);
  use(1, true);  // number 2 has not been used yet
  use(2, true);
  use(1, false);
  EXPECT_EQ(seen.wrong(), "");
  sim::history<fenced_lock> late = seen, again = seen;
  use(1, true);
  EXPECT_NE(seen.wrong(), "");
  again.answer(again.call("user", "lock", fenced_lock::acquire()), {.number = 2});
  EXPECT_NE(again.wrong(), "");
  late.answer(late.call("user", "lock", fenced_lock::use(2)), {.done = false});
  EXPECT_NE(late.wrong(), "");
}

// What random histories ask, and what they are answered: rightly or wrongly.
constexpr const char* values[] = {"", "a", "b"};
cell::input random_input(draws& draw, cell) {
  const std::string value = values[draw.below(3)], other = values[draw.below(3)];
  return draw.one_of(2)   ? cell::get()
         : draw.one_of(2) ? cell::put(value)
                          : cell::put_if(value, other);
}
cell::output random_output(draws& draw, cell) {
  return {.value = values[draw.below(3)], .done = draw.one_of(2)};
}
growing_list::input random_input(draws& draw, growing_list) {
  return {.item = values[draw.below(3)]};
}
growing_list::output random_output(draws& draw, growing_list) {
  growing_list::output got;
  for (std::uint64_t n = draw.below(4); n != 0; --n)
    got.items.emplace_back(values[draw.from(1, 2)]);
  if (draw.one_of(2)) got.length = draw.from(1, 3);
  return got;
}
fenced_lock::input random_input(draws& draw, fenced_lock) { return {.number = draw.below(4)}; }
fenced_lock::output random_output(draws& draw, fenced_lock) {
  return {.number = draw.from(1, 3), .done = draw.one_of(2)};
}

/// A small history, for which all orders are tried.
template <class Model>
struct small_history {
  struct entry {
    Model::input asked;
    std::optional<typename Model::output> got = std::nullopt;
    std::uint64_t called = 0, answered = sim::detail::recorded_operation::never;
  };
  std::vector<entry> all;
  sim::history<Model> seen;

  explicit small_history(std::uint64_t seed) {
    draws draw(seed);
    const std::uint64_t count = draw.from(1, 6);
    std::vector<std::size_t> open;
    std::vector<sim::operation_id> ids;
    std::uint64_t place = 0;
    while (all.size() != count || !open.empty()) {
      if (all.size() != count && (open.empty() || draw.one_of(2))) {
        open.push_back(all.size());
        all.push_back({.asked = random_input(draw, Model()), .called = place++});
        ids.push_back(seen.call("user", "k", all.back().asked));
        continue;
      }
      const std::size_t which = draw.below(open.size());
      const std::size_t i = open[which];
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
      if (draw.one_of(4)) continue;  // no answer
      all[i].answered = place++;
      all[i].got = random_output(draw, Model());
      seen.answer(ids[i], *all[i].got);
    }
  }

  [[nodiscard]] bool has_an_order() const {
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), 0U);
    do {
      if (is_an_order(order)) return true;
    } while (std::ranges::next_permutation(order).found);
    return false;
  }

 private:
  /// An unanswered operation behind all answered ones is as good as left out.
  [[nodiscard]] bool is_an_order(const std::vector<std::size_t>& order) const {
    typename Model::state state{};
    for (std::size_t k = 0; k != order.size(); ++k) {
      const entry& now = all[order[k]];
      for (std::size_t later = k + 1; later != order.size(); ++later)
        if (all[order[later]].answered < now.called) return false;
      const auto after = Model::step(state, now.asked, now.got ? &*now.got : nullptr);
      if (!after) return false;
      state = *after;
    }
    return true;
  }
};

template <class Model>
void compare_with_all_orders(std::uint64_t count) {
  std::uint64_t fine = 0, wrong = 0;
  const sim::seeds_outcome all = for_seeds(count, [&](std::uint64_t seed) {
    const small_history<Model> h(seed);
    const bool expected = h.has_an_order();
    (expected ? fine : wrong)++;
    EXPECT_EQ(h.seen.wrong().empty(), expected) << h.seen.text();
  });
  if (!judges_totals(all, count / 2)) return;
  EXPECT_GT(fine, count / 20);
  EXPECT_GT(wrong, count / 20);
}

HEDDLE_TEST(history_seeds, "an order of a cell's operations is found exactly if there is one") {
  compare_with_all_orders<cell>(10'000);
}
HEDDLE_TEST(history_seeds, "an order of a list's operations is found exactly if there is one") {
  compare_with_all_orders<growing_list>(10'000);
}
HEDDLE_TEST(history_seeds, "an order of a lock's operations is found exactly if there is one") {
  compare_with_all_orders<fenced_lock>(10'000);
}

HEDDLE_TEST(history, "many operations without an answer do not make it undecided") {
  cells seen;
  sim::history<growing_list> lists;
  for (int i = 0; i != 60; ++i) {
    static_cast<void>(seen.call("one", "k", cell::put(std::to_string(i))));
    static_cast<void>(lists.call("one", "k", growing_list::add(std::to_string(i))));
  }
  std::vector<std::string> items;
  for (int i = 50; i != 40; --i) {
    items.push_back(std::to_string(i));
    seen.answer(seen.call("two", "k", cell::get()), {.value = items.back()});
    lists.answer(lists.call("two", "k", growing_list::get()), {.items = items});
  }
  EXPECT_EQ(seen.wrong(), "");
  EXPECT_EQ(lists.wrong(), "");
  seen.answer(seen.call("two", "k", cell::get()), {.value = "50"});
  EXPECT_TRUE(seen.wrong().starts_with("not linearizable: k\n")) << seen.wrong();
  lists.answer(lists.call("two", "k", growing_list::get()), {.items = {"50"}});
  EXPECT_TRUE(lists.wrong().starts_with("not linearizable: k\n")) << lists.wrong();
}

HEDDLE_TEST(history, "a killed process writes nothing, and lines have the time of the world") {
  cells seen;
  sim::operation_id of_dead;
  sim::cluster all;
  sim::node& victim = all.add({.name = "victim",
                               .program = [&](sim::node&) -> task<int> {
                                 of_dead = seen.call("victim", "k", cell::put("a"));
                                 try {
                                   co_await sleep_for(1h);
                                 } catch (...) {
                                   seen.refused(of_dead);
                                   static_cast<void>(seen.call("victim", "k", cell::put("b")));
                                   throw;
                                 }
                                 co_return 0;
                               },
                               .service = true,
                               .clock_offset = 7h});
  all.add({.name = "reader",
           .program = [&](sim::node&) -> task<int> {
             co_await sleep_for(3s);
             seen.answer(seen.call("reader", "k", cell::get()), {.value = "a"});
             co_return 0;
           },
           .clock_offset = 1h});
  all.at(2s, [&] {
    all.kill(victim);
    seen.answer(seen.call("outside of all nodes", "other", cell::put("a long text")), {});
  });
  ASSERT_TRUE(all.run(1min));
  EXPECT_EQ(seen.size(), 3U);
  EXPECT_TRUE(seen.text().contains("  2.000000 s to 2.000000 s  outside")) << seen.text();
  EXPECT_TRUE(all.trace_text().contains("outside of all nodes: other: put \"a long text\": done"))
      << all.trace_text();
  EXPECT_EQ(seen.wrong(), "");
  EXPECT_TRUE(seen.text().contains("  3.0000")) << seen.text();
  EXPECT_TRUE(all.trace_text().contains("reader: k: get: \"a\"")) << all.trace_text();
}

}  // namespace
}  // namespace heddle::test
