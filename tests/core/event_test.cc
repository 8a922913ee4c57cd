// SPDX-License-Identifier: MIT
// Rules E and C of events and combinations, on virtual time.
#include "heddle/core/event.hh"

#include <memory>
#include <string>
#include <vector>

#include "heddle/core/adapt.hh"
#include "heddle/core/callback.hh"
#include "heddle/core/twait.hh"
#include "heddle/heddle.hh"
#include "support/drivers.hh"
#include "support/reporting_runtime.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

using namespace heddle;
using namespace std::chrono_literals;
using heddle::test::reporting_runtime;
using heddle::test::virtual_runtime;

HEDDLE_TEST(event,
            "E1 an event is empty when made by default, triggered, cancelled or moved from") {
  virtual_runtime v;
  event<int> none;
  EXPECT_FALSE(none);
  int slot = 0;
  rendezvous<> r;
  event<int> a = r.make_event(slot);
  EXPECT_TRUE(a);
  a.trigger(1);
  EXPECT_FALSE(a);
  event<int> b = r.make_event(slot);
  event<int> moved = std::move(b);
  EXPECT_FALSE(b);  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(moved);
  r.clear();
  EXPECT_FALSE(moved);
}

HEDDLE_TEST(event, "gives the variables that its values go to, and takes all values as one") {
  virtual_runtime v;
  int number = 0;
  std::string text;
  rendezvous<> r;
  const event<int, std::string> e = r.make_event(number, text);
  EXPECT_EQ(e.result_pointer(), &number);
  e.result<1>() = "in place";
  e.unblock();
  EXPECT_FALSE(e.has_result<1>());
  EXPECT_EQ(text, "in place");
  r.make_event(number, text).tuple_trigger({3, "three"});
  EXPECT_EQ(number, 3);
  EXPECT_EQ(text, "three");
  const event<int> mapped = map<int>(r.make_event(number), [](int n) { return n + 1; });
  EXPECT_FALSE(mapped.has_result());  // its value goes to the function
  r.clear();
}

HEDDLE_TEST(event, "E2 triggering any copy empties all, and a second trigger changes nothing") {
  virtual_runtime v;
  int slot = 0;
  rendezvous<> r;
  event<int> a = r.make_event(slot);
  event<int> b = a;
  b.trigger(7);
  EXPECT_FALSE(a);
  a.trigger(8);
  EXPECT_EQ(slot, 7);
  EXPECT_TRUE(r.join());
  EXPECT_FALSE(r.join());
}

namespace {
task<> note_when_woken(rendezvous<>& r, std::vector<int>& order, int id) {
  co_await r;
  order.push_back(id);
}
}  // namespace

HEDDLE_TEST(event,
            "E3 a trigger stores before it returns, and waiters run later in trigger order") {
  virtual_runtime v;
  std::vector<int> order;
  rendezvous<> r1, r2;
  int slot = 0;
  event<int> e1 = r1.make_event(slot);
  event<> e2 = r2.make_event();
  v.rt.spawn(note_when_woken(r1, order, 1));
  v.rt.spawn(note_when_woken(r2, order, 2));
  v.rt.once();
  e2.trigger();
  e1.trigger(5);
  EXPECT_EQ(slot, 5);
  EXPECT_TRUE(order.empty());
  v.rt.run();
  EXPECT_EQ(order, (std::vector<int>{2, 1}));
}

HEDDLE_TEST(event, "E4 calling an event triggers it, and an empty one is harmless") {
  virtual_runtime v;
  int slot = 0;
  rendezvous<> r;
  event<int> e = r.make_event(slot);
  e(3);
  EXPECT_EQ(slot, 3);
  event<int>().trigger(1);
  event<>()();
}

HEDDLE_TEST(event, "E5 unblock fires without touching slots, and so does an unblocker") {
  virtual_runtime v;
  int slot = 9;
  rendezvous<> r;
  event<int> e = r.make_event(slot);
  event<> u = e.unblocker();
  u.trigger();
  EXPECT_FALSE(e);
  EXPECT_EQ(slot, 9);
  EXPECT_TRUE(r.join());
  event<int> f = r.make_event(slot);
  event<> uf = f.unblocker();
  f.trigger(4);
  EXPECT_FALSE(uf);
  EXPECT_TRUE(r.join());
  event<int> g = r.make_event(slot);
  g.unblock();
  EXPECT_FALSE(g);
  EXPECT_EQ(slot, 4);
  EXPECT_TRUE(r.join());
}

