// SPDX-License-Identifier: MIT
// Rule K7 for variables that a compiler leaves on the stack, because they do not live across a
// wait, and for events that are made again.
#include <stdexcept>

#include "heddle/core/callback.hh"
#include "heddle/core/reusable_event.hh"
#include "heddle/core/twait.hh"
#include "heddle/heddle.hh"
#include "heddle/sync/mutex.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

using namespace heddle;
using namespace std::chrono_literals;
using heddle::test::virtual_runtime;

namespace {

template <class... Ts>
bool is_cut_off(const event<Ts...>& e) {
  return e && e.record()->slots()[0] == nullptr;
}

task<> short_lived(rendezvous<>& r, event<int>& kept) {
  int slot = 0;
  kept = r.make_event(slot);
  EXPECT_FALSE(is_cut_off(kept));
  co_return;
}
task<> fails_soon(rendezvous<>& r, event<int>& kept) {
  int slot = 0;
  kept = r.make_event(slot);
  throw std::runtime_error("soon");
  co_return;
}
tamed short_tamed(rendezvous<>& r, event<int>& kept) {
  int slot = 0;
  kept = r.make_event(slot);
  co_return;
}
tamed does_nothing() { co_return; }
task<int> gives_three() { co_return 3; }

task<> functions_end() {
  rendezvous<> r;
  event<int> kept;
  co_await short_lived(r, kept);
  EXPECT_TRUE(is_cut_off(kept));
  kept.trigger(1);
  co_await r;
  short_tamed(r, kept);
  EXPECT_TRUE(is_cut_off(kept));
  kept.trigger(1);
  co_await r;
  EXPECT_THROW(co_await fails_soon(r, kept), std::runtime_error);
  EXPECT_TRUE(is_cut_off(kept));
  kept.trigger(1);
  co_await r;
  EXPECT_EQ(worker::here().foreign_slots, 0u);
}

/// The slot lives until after the calls, and no wait lies in between.
int slot_of_a_caller(rendezvous<>& r, event<int>& other) {
  int slot = 0;
  const event<int> e = r.make_event(slot);
  does_nothing();
  short_tamed(r, other);
  start(gives_three(), event<>());
  e.trigger(5);
  return slot;
}
task<int> slot_of_a_function(rendezvous<>& r, event<int>& other) {
  int slot = 0;
  const event<int> e = r.make_event(slot);
  does_nothing();
  short_tamed(r, other);
  start(gives_three(), event<>());
  e.trigger(6);
  co_return slot;
}
task<> ends_at_once() { co_return; }
/// A compiler may keep the frames of such functions on the stack, too.
task<int> slot_beside_a_child(rendezvous<>& r) {
  int slot = 0;
  const event<int> e = r.make_event(slot);
  co_await ends_at_once();
  e.trigger(7);
  co_return slot;
}
task<> callers_go_on() {
  rendezvous<> r;
  event<int> other;
  EXPECT_EQ(slot_of_a_caller(r, other), 5);
  EXPECT_TRUE(is_cut_off(other));
  EXPECT_EQ(co_await slot_of_a_function(r, other), 6);
  EXPECT_TRUE(is_cut_off(other));
  EXPECT_EQ(co_await slot_beside_a_child(r), 7);
  r.clear();
  EXPECT_EQ(worker::here().foreign_slots, 0u);
}

[[gnu::noinline]] event<int> made_by_a_function(rendezvous<>& r) {
  int slot = 0;
  event<int> e = r.make_event(slot);
  return e;
}
task<> loop_goes_on(int& of_main) {
  rendezvous<> r;
  const event<int> of_nobody = made_by_a_function(r);
  const event<int> e = r.make_event(of_main);
  co_await yield();
  EXPECT_TRUE(is_cut_off(of_nobody));
  EXPECT_FALSE(is_cut_off(e));
  of_nobody.trigger(1);
  e.trigger(2);
  co_await r;
  co_await r;
}

tamed asks_for(mutex& m, rendezvous<>& r) {
  mutex::hold held;
  m.lock(r.make_event(held));
  co_return;
}
task<> lock_is_given_to_nobody() {
  mutex m;
  rendezvous<> r;
  {
    auto held = co_await m.lock();
    asks_for(m, r);
    held.release();
  }
  EXPECT_FALSE(m.locked());
  co_await r;
}

/// Counts what is stored, wherever that is.
struct store_counter {
  store_counter() = default;
  explicit store_counter(int n) : number(n) {}
  store_counter(store_counter&&) = default;
  store_counter& operator=(store_counter&& other) noexcept {
    number = other.number;
    ++stored;
    return *this;
  }
  int number = 0;
  static inline int stored = 0;
};

task<> makes_reusable(rendezvous<int>& r, reusable_event<store_counter>& kept, event<> ready) {
  store_counter slot;
  kept = make_reusable(r, 1, slot);
  kept.trigger(store_counter(1));
  EXPECT_EQ(slot.number, 1);
  ready.trigger();
  co_await yield();
  EXPECT_EQ(slot.number, 1);
}
task<> reusable_outlives_its_slot(bool waits) {
  rendezvous<int> r;
  rendezvous<> ready;
  reusable_event<store_counter> kept;
  store_counter::stored = 0;
  if (waits) {
    co_await makes_reusable(r, kept, ready.make_event());
  } else {
    [](rendezvous<int>& on, reusable_event<store_counter>& out) -> tamed {
      store_counter slot;
      out = make_reusable(on, 1, slot);
      out.trigger(store_counter(1));
      EXPECT_EQ(slot.number, 1);
      co_return;
    }(r, kept);
    ready.make_event().trigger();
  }
  co_await ready;
  EXPECT_EQ(worker::here().foreign_slots, 0u);
  kept.trigger(store_counter(2));  // makes the next one, which must not find the slot again
  EXPECT_EQ(worker::here().foreign_slots, 0u);
  kept.trigger(store_counter(3));
  EXPECT_EQ(store_counter::stored, 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(co_await r, 1);
  kept.finish();
  EXPECT_FALSE(kept);
}

}  // namespace

HEDDLE_TEST(memory, "K7 a slot that was left on the stack is cut off when its function ends") {
  virtual_runtime v;
  v.rt.run(functions_end());
  rendezvous<> r;
  event<int> kept;
  short_tamed(r, kept);  // outside of the loop, too
  EXPECT_TRUE(is_cut_off(kept));
  r.clear();
}

HEDDLE_TEST(memory, "K7 a slot on the stack stays while its function runs and others end") {
  virtual_runtime v;
  v.rt.run(callers_go_on());
  rendezvous<> r;
  event<int> other;
  EXPECT_EQ(slot_of_a_caller(r, other), 5);
  r.clear();
}

HEDDLE_TEST(memory, "K7 a slot of a function inside a frame is cut off when the loop goes on") {
  virtual_runtime v;
  int of_main = 0;
  v.rt.run(loop_goes_on(of_main));
  EXPECT_EQ(of_main, 2);
}

HEDDLE_TEST(memory, "K7 a lock that is given to a function that has ended is free again") {
  virtual_runtime v;
  v.rt.run(lock_is_given_to_nobody());
}

HEDDLE_TEST(memory, "K7 a reusable event does not store into a frame that has ended") {
  virtual_runtime v;
  v.rt.run(reusable_outlives_its_slot(true));
  v.rt.run(reusable_outlives_its_slot(false));
}
