// SPDX-License-Identifier: MIT
// Rules R and T: rendezvous and twait blocks.
#include "heddle/core/rendezvous.hh"

#include <memory>
#include <stdexcept>
#include <vector>

#include "heddle/core/adapt.hh"
#include "heddle/core/lifetime.hh"
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

HEDDLE_TEST(rendezvous,
            "R1 ready ids queue in trigger order, and a trigger before the wait counts") {
  virtual_runtime v;
  rendezvous<int> r;
  event<> a = r.make_event(1), b = r.make_event(2);
  b.trigger();
  a.trigger();
  EXPECT_EQ(v.rt.run([](rendezvous<int>& from) -> task<int> {
    const int first = co_await from;
    const int second = co_await from;
    co_return first * 10 + second;
  }(r)),
            21);
}

namespace {
task<> takes(rendezvous<int>& from, std::vector<int>& ids) { ids.push_back(co_await from); }

struct holder : tamed_class {
  tamed takes_pointer(rendezvous<std::shared_ptr<int>>& from, bool& after) {
    co_await from;
    after = true;
  }
};
}  // namespace

HEDDLE_TEST(rendezvous, "R1 an event that woke a function is taken by no one else") {
  virtual_runtime v;
  std::vector<int> first, second;
  rendezvous<int> r;
  event<> a = r.make_event(1), b = r.make_event(2), c = r.make_event(3);
  v.rt.spawn(takes(r, first));
  v.rt.once();
  a.trigger();
  EXPECT_FALSE(r.has_ready());
  int id = 77;
  EXPECT_FALSE(r.join(id));
  EXPECT_EQ(id, 77);
  v.rt.spawn(takes(r, second));  // waits for another
  v.rt.once();
  EXPECT_EQ(first, std::vector{1});
  EXPECT_TRUE(second.empty());

  b.trigger();
  r.clear();  // what has been given is not forgotten
  v.rt.once();
  EXPECT_EQ(second, std::vector{2});
  EXPECT_FALSE(c);
}

HEDDLE_TEST(rendezvous, "R1 a function that was woken has its event, also when the set goes") {
  virtual_runtime v;
  std::vector<int> ids;
  auto r = std::make_unique<rendezvous<int>>();
  event<> e = r->make_event(4);
  v.rt.spawn(takes(*r, ids));
  v.rt.once();
  e.trigger();
  r.reset();
  v.rt.run();
  EXPECT_EQ(ids, std::vector{4});
  EXPECT_TRUE(v.reports.empty());
}

HEDDLE_TEST(rendezvous, "R1 an event goes with the function that it woke") {
  virtual_runtime v;
  bool after = false;
  auto pointer = std::make_shared<int>(5);
  rendezvous<std::shared_ptr<int>> r;
  auto object = std::make_unique<holder>();
  object->takes_pointer(r, after);
  event<> e = r.make_event(pointer);
  e.trigger();
  EXPECT_EQ(pointer.use_count(), 2);
  object.reset();
  EXPECT_EQ(pointer.use_count(), 1);
  EXPECT_FALSE(r.has_events());
  v.rt.run();
  EXPECT_FALSE(after);
  EXPECT_TRUE(v.reports.empty());
}

HEDDLE_TEST(rendezvous,
            "R2 queued and outstanding events can be asked for, and join leaves ids alone") {
  virtual_runtime v;
  rendezvous<int> r;
  int id = 77;
  EXPECT_FALSE(r.has_events());
  EXPECT_FALSE(r.join(id));
  EXPECT_EQ(id, 77);
  event<> e = r.make_event(1);
  EXPECT_TRUE(r.has_waiting());
  EXPECT_FALSE(r.has_ready());
  e.trigger();
  EXPECT_FALSE(r.has_waiting());
  EXPECT_TRUE(r.has_ready());
  EXPECT_TRUE(r.join(id));
  EXPECT_EQ(id, 1);
}

HEDDLE_TEST(rendezvous, "R3 clear and destruction empty what is out, without a message") {
  virtual_runtime v;
  event<> kept;
  event<> ready;
  int slot = 5;
  {
    rendezvous<> r;
    kept = r.make_event();
    event<int> late = r.make_event(slot);
    r.make_event().trigger();
    r.clear();
    EXPECT_FALSE(r.has_events());
    EXPECT_FALSE(kept);
    late.trigger(6);
    EXPECT_EQ(slot, 5);
    kept = r.make_event();
    ready = r.make_event();
    ready.trigger();
  }
  EXPECT_FALSE(kept);
  kept.trigger();
  EXPECT_TRUE(v.reports.empty());
}

namespace {
rendezvous<int> global_rendezvous;

struct end_counter {
  explicit end_counter(int& count) : count_(count) {}
  ~end_counter() { ++count_; }
  int& count_;
};

tamed blocks_on(rendezvous<>& r, int& destroyed, bool& after) {
  end_counter w(destroyed);
  co_await r;
  after = true;
}
task<> waits_first(rendezvous<>& r, unsigned& line) {
  line = __LINE__ + 1;
  co_await r;
}
task<> waits_too(rendezvous<>& r, unsigned& line) {
  line = __LINE__ + 1;
  co_await r;
}
}  // namespace