namespace {
task<> drop_while_waiting(site& waits) {
  rendezvous<> r;
  asap(r.make_event());
  event<> held = r.make_event();
  co_await r;
  held = {};
  waits = 1;
  co_await r;
}
}  // namespace

DRIVER_TEST(event, "E6 dropping the last handle of an expected event fires it and reports it") {
  reporting_runtime v(make);
  site waits = 0;
  v.rt.run(drop_while_waiting(waits));
  ASSERT_EQ(v.reports.size(), 1u);
  EXPECT_EQ(v.reports[0].kind, diagnostic_kind::abandoned_event);
  EXPECT_NE(v.reports[0].made, 0u);
  EXPECT_NE(v.reports[0].waits, 0u);
}

namespace {
tamed forgets(event<> done) {
  co_await sleep_for(1ms);
  static_cast<void>(done);
}
task<> waits_in_vain() {
  twait { forgets(mkevent()); }
  constexpr int line = __LINE__ - 1;
  static_assert(line > 0);
}
task<> waits_on_another_line(unsigned& made, unsigned& waits) {
  rendezvous<> r;
  made = __LINE__ + 1;
  forgets(r.make_event());
  waits = __LINE__ + 1;
  co_await r;
}
}  // namespace

DRIVER_TEST(event, "E6 the report names the line that made the event and the line that waits") {
  reporting_runtime v(make);
  v.rt.run(waits_in_vain());
  ASSERT_EQ(v.reports.size(), 1u);
  const source_line made = resolve_site(v.reports[0].made);
  const source_line waits = resolve_site(v.reports[0].waits);
  EXPECT_EQ(made.line, waits.line);
  EXPECT_GT(made.line, 100u);
  EXPECT_NE(std::string(made.file).find("event_test.cc"), std::string::npos);
  EXPECT_NE(to_string(v.reports[0]).find("event_test.cc:"), std::string::npos);
  unsigned made_line = 0, waits_line = 0;
  v.rt.run(waits_on_another_line(made_line, waits_line));
  ASSERT_EQ(v.reports.size(), 2u);
  EXPECT_EQ(resolve_site(v.reports[1].made).line, made_line);
  EXPECT_EQ(resolve_site(v.reports[1].waits).line, waits_line);
}

HEDDLE_TEST(event,
            "E7 notifiers fire after the waiter is notified, in order, however the event ends") {
  virtual_runtime v;
  for (int how = 0; how < 4; ++how) {
    rendezvous<int> r;
    rendezvous<> target;
    int slot = 0;
    event<int> e = target.make_event(slot);
    bool waiter_first = false;
    e.at_trigger(function_event<>([&] { waiter_first = target.has_ready(); }));
    e.at_trigger(r.make_event(1));
    e.at_trigger(r.make_event(2));
    e.at_trigger(event<>());
    EXPECT_FALSE(r.has_ready());
    if (how == 0) e.trigger(1);
    if (how == 1) e.unblock();
    if (how == 2) e = {};
    if (how == 3) target.clear();
    EXPECT_EQ(waiter_first, how != 3);  // which has nobody to notify
    int id = 0;
    EXPECT_TRUE(r.join(id));
    EXPECT_EQ(id, 1);
    EXPECT_TRUE(r.join(id));
    EXPECT_EQ(id, 2);
    e.at_trigger(r.make_event(3));  // on an empty event at once
    EXPECT_TRUE(r.join(id));
    EXPECT_EQ(id, 3);
  }
  EXPECT_EQ(v.reports.size(), 1u);  // of the event that was dropped: all others fired
}

namespace {
template <class Event, class... Values>
concept triggered_by = requires(Event e, Values... values) { e.trigger(values...); };
}  // namespace

HEDDLE_TEST(event, "E8 results may be of any movable type, and any number") {
  virtual_runtime v;
  rendezvous<> r;
  std::unique_ptr<int> p;
  std::string s;
  const char* c = nullptr;
  std::vector<int> list;
  event<std::unique_ptr<int>, std::string, const char*, std::vector<int>> e =
      r.make_event(p, s, c, list);
  e.trigger(std::make_unique<int>(4), "text", "literal", std::vector<int>{1, 2});
  EXPECT_EQ(*p, 4);
  EXPECT_EQ(s, "text");
  EXPECT_STREQ(c, "literal");
  EXPECT_EQ(list.size(), 2u);
  static_assert(triggered_by<event<int>, int>);
  static_assert(!triggered_by<event<int>, std::string>);
  static_assert(!triggered_by<event<int>>);
}

