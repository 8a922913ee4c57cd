// SPDX-License-Identifier: MIT
// Rule C3: events made of events, in chains of any length.
#include <string>
#include <vector>

#include "heddle/core/adapt.hh"
#include "heddle/core/callback.hh"
#include "heddle/core/combination.hh"
#include "heddle/core/notify.hh"
#include "heddle/heddle.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

using namespace heddle;
using heddle::test::virtual_runtime;

namespace {

constexpr int chain_length = 200'000;

int plus_one(int v) { return v + 1; }

}  // namespace

HEDDLE_TEST(combination, "C3 any number of parts fire, left to right") {
  virtual_runtime v;
  std::vector<int> order;
  event<int> all;
  for (int i = 0; i < chain_length; ++i)
    all += function_event<int>([&order, i](int k) { order.push_back(i * k); });
  all.trigger(1);
  ASSERT_EQ(order.size(), std::size_t{chain_length});
  for (int i = 0; i < chain_length; ++i) ASSERT_EQ(order[i], i);
}

HEDDLE_TEST(combination, "C3 parts may be combined from the right") {
  virtual_runtime v;
  std::vector<int> order;
  event<int> all;
  for (int i = chain_length; i-- > 0;)
    all = function_event<int>([&order, i](int) { order.push_back(i); }) + all;
  all.trigger(1);
  ASSERT_EQ(order.size(), std::size_t{chain_length});
  for (int i = 0; i < chain_length; ++i) ASSERT_EQ(order[i], i);
}

HEDDLE_TEST(combination, "C3 any number of parts end by themselves, or are dropped") {
  virtual_runtime v;
  int slot = 0;
  rendezvous<> r;
  {
    event<int> all;
    std::vector<event<int>> parts;
    for (int i = 0; i < chain_length; ++i) all += parts.emplace_back(r.make_event(slot));
    for (std::size_t i = parts.size(); i-- > 0;) parts[i].trigger(1);
    EXPECT_FALSE(all);
    r.clear();
  }
  {
    event<int> all;
    for (int i = 0; i < chain_length; ++i) all += r.make_event(slot);
    r.clear();
    EXPECT_FALSE(all);
  }
  {
    v.rt.diagnostics().set(diagnostic_kind::abandoned_event, strictness::off);
    event<int> all;
    for (int i = 0; i < chain_length; ++i) all += r.make_event(slot);
    all = {};
    EXPECT_FALSE(r.has_waiting());
    r.clear();
  }
}

HEDDLE_TEST(adapt, "A2 map may be applied any number of times") {
  virtual_runtime v;
  int slot = 0;
  rendezvous<> r;
  event<int> e = r.make_event(slot);
  event<int> mapped = e;
  for (int i = 0; i < chain_length; ++i) mapped = map<int>(mapped, plus_one);
  mapped.trigger(1);
  EXPECT_EQ(slot, chain_length + 1);
  r.clear();

  e = r.make_event(slot);
  mapped = e;
  for (int i = 0; i < chain_length; ++i) mapped = map<int>(mapped, plus_one);
  e.trigger(3);
  EXPECT_FALSE(mapped);
  EXPECT_EQ(slot, 3);
  r.clear();
}

HEDDLE_TEST(event, "E7 notifiers of notifiers fire in any number, and so do those of one event") {
  virtual_runtime v;
  rendezvous<> r;
  int fired = 0;
  event<> first = r.make_event();
  event<> last = first;
  for (int i = 0; i < chain_length; ++i) {
    event<> next = function_event<>([&fired, i] { EXPECT_EQ(fired++, i); });
    last.at_trigger(next);
    last = next;
  }
  first.trigger();
  EXPECT_EQ(fired, chain_length);

  fired = 0;
  first = r.make_event();
  for (int i = 0; i < chain_length; ++i)
    first.at_trigger(function_event<>([&fired, i] { EXPECT_EQ(fired++, i); }));
  first.trigger();
  EXPECT_EQ(fired, chain_length);
  r.clear();
}

HEDDLE_TEST(event, "E3 what a callback triggers is stored when the trigger returns") {
  virtual_runtime v;
  int slot = 0, seen = 0;
  rendezvous<> r;
  event<int> inner = r.make_event(slot);
  for (int i = 0; i < 100; ++i) inner = map<int>(inner, plus_one);
  event<int> outer = function_event<int>([&](int k) {
    inner.trigger(k);
    seen = slot;
  });
  for (int i = 0; i < 100; ++i) outer = map<int>(outer, plus_one);
  outer.trigger(0);
  EXPECT_EQ(seen, 200);
  r.clear();
}

HEDDLE_TEST(combination, "C1 nested combinations fire in the order in which they are written") {
  virtual_runtime v;
  std::string order;
  int letters = 0;
  const auto part = [&] {
    return function_event<>([&order, c = static_cast<char>('a' + letters++ % 26)] { order += c; });
  };
  event<> all;
  std::string expected;
  for (int i = 0; i < 200; ++i) {
    const event<> a = part(), b = part(), c = part(), d = part();
    all += (a + b) + (c + d);
  }
  for (int i = 0; i < letters; ++i) expected += static_cast<char>('a' + i % 26);
  std::string noted;
  all.at_trigger(function_event<>([&] { noted = order; }));
  all.trigger();
  EXPECT_EQ(order, expected);
  EXPECT_EQ(noted, expected);  // the notifier comes behind all parts
}