HEDDLE_TEST(rendezvous, "R4 a rendezvous may be global") {
  auto outlives = std::make_unique<rendezvous<int>>();
  {
    virtual_runtime v;
    for (rendezvous<int>* const r : {&global_rendezvous, outlives.get()}) {
      r->make_event(3).trigger();
      int id = 0;
      EXPECT_TRUE(r->join(id));
      EXPECT_EQ(id, 3);
    }
  }
  outlives.reset();  // as a global one ends: without a runtime
}

HEDDLE_TEST(rendezvous, "R5 destroying a rendezvous ends the function that is blocked on it") {
  virtual_runtime v;
  int destroyed = 0;
  bool after = false;
  auto r = std::make_unique<rendezvous<>>();
  event<> e = r->make_event();
  blocks_on(*r, destroyed, after);
  EXPECT_EQ(destroyed, 0);
  r.reset();
  EXPECT_EQ(destroyed, 1);
  EXPECT_FALSE(after);
  EXPECT_FALSE(e);
}

HEDDLE_TEST(rendezvous, "R6 a second waiter is reported with both lines and gets an error") {
  virtual_runtime v;
  rendezvous<> r;
  event<> e = r.make_event();
  unsigned first_line = 0, second_line = 0;
  v.rt.spawn(waits_first(r, first_line));
  v.rt.once();
  EXPECT_THROW(v.rt.run(waits_too(r, second_line)), std::logic_error);
  ASSERT_FALSE(v.reports.empty());
  EXPECT_EQ(v.reports[0].kind, diagnostic_kind::two_waiters);
  EXPECT_EQ(resolve_site(v.reports[0].made).line, second_line);
  EXPECT_EQ(resolve_site(v.reports[0].waits).line, first_line);
  e.trigger();
  v.rt.run();
}

namespace {
task<int> twait_forms() {
  int late = 0;
  int x = 0, y = 0;
  twait {
    timer(2ms, bind(mkevent(late), 1));
    asap(mkevent());
  }
  if (late == 1) twait {
      mkevent(x).trigger(1);
    }
  else
    twait { mkevent(x).trigger(2); }
  for (int i = 0; i < 3; ++i) twait {
      timer(1ms, mkevent());
    }
  switch (x) {
    case 1:
      twait { mkevent(y).trigger(10); }
      break;
    default:
      y = -1;
  }
  twait {}
  co_return x + y;
}

tamed leaves_early(event<>& kept, bool by_return) {
  twait {
    kept = mkevent();
    if (by_return) co_return;
    break;
  }
}
task<> throws_inside(event<>& kept) {
  twait {
    kept = mkevent();
    throw std::runtime_error("left");
  }
}
task<std::uint64_t> frames_for_ready_twait() {
  const std::uint64_t before = worker::here().frames_run;
  int x = 0;
  twait { mkevent(x).trigger(1); }
  co_return worker::here().frames_run - before;
}
}  // namespace

DRIVER_TEST(twait,
            "T1 and T2 twait is one statement anywhere, and waits for every event of its body") {
  reporting_runtime v(make);
  EXPECT_EQ(v.rt.run(twait_forms()), 11);
}

HEDDLE_TEST(twait, "T1 with nothing left to wait for it does not yield") {
  virtual_runtime v;
  EXPECT_EQ(v.rt.run(frames_for_ready_twait()), 0u);
}

HEDDLE_TEST(twait, "T3 return, break and exceptions inside a body empty its events") {
  virtual_runtime v;
  event<> kept;
  leaves_early(kept, true);
  EXPECT_FALSE(kept);
  leaves_early(kept, false);
  EXPECT_FALSE(kept);
  EXPECT_THROW(v.rt.run(throws_inside(kept)), std::runtime_error);
  EXPECT_FALSE(kept);
  EXPECT_TRUE(v.reports.empty());
}

namespace {
task<> with_foreign_slot(rendezvous<>& r, event<int>& kept) {
  int slot = 1;
  kept = r.make_event(slot);
  EXPECT_EQ(kept.record()->slots()[0], &slot);
  co_await yield();
}
task<> keeps_the_rendezvous(std::size_t& foreign_before, std::size_t& foreign_after) {
  rendezvous<> r;
  event<int> kept;
  auto inner = with_foreign_slot(r, kept);
  co_await std::move(inner);
  foreign_before = worker::here().foreign_slots;
  EXPECT_EQ(kept.record()->slots()[0], nullptr);
  kept.trigger(5);
  foreign_after = worker::here().foreign_slots;
  co_await r;
}
}  // namespace

HEDDLE_TEST(memory,
            "K7 a slot in a frame that has ended is never written, and its waiter still wakes") {
  virtual_runtime v;
  std::size_t before = 9, after = 9;
  v.rt.run(keeps_the_rendezvous(before, after));
  EXPECT_EQ(before, 0u);  // cut off when the frame ended
  EXPECT_EQ(after, 0u);
}
