// SPDX-License-Identifier: MIT
// Random steps over room sync (sync/random_steps.hh) where about half of the functions are fibers:
// they await the same steps, wait in plain functions deep down, and are destroyed where they wait.
#include "sync/random_steps.hh"
#include "heddle/fiber/fiber.hh"

using namespace heddle;

namespace {

namespace fiber_steps {

using namespace heddle::test::random_steps;

/// Waits in a plain function, within a limit of time or without.
template <class F>
auto wait_deep_down(party& p, int depth, F make) -> decltype(await(as_expected(make()))) {
  if (depth > 0) return wait_deep_down(p, depth - 1, make);
  if (p.draw.chance(30)) return await(as_expected(make()));
  const nanoseconds span = short_span(p);
  return await(as_expected(with_timeout(make(), span)));
}

void pop_in_fiber(party& p, bool in_order) {
  const int q = p.draw.below(test::random_steps::channels);
  channel<item>& c = *p.w.queues[static_cast<std::size_t>(q)];
  const waits_now here(p, want::value, q);
  auto got = wait_deep_down(p, p.draw.below(3), [&c] { return c.pop(); });
  if (got && *got) p.popped_by(**got, in_order);
}
void push_in_fiber(party& p) {
  const int q = p.draw.below(test::random_steps::channels);
  channel<item>& c = *p.w.queues[static_cast<std::size_t>(q)];
  item x = p.w.make_item(q, p.number);
  const int number = x.number();
  p.w.of(number).unknown = true;  // until the fiber learns what became of it
  const waits_now here(p, want::room, q);
  const auto got = wait_deep_down(p, 1, [&] { return c.push(std::move(x)); });
  p.w.of(number).unknown = false;
  (got ? p.w.of(number).pushed : p.w.of(number).refused) = true;
}
void lock_in_fiber(party& p) {
  result<gate::hold> got;
  {
    const waits_now here(p, want::mutex);
    got = wait_deep_down(p, 2, [&p] { return p.w.lock.lock(); });
  }
  if (!got) return;
  const holds mine(p.w.held.holders, 1);
  p.w.expect(p.w.held.holders == 1, "a mutex has two holders");
  const nanoseconds span = short_span(p);
  static_cast<void>(await(as_expected(sleep_for(span))));
}
void step_in_fiber(party& p, bool in_order) {
  const int what = p.draw.below(3);
  if (what == 0) pop_in_fiber(p, in_order);
  if (what == 1) push_in_fiber(p);
  if (what == 2) lock_in_fiber(p);
}

/// A fiber that ends with an object, where it waits: its stack unwinds.
tamed doomed_fiber(doom&, party& p) {
  task<> one = fiber([&p] { step_in_fiber(p, false); });  // named, for GCC 12
  co_await std::move(one);
}

void take_steps(party& p, int count) {
  for (int i = 0; i < count && !p.w.ending; ++i) {
    if (p.draw.chance(60)) {
      await(take_step(p));
    } else if (p.draw.chance(70)) {
      step_in_fiber(p, true);
    } else if (p.w.steps_allowed[static_cast<int>(step::pop_doomed)]) {
      auto life = std::make_unique<doom>();
      doomed_fiber(*life, p);
      for (int n = p.draw.below(3); n > 0; --n) await(stay(p));
    }
  }
}
task<> run_fiber_party(party& p, int count) {
  return fiber([&p, count] { take_steps(p, count); });
}

}  // namespace fiber_steps

}  // namespace

HEDDLE_TEST(random_steps, "fibers and tasks lose no value, lock or wake-up") {
  test::random_steps::run_many(1000, &fiber_steps::run_fiber_party);
}