HEDDLE_TEST(event, "E9 an id may be of any copyable type") {
  virtual_runtime v;
  rendezvous<std::string, std::pair<int, bool>> r;
  r.make_event("name", {3, true}).trigger();
  std::string name;
  std::pair<int, bool> pair;
  EXPECT_TRUE(r.join(name, pair));
  EXPECT_EQ(name, "name");
  EXPECT_EQ(pair.first, 3);
}

HEDDLE_TEST(event, "a double trigger is reported when asked for, with the maker's line") {
  runtime_options options;
  options.diagnostics.set(diagnostic_kind::double_trigger, strictness::report);
  virtual_runtime v(options);
  rendezvous<> r;
  event<> e = r.make_event();
  e.trigger();
  e.trigger();
  ASSERT_EQ(v.reports.size(), 1u);
  EXPECT_EQ(v.reports[0].kind, diagnostic_kind::double_trigger);
}

HEDDLE_TEST(combination,
            "C1 firing a combination fires its parts left to right with the same values") {
  virtual_runtime v;
  rendezvous<int> r;
  int a = 0, b = 0, c = 0;
  event<int> all = r.make_event(1, a) + r.make_event(2, b);
  all += r.make_event(3, c);
  all.trigger(6);
  EXPECT_EQ(a + b + c, 18);
  for (int expected = 1; expected <= 3; ++expected) {
    int id = 0;
    ASSERT_TRUE(r.join(id));
    EXPECT_EQ(id, expected);
  }
  event<int> two = r.make_event(1, a) + r.make_event(2, b);
  two.unblock();
  EXPECT_EQ(a, 6);
  EXPECT_TRUE(r.has_ready());
  const std::string sent(100, 'x');  // which leaves its place when it is moved
  std::string s, t;
  event<std::string> texts = r.make_event(1, s) + r.make_event(2, t);
  texts.trigger(sent);
  EXPECT_EQ(s, sent);
  EXPECT_EQ(t, sent);
  EXPECT_TRUE(v.reports.empty());
}

HEDDLE_TEST(combination,
            "C2 parts fired alone are skipped, and when all are the combination is empty") {
  virtual_runtime v;
  rendezvous<> r;
  int a = 0, b = 0;
  event<int> ea = r.make_event(a), eb = r.make_event(b);
  event<int> both = ea + eb;
  ea.trigger(1);
  EXPECT_TRUE(both);
  both.trigger(2);
  EXPECT_EQ(a, 1);
  EXPECT_EQ(b, 2);
  event<int> ec = r.make_event(a), ed = r.make_event(b);
  event<int> again = ec + ed;
  ec.trigger(3);
  ed.trigger(4);
  EXPECT_FALSE(again);
}

HEDDLE_TEST(combination, "C3 an empty event or the same event changes nothing") {
  virtual_runtime v;
  rendezvous<> r;
  int a = 0;
  event<int> e = r.make_event(a);
  event<int> same = e + event<int>();
  EXPECT_EQ(same.record(), e.record());
  same = e + e;
  EXPECT_EQ(same.record(), e.record());
  e.trigger(1);
}

HEDDLE_TEST(combination, "C4 notifiers on a combination fire when its parts are done") {
  virtual_runtime v;
  rendezvous<> r, done;
  event<> a = r.make_event(), b = r.make_event();
  event<> both = a + b;
  both.at_trigger(done.make_event());
  event<> more = both + r.make_event();
  a.trigger();
  EXPECT_FALSE(done.has_ready());
  b.trigger();
  EXPECT_TRUE(done.has_ready());
  more.trigger();
}

HEDDLE_TEST(combination, "C5 dropping an unfired combination drops its parts") {
  virtual_runtime v;
  rendezvous<> r;
  event<> both = r.make_event() + r.make_event();
  both = {};
  EXPECT_EQ(v.reports.size(), 2u);
  EXPECT_FALSE(r.has_waiting());
}

HEDDLE_TEST(combination, "a part that has fired alone is no second trigger for the whole") {
  virtual_runtime v;
  v.rt.diagnostics().set(diagnostic_kind::double_trigger, strictness::report);
  rendezvous<> r;
  int a = 0, b = 0;
  event<int> first = r.make_event(a), second = r.make_event(b);
  event<int> whole = first + second;
  first.trigger(1);
  whole.trigger(2);
  EXPECT_EQ(a, 1);
  EXPECT_EQ(b, 2);
  EXPECT_TRUE(v.reports.empty());
}
