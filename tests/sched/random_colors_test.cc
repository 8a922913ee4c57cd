// SPDX-License-Identifier: MIT
// Random programs over colors: a few parties take random steps in random colors, and a model beside
// them says what must come out. Each color has a plain counter that only its frames touch; each
// value has an id that is pushed and popped once; posted calls are numbered by poster and color.
#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "heddle/core/combine.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/rendezvous.hh"
#include "heddle/core/sleep.hh"
#include "heddle/core/twait.hh"
#include "heddle/core/yield.hh"
#include "heddle/io/blocking.hh"
#include "heddle/sched/runtime.hh"
#include "heddle/sim/driver.hh"
#include "heddle/sync/atomically.hh"
#include "heddle/sync/semaphore.hh"
#include "heddle/sync/shared_channel.hh"
#include "support/draws.hh"
#include "support/hang_watch.hh"
#include "support/seeds.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

enum class color_step : unsigned {
  yields,
  sleeps,
  visit,
  move,
  push,
  pop,
  transfer,
  wait_for_sum,
  event,
  dropped_event,
  post,
  message,
  children,
  race,
  preblock,
  look,
  permit,
  block,
  root_task,
  priority,
  limit,
  thread,
  count
};

/// What all parties share. It must outlive the runtime.
class steps_world {
 public:
  static constexpr std::size_t channels = 2, accounts = 3;
  static constexpr long in_accounts = 30;
  static constexpr std::uint32_t permits = 2;

  steps_world(std::uint64_t seed, bool with_threads)
      : seed_(seed), threads_(with_threads), draw_(seed) {
    const auto steps = static_cast<unsigned>(color_step::count);
    for (unsigned i = 0; i != steps; ++i)
      if (i == 0 || draw_.one_of(2)) kinds_.push_back(static_cast<color_step>(i));
    if (!with_threads) std::erase(kinds_, color_step::thread);
    const std::uint64_t colors = draw_.from(1, 6);
    for (std::uint64_t i = 0; i != colors; ++i) colors_.push_back(draw_.below(24));
    parties_ = draw_.from(2, 10);
    for (std::size_t i = 0; i != channels; ++i)
      channels_.emplace_back(some_color(draw_), draw_.from(1, 4));
    gate_home_ = some_color(draw_);
    waits_most_ = with_threads ? std::chrono::microseconds(300) : std::chrono::milliseconds(3);
  }

  /// Options of a runtime, drawn as well.
  runtime_options options() {
    runtime_options o;
    o.workers = static_cast<unsigned>(threads_ ? 2 * draw_.from(1, 2) : draw_.from(2, 4));
    o.batch = draw_.one_of(3) ? 1 : 256;
    o.color_batch = draw_.one_of(2) ? 1 : 16;
    o.color_places = draw_.one_of(3) ? 4 : 65536;  // few places: two colors share one
    o.posted_max = draw_.one_of(3) ? 2 : 65536;
    if (draw_.one_of(3)) o.poll_interval = {};
    if (draw_.one_of(3)) o.steal_after = {};
    if (draw_.one_of(3)) o.spin = {};
    o.stealing = !draw_.one_of(8);
    o.watch = draw_.one_of(4);
    switch (draw_.below(8)) {
      case 0:
        o.task_policy = [] { return priorities(); };
        break;
      case 1:
        o.task_policy = [] { return earliest_task(); };
        break;
      case 2:
        o.policy = [seed = seed_] { return seeded_shuffle(seed); };
        break;
      case 3:
        o.policy = [] { return earliest_deadline(); };
        break;
      case 4:
        o.policy = [] {
          return weighted_shares([](color c) { return 1 + static_cast<unsigned>(c.number % 3); });
        };
        break;
      default:
        break;
    }
    o.report = [this](const diagnostic& d) {
      fault(std::string(to_string(d.kind)) + " of " + to_string(resolve_site(d.made)));
    };
    return o;
  }

  /// All parties, and then what they have left in the channels.
  task<> program();

