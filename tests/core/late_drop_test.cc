// SPDX-License-Identifier: MIT
// Handles that outlive their runtime may be dropped: docs/guide/lifetimes.md.
#include "heddle/core/detail/late_drop.hh"

#include <optional>
#include <string>
#include <vector>

#include "heddle/core/adapt.hh"
#include "heddle/core/callback.hh"
#include "heddle/core/combination.hh"
#include "heddle/heddle.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

using namespace heddle;
using heddle::test::virtual_runtime;

namespace {

task<> with_arguments(std::string text, event<int> e) {
  e.trigger(static_cast<int>(text.size()));
  co_return;
}

struct kept_things {
  std::vector<event<int>> events;
  std::optional<rendezvous<int>> set;
  std::optional<task<>> unstarted;
  int slot = 0;
};

task<> keep_beyond(kept_things& k) {
  k.set.emplace();
  rendezvous<> own;
  int foreign = 0;
  k.events.push_back(k.set->make_event(1, k.slot));
  k.events.push_back(k.events[0]);
  k.events.push_back(k.set->make_event(2, foreign));
  k.events.push_back(own.make_event(k.slot));  // ends with its rendezvous
  k.events.push_back(map<int>(k.set->make_event(3, k.slot), [](int v) { return v + 1; }));
  k.events.push_back(function_event<int>([](int) {}));
  k.events.push_back(k.set->make_event(4, k.slot) + k.set->make_event(5, k.slot));
  k.set->make_event(6, k.slot).trigger(9);  // waits to be taken
  k.unstarted = with_arguments(std::string(100, 'x'), k.set->make_event(7, k.slot));
  co_return;
}

std::size_t reports_of(virtual_runtime& v, diagnostic_kind kind) {
  std::size_t n = 0;
  for (const diagnostic& d : v.reports) n += d.kind == kind;
  return n;
}

}  // namespace

HEDDLE_TEST(lifetime, "events, a rendezvous and a task that outlive their runtime may be dropped") {
  for (const bool set_first : {false, true}) {
    kept_things k;
    {
      virtual_runtime v;
      v.rt.run(keep_beyond(k));
    }
    if (set_first) k.set.reset();
    k.unstarted.reset();
    k.events.clear();
    k.set.reset();
    EXPECT_EQ(worker::current(), nullptr);
  }
}

HEDDLE_TEST(lifetime, "what outlived its runtime says nothing to another one") {
  kept_things k;
  {
    virtual_runtime v;
    v.rt.run(keep_beyond(k));
  }
  virtual_runtime v;
  k.unstarted.reset();
  k.events.clear();
  k.set.reset();
  EXPECT_EQ(reports_of(v, diagnostic_kind::abandoned_event), 0u);
}