  /// The first thing that went wrong; empty if nothing did. After the runtime's end.
  std::string verdict();
  [[nodiscard]] std::uint64_t fingerprint() const noexcept { return hash_; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  [[nodiscard]] std::uint64_t reached(color_step kind) const noexcept {
    return reached_[static_cast<std::size_t>(kind)];
  }

 private:
  struct place_record {
    std::atomic<int> inside{0};
    long frames = 0;  // plain: the color guards it
  };
  /// Calls from one poster to one color: numbers that were accepted, and the last one that ran.
  struct sequence {
    long accepted = 0;
    std::atomic<long> ran{0};
    long last = 0;  // plain: the color guards it
  };
  struct party {
    party(std::uint64_t seed, std::uint64_t its) : draw(seed, its + 1), number(its) {}
    draws draw;
    std::uint64_t number;
    color now{0};
    bool limited = false;                               ///< its steps may be cut short
    std::map<std::uint64_t, sequence> posts, messages;  // by place
    std::array<std::map<std::uint64_t, long>, channels> popped_from;
  };

  void fault(const std::string& what) {
    const std::lock_guard hold(lock_);
    if (first_fault_.empty()) first_fault_ = what;
  }
  color some_color(draws& d) { return color(colors_[d.below(colors_.size())]); }
  nanoseconds some_span(draws& d) { return d.span(waits_most_); }

  /// A frame of the color that is said to run: counted, and never two at once.
  void touch(color c, std::uint64_t what) {
    worker& w = worker::here();
    if (w.color != w.place_of(c.number)) fault("a frame runs in a color that it is not in");
    place_record& at = places_[w.color % places_.size()];
    if (at.inside.fetch_add(1, std::memory_order_relaxed) != 0) fault("two frames of one color");
    ++at.frames;
    if (!threads_) {
      for (const std::uint64_t part : {what, c.number, std::uint64_t{w.index}})
        hash_ = (hash_ ^ part) * 0x100000001b3;
    }
    at.inside.fetch_sub(1, std::memory_order_relaxed);
  }

  task<> party_task(party& p);
  task<> one_step(party& p, color_step kind);
  task<> more_steps(party& p);
  task<long> visit(color c, long n, draws d, int depth);
  task<> push(party& p);
  task<> pop(party& p);
  void popped(party& p, std::size_t channel, long value);
  task<> transfer(party& p);
  task<> wait_for_sum(party& p);
  task<> wait_for_event(party& p);
  task<> trigger_in(color c, event<int> e, int value, bool waits);
  task<> drop_in(color c, event<> e, bool yields);
  task<> wait_for_dropped(party& p);
  task<> race(party& p);
  task<> checked_visit(party& p);
  task<> fire_preblock(party& p);
  void post(party& p);
  void message(party& p);
  void arrived(sequence& s, color c, long number);
  task<> child(color c, nanoseconds span);
  task<> children(party& p);
  task<> take_permit(party& p);
  task<> post_from_thread(party& p);

  const std::uint64_t seed_;
  const bool threads_;
  draws draw_;
  std::vector<color_step> kinds_;
  std::vector<std::uint64_t> colors_;
  std::uint64_t parties_ = 0;
  nanoseconds waits_most_{};
  std::deque<shared_channel<long>> channels_;
  tvar<long> accounts_[accounts] = {in_accounts, in_accounts, in_accounts};
  color gate_home_{0};
  semaphore gate_{permits};
  long holders_ = 0;  // plain: gate_home_ guards it
  std::deque<party> all_;
  std::array<place_record, 64> places_;
  std::vector<std::jthread> outside_;   // guarded by lock_
  std::deque<sequence> outside_calls_;  // guarded by lock_
  std::atomic<int> outside_left_{0};
  std::atomic<long> begun_{0}, over_{0}, next_id_{0};
  std::array<std::atomic<int>, 4096> pushed_{}, popped_{};
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(color_step::count)> reached_{};
  std::mutex lock_;
  std::string first_fault_;
  std::uint64_t hash_ = 0xcbf29ce484222325;
  std::atomic<std::uint64_t> steps_{0};
  bool ended_ = false;
};

// A step's own waits end early if a limit around it is reached; so each asks for a result.
using color_errc = std::errc;

bool ended_early(std::error_code e) noexcept {
  return e == color_errc::operation_canceled || e == color_errc::timed_out;
}

task<long> steps_world::visit(color c, long n, draws d, int depth) {
  co_await enter(c);
  touch(c, 1);
  if (d.one_of(3)) {
    co_await yield();
    touch(c, 2);
  }
  if (d.one_of(3)) {
    const nanoseconds span = some_span(d);
    co_await sleep_for(span);
    touch(c, 3);
  }
  if (depth != 0 && d.one_of(2)) {
    const color next = some_color(d);
    draws inner(d.next());
    const long got = co_await visit(next, n + 1, inner, depth - 1);
    if (got != 2 * (n + 1)) fault("a visit's value is wrong");
    touch(c, 4);
  }
  if (d.one_of(3)) {
    c = some_color(d);
    co_await enter(c);
    touch(c, 5);
  }
  if (depth == 0 && d.one_of(6))
    throw failure(std::make_error_code(color_errc::result_out_of_range));
  co_return 2 * n;
}

task<> steps_world::checked_visit(party& p) {
  const color c = some_color(p.draw);
  const long n = static_cast<long>(p.draw.below(1000));
  const draws inner(p.draw.next());
  const int depth = static_cast<int>(p.draw.below(3));
  const result<long> got = co_await as_expected(visit(c, n, inner, depth));
  if (got && *got != 2 * n) fault("a visit's value is wrong");
  if (!got && !ended_early(got.error()) && got.error() != color_errc::result_out_of_range)
    fault("a visit failed: " + got.error().message());
}

task<> steps_world::race(party& p) {
  const color first = some_color(p.draw), second = some_color(p.draw);
  const draws one(p.draw.next()), two(p.draw.next());
  const nanoseconds span = some_span(p.draw);
  auto racing = any(visit(first, 5, one, 2), visit(second, 6, two, 2), sleep_for(span));
  auto got = co_await as_expected(std::move(racing));
  if (!got) {
    if (!ended_early(got.error()) && got.error() != color_errc::result_out_of_range)
      fault("a race failed: " + got.error().message());
    co_return;
  }
  const auto& [a, b, slept] = got->results;
  if ((a && *a != 10) || (b && *b != 12)) fault("a race gives a wrong value");
  if ((got->index == 0 && !a) || (got->index == 1 && !b)) fault("a race's winner has no value");
}

task<> steps_world::push(party& p) {
  const std::size_t channel = p.draw.below(channels);
  const long id = next_id_.fetch_add(1);
  if (id >= static_cast<long>(pushed_.size())) co_return;
  const nanoseconds span = some_span(p.draw);
  const long value = id * 16 + static_cast<long>(p.number);
  const result<void> done =
      co_await as_expected(with_timeout(channels_[channel].push(value), span));
  if (done) {
    ++pushed_[static_cast<std::size_t>(id)];
  } else if (!ended_early(done.error())) {
    fault("a push failed: " + done.error().message());
  }
}

/// Of each pusher, values come in the order in which they were pushed.
void steps_world::popped(party& p, std::size_t channel, long value) {
  const long id = value / 16;
  ++popped_[static_cast<std::size_t>(id)];
  long& last =
      p.popped_from[channel].try_emplace(static_cast<std::uint64_t>(value % 16), -1).first->second;
  if (id <= last) fault("values of one pusher in another order");
  last = id;
}

task<> steps_world::pop(party& p) {
  const std::size_t channel = p.draw.below(channels);
  const nanoseconds span = some_span(p.draw);
  if (p.draw.one_of(3)) {
    auto many = co_await as_expected(with_timeout(channels_[channel].pop_many(3), span));
    if (many) {
      for (const long value : *many) popped(p, channel, value);
    } else if (!ended_early(many.error())) {
      fault("a pop of many failed: " + many.error().message());
    }
    co_return;
  }
  auto one = co_await as_expected(with_timeout(channels_[channel].pop(), span));
  if (one) {
    if (*one) popped(p, channel, **one);
  } else if (!ended_early(one.error())) {
    fault("a pop failed: " + one.error().message());
  }
}

task<> steps_world::transfer(party& p) {
  const std::size_t from = p.draw.below(accounts), to = p.draw.below(accounts);
  const long much = static_cast<long>(p.draw.below(7));
  const auto body = [this, from, to, much](transaction& tx) {
    long sum = 0;
    for (const tvar<long>& a : accounts_) sum += tx.read(a);
    if (sum != in_accounts * static_cast<long>(accounts)) fault("a transaction sees half of one");
    tx.update(accounts_[from], [much](long n) { return n - much; });
    tx.update(accounts_[to], [much](long n) { return n + much; });
  };
  const result<void> done = co_await as_expected(atomically(body));
  if (!done && !ended_early(done.error())) fault("a transaction failed");
}

task<> steps_world::wait_for_sum(party& p) {
  const std::size_t which = p.draw.below(accounts);
  const long least = in_accounts - 5 + static_cast<long>(p.draw.below(10));
  const nanoseconds span = some_span(p.draw);
  const auto body = [this, which, least](transaction& tx) {
    const long there = tx.read(accounts_[which]);
    tx.wait_until(there >= least);
    return there;
  };
  const auto there = co_await as_expected(with_timeout(atomically(body), span));
  if (there && *there < least) fault("a transaction goes on too early");
  if (!there && !ended_early(there.error())) fault("a waiting transaction failed");
}

task<> steps_world::trigger_in(color c, event<int> e, int value, bool waits) {
  touch(c, 6);
  if (waits) static_cast<void>(co_await as_expected(sleep_for(10us)));
  if (value % 2 == 0) {
    e.trigger(value);
    co_return;
  }
  const event<int> copy = e;
  e = {};
  copy.trigger(value);
}

task<> steps_world::wait_for_event(party& p) {
  const std::uint64_t events = p.draw.from(1, 4);
  std::array<int, 4> got{};
  std::error_code why;
  // A task that is spawned where a limit was reached does not begin: its event is dropped.
  rendezvous<std::size_t> r(p.limited ? drops::unreported : drops::reported);
  scope s;
  for (std::size_t i = 0; i != events; ++i) {
    const color c = some_color(p.draw);
    const bool waits = p.draw.one_of(2);
    s.spawn(c, trigger_in(c, r.make_event(i, got[i]), 100 + static_cast<int>(i), waits));
  }
  for (std::size_t i = 0; i != events && !why; ++i) {
    const result<std::size_t> id = co_await as_expected(r);
    if (!id) {
      why = id.error();
    } else if (got[*id] != 100 + static_cast<int>(*id) && !(p.limited && got[*id] == 0)) {
      fault("an event brings a wrong value");
    }
  }
  if (why && !ended_early(why)) fault("a wait for events failed: " + why.message());
  co_await s.settled();
}

task<> steps_world::drop_in(color c, event<> e, bool yields) {
  touch(c, 7);
  const event<> copy = e;
  if (yields) co_await yield();
}

task<> steps_world::wait_for_dropped(party& p) {
  rendezvous<> r(drops::unreported);
  scope s;
  {
    const event<> e = r.make_event();
    for (std::uint64_t i = 0, n = p.draw.from(1, 3); i != n; ++i) {
      const color c = some_color(p.draw);
      const bool yields = p.draw.one_of(2);
      s.spawn(c, drop_in(c, e, yields));
    }
  }
  const result<void> woken = co_await as_expected(r);
  if (!woken && !ended_early(woken.error())) fault("a wait for a dropped event failed");
  co_await s.settled();
}

void steps_world::arrived(sequence& s, color c, long number) {
  touch(c, 8);
  if (s.last + 1 != number) fault("posted calls in another order");
  s.last = number;
  s.ran.fetch_add(1, std::memory_order_relaxed);
}

void steps_world::post(party& p) {
  for (std::uint64_t i = 0, n = p.draw.from(1, 4); i != n; ++i) {
    const color c = some_color(p.draw);
    sequence& s = p.posts[worker::here().place_of(c.number)];
    try {
      runtime::here().post(c, [this, &s, c, number = s.accepted + 1] { arrived(s, c, number); });
      ++s.accepted;
    } catch (const failure& f) {
      if (f.code() != color_errc::resource_unavailable_try_again) throw;
    }
  }
}

void steps_world::message(party& p) {
  for (std::uint64_t i = 0, n = p.draw.from(1, 4); i != n; ++i) {
    const color c = some_color(p.draw);
    sequence& s = p.messages[worker::here().place_of(c.number)];
    heddle::post(c, [this, &s, c, number = ++s.accepted] { arrived(s, c, number); });
  }
}

/// Counts the tasks that have begun, and those whose frames are gone.
struct color_life {
  color_life(std::atomic<long>& begun, std::atomic<long>& over) : ended(over) { ++begun; }
  color_life(const color_life&) = delete;
  ~color_life() { ++ended; }
  std::atomic<long>& ended;
};

task<> steps_world::child(color c, nanoseconds span) {
  const color_life counted(begun_, over_);
  touch(c, 9);
  const result<void> slept = co_await as_expected(sleep_for(span));
  touch(c, slept ? 10 : 11);
}

task<> steps_world::children(party& p) {
  scope s;
  for (std::uint64_t i = 0, n = p.draw.from(1, 4); i != n; ++i) {
    const color c = some_color(p.draw);
    const nanoseconds span = some_span(p.draw);
    s.spawn(c, child(c, span));
  }
  const nanoseconds span = some_span(p.draw);
  static_cast<void>(co_await as_expected(sleep_for(span)));
  if (p.draw.one_of(2)) s.cancel();
  co_await s.settled();
  if (s.live() != 0) fault("a scope has settled with tasks");
}

task<> steps_world::take_permit(party& p) {
  const color c = gate_home_;
  const nanoseconds span = some_span(p.draw);
  const std::uint64_t turns = p.draw.below(3);
  co_await enter(c);
  touch(c, 12);
  auto held = co_await as_expected(with_timeout(gate_.acquire(), span));
  touch(c, 13);
  if (!held) {
    if (!ended_early(held.error())) fault("a permit failed");
    co_return;
  }
  const struct holder {
    explicit holder(long& n) : count(++n) {}
    ~holder() { --count; }
    long& count;
  } one(holders_);
  if (holders_ > static_cast<long>(permits)) fault("more holders than permits");
  for (std::uint64_t i = 0; i != turns; ++i) co_await yield();
}

task<> steps_world::fire_preblock(party&) {
  rendezvous<> r(drops::unreported);
  runtime::here().preblock(r.make_event());
  static_cast<void>(co_await as_expected(r));
}

/// A thread posts numbered calls, and triggers an event at last.
task<> steps_world::post_from_thread(party& p) {
  int got = 0;
  rendezvous<> r;
  const color c = some_color(p.draw);
  const long calls = static_cast<long>(p.draw.from(1, 8));
  event<int> done = r.make_event(got);
  {
    const std::lock_guard hold(lock_);
    sequence& s = outside_calls_.emplace_back();
    s.accepted = calls;
    ++outside_left_;
    runtime& rt = runtime::here();
    outside_.emplace_back(
        [this, &rt, &s, c, calls, done = std::move(done), work = outside_work(rt)]() mutable {
          for (long i = 1; i <= calls; ++i) rt.post(c, [this, &s, c, i] { arrived(s, c, i); });
          rt.trigger(std::move(done), 7);
          {
            const outside_work dropped = std::move(work);
          }
          --outside_left_;
        });
  }
  const result<void> woken = co_await as_expected(r);
  if (woken && got != 7) fault("a thread's event brings a wrong value");
}

task<> steps_world::one_step(party& p, color_step kind) {
  switch (kind) {
    case color_step::yields:
      co_await yield();
      break;
    case color_step::sleeps: {
      const nanoseconds span = some_span(p.draw);
      static_cast<void>(co_await as_expected(sleep_for(span)));
      break;
    }
    case color_step::visit:
      co_await checked_visit(p);
      break;
    case color_step::push:
      co_await push(p);
      break;
    case color_step::pop:
      co_await pop(p);
      break;
    case color_step::transfer:
      co_await transfer(p);
      break;
    case color_step::wait_for_sum:
      co_await wait_for_sum(p);
      break;
    case color_step::event:
      co_await wait_for_event(p);
      break;
    case color_step::dropped_event:
      co_await wait_for_dropped(p);
      break;
    case color_step::post:
      post(p);
      break;
    case color_step::message:
      message(p);
      break;
    case color_step::children:
      co_await children(p);
      break;
    case color_step::race:
      co_await race(p);
      break;
    case color_step::preblock:
      co_await fire_preblock(p);
      break;
    case color_step::look:
      static_cast<void>(runtime::here().read_workers());
      if (p.draw.one_of(2)) static_cast<void>(runtime::here().read_colors());
      if (p.draw.one_of(4)) static_cast<void>(runtime::here().dump());
      break;
    case color_step::permit:
      co_await take_permit(p);
      break;
    case color_step::block: {
      const auto call = [] { return 7; };
      const result<int> got = co_await as_expected(blocking(call));
      if (got && *got != 7) fault("a blocking call gives a wrong value");
      break;
    }
    case color_step::root_task: {
      const color c = some_color(p.draw);
      const nanoseconds span = p.draw.one_of(2) ? some_span(p.draw) : nanoseconds(1h);
      runtime::here().spawn(c, child(c, span));
      break;
    }
    case color_step::priority: {
      const color c = some_color(p.draw);
      const draws inner(p.draw.next());
      const auto level = static_cast<std::uint8_t>(p.draw.below(256));
      static_cast<void>(co_await as_expected(with_priority(visit(c, 1, inner, 1), level)));
      break;
    }
    case color_step::thread:
      co_await post_from_thread(p);
      break;
    default:
      break;
  }
}

/// Several steps in a time limit.
task<> steps_world::more_steps(party& p) {
  for (std::uint64_t i = 0, n = p.draw.from(1, 4); i != n; ++i) {
    const color_step kind = kinds_[p.draw.below(kinds_.size())];
    ++reached_[static_cast<std::size_t>(kind)];
    co_await one_step(p, kind);
  }
}

task<> steps_world::party_task(party& p) {
  const color_life counted(begun_, over_);
  touch(p.now, 0);
  for (std::uint64_t i = 0, n = p.draw.from(3, 30); i != n; ++i) {
    const color_step kind = kinds_[p.draw.below(kinds_.size())];
    ++reached_[static_cast<std::size_t>(kind)];
    ++steps_;
    if (kind == color_step::move) {
      p.now = some_color(p.draw);
      co_await enter(p.now);
    } else if (kind == color_step::limit) {
      const nanoseconds span = some_span(p.draw);
      p.limited = true;
      const result<void> done = co_await as_expected(with_timeout(more_steps(p), span));
      p.limited = false;
      if (!done && !ended_early(done.error())) fault("limited steps: " + done.error().message());
    } else {
      co_await one_step(p, kind);
    }
    touch(p.now, 20 + static_cast<std::uint64_t>(kind));
  }
}

task<> steps_world::program() {
  scope s;
  for (std::uint64_t i = 0; i != parties_; ++i) {
    party& p = all_.emplace_back(seed_, i);
    p.now = some_color(p.draw);
    s.spawn(p.now, party_task(p));
  }
  co_await s.join();
  while (outside_left_ != 0) co_await sleep_for(100us);
  party& last = all_.emplace_back(seed_, parties_);
  for (std::size_t i = 0; i != channels; ++i) {
    channels_[i].close();
    for (;;) {
      const std::optional<long> value = co_await channels_[i].pop();
      if (!value) break;
      popped(last, i, *value);
    }
  }
  ended_ = true;
}

std::string steps_world::verdict() {
  outside_.clear();
  const std::size_t ids = std::min(static_cast<std::size_t>(next_id_), pushed_.size());
  for (std::size_t i = 0; i != ids; ++i)
    if (pushed_[i] != popped_[i]) fault("value " + std::to_string(i) + " is lost or doubled");
  long sum = 0;
  for (const tvar<long>& a : accounts_) sum += a.value();
  if (sum != in_accounts * static_cast<long>(accounts)) fault("transactions lost an amount");
  if (begun_ != over_) fault("a task is left");
  if (holders_ != 0) fault("a permit is held");
  const auto all_ran = [this](const sequence& c) {
    if (c.accepted != c.ran) fault("a posted call is lost");
  };
  for (const party& p : all_) {
    for (const auto& [place, calls] : p.posts) all_ran(calls);
    for (const auto& [place, calls] : p.messages) all_ran(calls);
  }
  for (const sequence& calls : outside_calls_) all_ran(calls);
  if (!ended_) fault("the program has not ended");
  return first_fault_;
}

/// How the program is run: as one, beside others until stop(), or by single turns from outside.
void run_colors(runtime& rt, steps_world& world, draws& draw, sim_driver* sim) {
  switch (draw.below(3)) {
    case 0:
      rt.run(world.program());
      return;
    case 1:
      rt.spawn([&]() -> task<> {
        co_await world.program();
        runtime::here().stop();
      });
      rt.run();
      return;
    default:
      break;
  }
  if (sim == nullptr) return rt.run(world.program());
  rt.spawn([&]() -> task<> { co_await world.program(); });
  for (int turns = 0; !world.ended() && turns != 100'000; ++turns)
    if (!rt.once()) sim->advance(100us);
}

struct colors_outcome {
  std::string verdict;
  std::uint64_t hash = 0;
  std::uint64_t trace = 0;
};

colors_outcome simulate_colors(std::uint64_t seed, std::uint64_t* reached = nullptr) {
  steps_world world(seed, false);
  colors_outcome out;
  draws draw(seed, 99);
  std::size_t left = 0, files = 0;
  {
    auto made = std::make_unique<sim_driver>(sim_options{.seed = seed});
    sim_driver* const sim = made.get();
    runtime rt(std::move(made), world.options());
    try {
      run_colors(rt, world, draw, sim);
    } catch (const std::exception& e) {
      out.verdict = e.what();
    }
    left = rt.drain();
    files = sim->open_descriptors() + sim->blocks_out();
    out.trace = sim->trace_hash();
  }
  out.hash = world.fingerprint();
  if (out.verdict.empty()) out.verdict = world.verdict();
  if (left != 0) out.verdict += " tasks are left after drain()";
  if (files != 0) out.verdict += " descriptors or blocks are left";
  if (reached != nullptr) {
    for (unsigned i = 0; i != static_cast<unsigned>(color_step::count); ++i)
      reached[i] += world.reached(static_cast<color_step>(i));
  }
  return out;
}

HEDDLE_TEST(random_colors, "random steps over colors end as the model says, in any order") {
  std::array<std::uint64_t, static_cast<std::size_t>(color_step::count)> reached{};
  const sim::seeds_outcome all = for_seeds(500, [&](std::uint64_t seed) {
    const colors_outcome first = simulate_colors(seed, reached.data());
    EXPECT_EQ(first.verdict, "");
    if (seed % 20 != 0 || !first.verdict.empty()) return;
    const colors_outcome again = simulate_colors(seed);
    EXPECT_EQ(again.hash, first.hash) << "the seed gives another order";
    EXPECT_EQ(again.trace, first.trace);
  });
  if (!judges_totals(all, 90)) return;
  for (std::size_t i = 0; i != reached.size(); ++i)
    EXPECT_TRUE(reached[i] != 0 || static_cast<color_step>(i) == color_step::thread) << i;
}

void run_threads(std::uint64_t seed, const char* driver) {
  steps_world world(seed, true);
  draws draw(seed, 99);
  std::size_t left = 0;
  const hang_watch watch(seed);
  {
    runtime_options options = world.options();
    options.driver = driver;
    runtime rt(options);
    run_colors(rt, world, draw, nullptr);
    left = rt.drain();
  }
  EXPECT_EQ(world.verdict(), "") << driver;
  EXPECT_EQ(left, 0U) << driver;
}

HEDDLE_TEST(random_colors, "random steps over colors on threads lose nothing and end") {
  const bool rings = probe_drivers().front().usable;
  for_seeds(120, [&](std::uint64_t seed) {
    const char* const drivers[] = {"epoll", "poll", rings ? "io_uring" : "epoll"};
    run_threads(seed, drivers[seed % 3]);
  });
}

}  // namespace
}  // namespace heddle::test
