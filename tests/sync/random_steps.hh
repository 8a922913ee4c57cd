// SPDX-License-Identifier: MIT
// Random steps over everything that room sync has, by 2 to 8 functions of one color: channels,
// locks, conditions, broadcasts, windows, select and any, events that end half-way, time limits,
// requests to cancel, and functions that are destroyed where they wait. The test counts: every
// value that went in came out once or was refused, no lock has more holders than it may, no
// function waits that could go on, every notification wakes one function, and everything is free at
// the end.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "heddle/core/lifetime.hh"
#include "heddle/heddle.hh"
#include "heddle/sim/driver.hh"
#include "heddle/sync/broadcast.hh"
#include "heddle/sync/channel.hh"
#include "heddle/sync/condition.hh"
#include "heddle/sync/mutex.hh"
#include "heddle/sync/semaphore.hh"
#include "heddle/sync/shared_mutex.hh"
#include "heddle/sync/windowed.hh"
#include "support/seeds.hh"
#include "support/test.hh"

namespace heddle::test::random_steps {

using namespace std::chrono_literals;

/// Random numbers from a seed (SplitMix64).
class numbers {
 public:
  explicit numbers(std::uint64_t seed) noexcept : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
  std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  int below(int n) noexcept { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
  bool chance(int percent) noexcept { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

/// A value that is counted: it has a number while it is alive, and one object has it.
class item {
 public:
  item() noexcept = default;
  item(int number, int& alive) noexcept : number_(number), alive_(&alive) { ++alive; }
  item(item&& other) noexcept
      : number_(std::exchange(other.number_, -1)), alive_(std::exchange(other.alive_, nullptr)) {}
  item& operator=(item&& other) noexcept {
    if (this == &other) return *this;
    end();
    number_ = std::exchange(other.number_, -1);
    alive_ = std::exchange(other.alive_, nullptr);
    return *this;
  }
  ~item() { end(); }
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  void end() noexcept {
    if (alive_ != nullptr) --*alive_;
    alive_ = nullptr;
  }
  int number_ = -1;
  int* alive_ = nullptr;
};

enum class step : std::uint8_t {
  push,
  push_many,
  try_push,
  pop,
  pop_many,
  try_pop,
  pop_event,    ///< pops for an event, whose rendezvous may end first
  pop_started,  ///< start() pops, and the event may end first
  pop_doomed,   ///< a function that is destroyed where it waits
  push_doomed,
  close,
  lock,
  lock_event,
  lock_doomed,
  share,
  permits,
  wait_condition,
  wait_held,  ///< on a condition, with a mutex
  notify,
  choose,  ///< select()
  race,    ///< any()
  send,    ///< to a broadcast
  receive,
  window,
  rest,    ///< sleeps or yields
  cancel,  ///< a source that other functions wait with
  steps_end,
};
inline constexpr int steps = static_cast<int>(step::steps_end);

inline constexpr int channels = 3, semaphore_permits = 3, sources = 3;

/// What became of a value.
struct fate {
  int channel = 0;
  int party = 0;
  int order = 0;  ///< among the values of its party
  bool pushed = false;
  bool refused = false;
  bool unknown = false;  ///< its pusher was destroyed
  int popped = 0;
};

struct locks {
  int holders = 0, writers = 0, readers = 0, permits = 0;
};

/// A wait that a function is in, for the check that it could not go on.
enum class want : std::uint8_t { nothing, value, room, mutex, reader, writer, permits };
struct waiting {
  want what;
  int index;  ///< channel, or how many permits
};

struct world {
  explicit world(std::uint64_t seed) : draw(seed) {
    for (int i = 0; i < channels; ++i) {
      const int capacity = draw.below(4);
      // Both ends of a channel are used in half of the programs; the order is checked in the
      // others.
      both_ends[i] = draw.chance(50);
      queues.push_back(std::make_unique<channel<item>>(static_cast<std::size_t>(capacity)));
    }
    // Few kinds of steps meet more often; many kinds meet in more ways.
    const int rate = 10 + draw.below(50);
    for (bool& allowed : steps_allowed) allowed = draw.chance(rate);
  }

  [[nodiscard]] item make_item(int queue, int party) {
    fates.push_back({queue, party, static_cast<int>(fates.size()), false, false, false, 0});
    return item(static_cast<int>(fates.size()) - 1, alive);
  }
  fate& of(int number) { return fates.at(static_cast<std::size_t>(number)); }
  void expect(bool right, const char* what) {
    if (!right && wrong.size() < 2000) wrong += std::string(what) + "\n";
  }

  numbers draw;
  std::vector<std::unique_ptr<channel<item>>> queues;
  bool both_ends[channels] = {};
  bool steps_allowed[steps] = {};
  mutex lock;
  shared_mutex table;
  semaphore permits{semaphore_permits};
  condition changed;
  broadcast<int> news{4};
  int sent = 0;
  cancel_source stops[sources];
  locks held;
  std::vector<fate> fates;
  int alive = 0;
  int notified = 0, woken = 0, maybe_woken = 0;
  std::multimap<int, waiting> waits;  ///< by party
  std::uint64_t moved = 0;            ///< counts what the parties do
  bool ending = false;
  int done[steps] = {};
  std::string wrong;
};

struct party {
  world& w;
  int number;
  numbers draw;
  std::map<std::pair<int, int>, int> last_seen;  ///< by channel and pusher: the last order
  void popped(const item& x) { popped_by(x, true); }
  void popped_by(const item& x, bool in_order) {
    if (x.number() < 0) {
      w.expect(false, "a value that was popped is empty");
      return;
    }
    fate& f = w.of(x.number());
    ++f.popped;
    // A value that a function had when it was destroyed goes back, perhaps behind later ones.
    const bool may_come_back = w.steps_allowed[static_cast<int>(step::pop_doomed)];
    if (!in_order || may_come_back || w.both_ends[f.channel]) return;
    int& last = last_seen.try_emplace({f.channel, f.party}, -1).first->second;
    w.expect(last < f.order, "values of one pusher come out of order");
    last = f.order;
  }
};

/// Registers a wait for as long as it lives.
class waits_now {
 public:
  waits_now(party& p, want what, int index = 0)
      : w_(p.w), at_(p.w.waits.insert({p.number, {what, index}})) {
    ++w_.moved;
  }
  waits_now(const waits_now&) = delete;
  ~waits_now() {
    w_.waits.erase(at_);
    ++w_.moved;
  }

 private:
  world& w_;
  std::multimap<int, waiting>::iterator at_;
};

inline nanoseconds short_span(party& p) { return p.draw.below(4) * 1ms; }

/// Awaits what `make` makes: as it is, or within a limit of time, a source or both.
template <class F>
auto bounded(party& p, F make)
    -> task<result<detail::kept_t<detail::await_value_t<std::invoke_result_t<F&>>>>> {
  constexpr int ways[] = {0, 1, 1, 2, 3, 3};  // functions without a limit soon all wait
  const int how = ways[p.draw.below(6)];
  const nanoseconds span = short_span(p);
  cancel_source& stop = p.w.stops[p.draw.below(sources)];
  if (how == 0) {
    auto got = co_await as_expected(make());
    co_return got;
  }
  if (how == 1) {
    auto got = co_await as_expected(with_timeout(make(), span));
    co_return got;
  }
  if (how == 2) {
    auto got = co_await as_expected(with_cancel(stop, make()));
    co_return got;
  }
  auto got = co_await as_expected(with_timeout(with_cancel(stop, make()), span));
  co_return got;
}

inline void check_error(party& p, std::error_code error) {
  p.w.expect(error == std::errc::operation_canceled || error == std::errc::timed_out ||
                 error == std::errc::broken_pipe,
             "a wait ends with an error that no wait has");
}

inline task<> stay(party& p) {
  if (p.draw.chance(50)) {
    static_cast<void>(co_await as_expected(sleep_for(short_span(p))));
  } else if (!p.w.ending) {
    try {
      co_await yield();
    } catch (const std::system_error&) {
    }
  }
}

// Channels.

inline task<> do_push(party& p) {
  const int q = p.draw.below(channels);
  channel<item>& c = *p.w.queues[static_cast<std::size_t>(q)];
  item x = p.w.make_item(q, p.number);
  const int number = x.number();
  const bool front = p.w.both_ends[q] && p.draw.chance(30);
  result<void> got;
  {
    const waits_now here(p, want::room, q);
    auto make = [&c, front, &x] {
      return front ? c.push_front(std::move(x)) : c.push(std::move(x));
    };
    got = co_await bounded(p, make);
  }
  (got ? p.w.of(number).pushed : p.w.of(number).refused) = true;
  if (!got) check_error(p, got.error());
}
inline task<> do_push_many(party& p) {
  const int q = p.draw.below(channels);
  channel<item>& c = *p.w.queues[static_cast<std::size_t>(q)];
  std::vector<item> many;
  std::vector<int> of;
  for (int i = p.draw.below(4); i >= 0; --i) {
    many.push_back(p.w.make_item(q, p.number));
    of.push_back(many.back().number());
  }
  const waits_now here(p, want::room, q);
  const auto got = co_await bounded(p, [&c, &many] { return c.push_many(many); });
  for (std::size_t i = 0; i < many.size(); ++i) {
    // A value that stayed in the vector was not pushed. Of an interrupted call, the value that
    // waited is gone.
    if (many[i].number() >= 0) {
      p.w.of(of[i]).refused = true;
      p.w.expect(!got, "push_many() ends well, and values are left");
    } else if (got) {
      p.w.of(of[i]).pushed = true;
    } else {
      p.w.of(of[i]).unknown = true;
    }
  }
  if (!got) check_error(p, got.error());
}
inline void do_try_push(party& p) {
  const int q = p.draw.below(channels);
  item x = p.w.make_item(q, p.number);
  const int number = x.number();
  if (p.w.queues[static_cast<std::size_t>(q)]->try_push(std::move(x))) {
    p.w.of(number).pushed = true;
  } else {
    p.w.of(number).refused = true;
    p.w.expect(x.number() == number, "try_push() takes a value that it refuses");
  }
}
inline task<> do_pop(party& p) {
  const int q = p.draw.below(channels);
  channel<item>& c = *p.w.queues[static_cast<std::size_t>(q)];
  const bool back = p.w.both_ends[q] && p.draw.chance(30);
  result<std::optional<item>> got;
  {
    const waits_now here(p, want::value, q);
    got = co_await bounded(p, [&c, back] { return back ? c.pop_back() : c.pop(); });
  }
  if (!got) {
    check_error(p, got.error());
  } else if (*got) {
    p.popped(**got);
  } else {
    p.w.expect(c.closed(), "pop() gives nothing, and the channel is open");
  }
}
inline task<> do_pop_many(party& p) {
  const int q = p.draw.below(channels);
  channel<item>& c = *p.w.queues[static_cast<std::size_t>(q)];
  std::vector<item> out;
  const std::size_t most = 1 + static_cast<std::size_t>(p.draw.below(3));
  result<std::size_t> got;
  {
    const waits_now here(p, want::value, q);
    got = co_await bounded(p, [&c, &out, most] { return c.pop_many(out, most); });
  }
  for (const item& x : out) p.popped(x);
  if (!got) {
    check_error(p, got.error());
    p.w.expect(out.empty(), "pop_many() fails and takes values");
  } else {
    p.w.expect(*got == out.size() && *got <= most && (*got != 0 || c.closed()),
               "pop_many() gives a wrong number");
  }
}
inline void do_try_pop(party& p) {
  const int q = p.draw.below(channels);
  if (const std::optional<item> x = p.w.queues[static_cast<std::size_t>(q)]->try_pop())
    p.popped(*x);
}
inline task<> do_pop_event(party& p) {
  const int q = p.draw.below(channels);
  item got;
  {
    rendezvous<> told;
    p.w.queues[static_cast<std::size_t>(q)]->pop(told.make_event(got));
    const waits_now here(p, want::value, q);
    const auto woken = co_await bounded(p, [&told]() -> rendezvous<>& { return told; });
    if (!woken) check_error(p, woken.error());
  }
  if (got.number() >= 0) p.popped(got);
}
inline task<> pop_later(party& p, int q) {
  const waits_now here(p, want::value, q);
  const auto got = co_await as_expected(p.w.queues[static_cast<std::size_t>(q)]->pop());
  if (got && *got) p.popped_by(**got, false);
}
inline task<> do_pop_started(party& p) {
  rendezvous<> told;
  start(pop_later(p, p.draw.below(channels)), told.make_event());
  const auto woken = co_await bounded(p, [&told]() -> rendezvous<>& { return told; });
  if (!woken) check_error(p, woken.error());
}

/// An object with which functions end.
struct doom : tamed_class {};

inline tamed pop_until(doom&, party& p, int q) {
  const waits_now here(p, want::value, q);
  const auto got = co_await as_expected(p.w.queues[static_cast<std::size_t>(q)]->pop());
  if (got && *got) p.popped_by(**got, false);
}
inline tamed push_until(doom&, party& p, int q) {
  item x = p.w.make_item(q, p.number);
  const int number = x.number();
  p.w.of(number).unknown = true;  // until the function learns what became of it
  const waits_now here(p, want::room, q);
  const auto got =
      co_await as_expected(p.w.queues[static_cast<std::size_t>(q)]->push(std::move(x)));
  p.w.of(number).unknown = false;
  (got ? p.w.of(number).pushed : p.w.of(number).refused) = true;
}
struct holds {
  int& count;
  int by;
  holds(int& c, int n) : count(c), by(n) { count += by; }
  holds(const holds&) = delete;
  ~holds() { count -= by; }
};
inline tamed lock_until(doom&, party& p) {
  result<gate::hold> got;
  {
    const waits_now here(p, want::mutex);
    got = co_await as_expected(p.w.lock.lock());
  }
  if (!got) co_return;
  const holds mine(p.w.held.holders, 1);
  p.w.expect(p.w.held.holders == 1, "a mutex has two holders");
  static_cast<void>(co_await as_expected(sleep_for(short_span(p))));
}
inline task<> do_doomed(party& p, step what) {
  auto life = std::make_unique<doom>();
  if (what == step::pop_doomed) pop_until(*life, p, p.draw.below(channels));
  if (what == step::push_doomed) push_until(*life, p, p.draw.below(channels));
  if (what == step::lock_doomed) lock_until(*life, p);
  for (int i = p.draw.below(3); i > 0; --i) co_await stay(p);
}

// Locks.

inline task<> keep_lock(party& p, gate::hold hold) {
  const gate::hold own = std::move(hold);
  const holds mine(p.w.held.holders, 1);
  p.w.expect(p.w.held.holders == 1, "a mutex has two holders");
  co_await stay(p);
}
inline task<> do_lock(party& p) {
  result<gate::hold> got;
  if (p.draw.chance(20)) {
    got = p.w.lock.try_lock();
    if (!*got) co_return;
  } else {
    const waits_now here(p, want::mutex);
    got = co_await bounded(p, [&p] { return p.w.lock.lock(); });
  }
  if (!got) {
    check_error(p, got.error());
    co_return;
  }
  co_await keep_lock(p, std::move(*got));
}
inline task<> do_lock_event(party& p) {
  gate::hold got;
  {
    rendezvous<> told;
    p.w.lock.lock(told.make_event(got));
    const waits_now here(p, want::mutex);
    const auto woken = co_await bounded(p, [&told]() -> rendezvous<>& { return told; });
    if (!woken) check_error(p, woken.error());
  }
  if (got) co_await keep_lock(p, std::move(got));
}
inline task<> do_share(party& p) {
  const bool writes = p.draw.chance(40);
  const want what = writes ? want::writer : want::reader;
  gate::hold own;
  if (p.draw.chance(50)) {
    const waits_now here(p, what);
    auto got = co_await bounded(
        p, [&p, writes] { return writes ? p.w.table.lock() : p.w.table.lock_shared(); });
    if (got) {
      own = std::move(*got);
    } else {
      check_error(p, got.error());
    }
  } else {
    rendezvous<> told;
    if (writes) {
      p.w.table.lock(told.make_event(own));
    } else {
      p.w.table.lock_shared(told.make_event(own));
    }
    const waits_now here(p, what);
    const auto woken = co_await bounded(p, [&told]() -> rendezvous<>& { return told; });
    if (!woken) check_error(p, woken.error());
  }
  if (!own) co_return;
  const holds mine(writes ? p.w.held.writers : p.w.held.readers, 1);
  p.w.expect(p.w.held.writers == 0 || (p.w.held.writers == 1 && p.w.held.readers == 0),
             "a shared mutex has a writer beside another holder");
  co_await stay(p);
}

inline task<> do_permits(party& p) {
  const int count = 1 + p.draw.below(semaphore_permits);
  const auto permits = static_cast<std::uint32_t>(count);
  gate::hold own;
  if (p.draw.chance(50)) {
    const waits_now here(p, want::permits, count);
    auto got = co_await bounded(p, [&p, permits] { return p.w.permits.acquire(permits); });
    if (got) {
      own = std::move(*got);
    } else {
      check_error(p, got.error());
    }
  } else {
    rendezvous<> told;
    p.w.permits.acquire(told.make_event(own), permits);
    const waits_now here(p, want::permits, count);
    const auto woken = co_await bounded(p, [&told]() -> rendezvous<>& { return told; });
    if (!woken) check_error(p, woken.error());
  }
  if (!own) co_return;
  const holds mine(p.w.held.permits, count);
  p.w.expect(p.w.held.permits <= semaphore_permits, "a semaphore gives more than it has");
  co_await stay(p);
}

// Conditions and broadcasts.

inline task<> do_wait_condition(party& p) {
  const auto got = co_await bounded(p, [&p] { return p.w.changed.wait(); });
  if (got) {
    ++p.w.woken;
  } else {
    check_error(p, got.error());
  }
}
inline task<> do_wait_held(party& p) {
  result<gate::hold> got;
  {
    const waits_now here(p, want::mutex);
    got = co_await bounded(p, [&p] { return p.w.lock.lock(); });
  }
  if (!got) co_return;
  mutex::hold own = std::move(*got);
  const auto woken = co_await bounded(p, [&p, &own] { return p.w.changed.wait(own); });
  if (woken) {
    ++p.w.woken;
  } else {
    // The notification may have come, and then a cancellation while the lock was awaited.
    ++p.w.maybe_woken;
  }
  p.w.expect(static_cast<bool>(own), "wait(hold) ends without the lock");
  co_await keep_lock(p, std::move(own));
}
inline void do_notify(party& p) {
  // In the instant of a push, so that a function that waits for both is told twice before it runs.
  if (p.w.steps_allowed[static_cast<int>(step::choose)] && p.draw.chance(50)) do_try_push(p);
  if (p.draw.chance(70)) {
    p.w.notified += p.w.changed.notify_one() ? 1 : 0;
  } else {
    p.w.notified += static_cast<int>(p.w.changed.notify_all());
  }
}
inline task<> do_receive(party& p) {
  broadcast<int>::subscription reader(p.w.news);
  int next = p.w.sent;
  std::uint64_t missed = 0;
  for (int i = p.draw.below(3); i >= 0; --i) {
    const auto got = co_await bounded(p, [&reader] { return reader.next(); });
    if (!got) {
      check_error(p, got.error());
      continue;
    }
    if (!*got) break;
    next += static_cast<int>(reader.missed() - missed);
    missed = reader.missed();
    p.w.expect(**got == next, "a subscriber gets another value than the next");
    ++next;
    co_await stay(p);
  }
}

// Several at once.

inline task<> do_choose(party& p) {
  const int a = p.draw.below(channels), b = p.draw.below(channels);
  channel<item>& from = *p.w.queues[static_cast<std::size_t>(a)];
  channel<item>& to = *p.w.queues[static_cast<std::size_t>(b)];
  item x = p.w.make_item(b, p.number);
  const int number = x.number();
  bool pushed = false;
  const int others = p.draw.below(4);
  gate::hold lock, permit;
  int chosen = 0;
  const auto got = [&](std::optional<item> y) {
    ++chosen;
    if (y) p.popped(*y);
  };
  const auto did_push = [&] {
    ++chosen;
    pushed = true;
  };
  const nanoseconds span = short_span(p);
  std::error_code failed;
  {
    const waits_now pops(p, want::value, a);
    const waits_now pushes(p, want::room, b);
    const waits_now locks(p, others == 1 ? want::mutex : want::nothing);
    const waits_now permits(p, others == 2 ? want::permits : want::nothing, 2);
    try {
      auto pop = on(from.pop(), got);
      auto push = on(to.push(std::move(x)), did_push);
      if (others == 0) {
        auto first = select(std::move(pop), std::move(push));
        co_await std::move(first);
      } else if (others == 1) {
        auto third = on(p.w.lock.lock(), [&](gate::hold h) {
          ++chosen;
          lock = std::move(h);
        });
        auto first = select(std::move(pop), std::move(push), std::move(third));
        co_await std::move(first);
      } else if (others == 2) {
        auto third = on(p.w.permits.acquire(2), [&](gate::hold h) {
          ++chosen;
          permit = std::move(h);
        });
        auto fourth = on(sleep_for(span), [&] { ++chosen; });
        auto first = select(std::move(pop), std::move(push), std::move(third), std::move(fourth));
        co_await std::move(first);
      } else {
        auto third = on(p.w.changed.wait(), [&] {
          ++chosen;
          ++p.w.woken;
        });
        auto first = select(std::move(third), std::move(pop), std::move(push));
        co_await with_timeout(std::move(first), span);
      }
    } catch (const std::system_error& e) {
      failed = e.code();
      check_error(p, failed);
    }
  }
  (pushed ? p.w.of(number).pushed : p.w.of(number).refused) = true;
  p.w.expect(chosen == (failed ? 0 : 1), "select() runs another number of handlers than one");
  if (permit) {
    const holds mine(p.w.held.permits, 2);
    p.w.expect(p.w.held.permits <= semaphore_permits, "a semaphore gives more than it has");
    co_await stay(p);
  }
  if (lock) co_await keep_lock(p, std::move(lock));
}
inline task<> do_race(party& p) {
  const int a = p.draw.below(channels), b = p.draw.below(channels);
  channel<item>& first = *p.w.queues[static_cast<std::size_t>(a)];
  channel<item>& second = *p.w.queues[static_cast<std::size_t>(b)];
  try {
    const waits_now here(p, want::value, a);
    const waits_now there(p, want::value, b);
    const nanoseconds span = short_span(p);
    any_results<std::optional<item>, std::optional<item>> got;
    if (p.draw.chance(50)) {
      got = co_await any(with_timeout(first.pop(), span), second.pop());
    } else {
      got = co_await any(first.pop(), second.pop());
    }
    auto& x = std::get<0>(got.results);
    auto& y = std::get<1>(got.results);
    const int values = (x && *x ? 1 : 0) + (y && *y ? 1 : 0);
    p.w.expect(values <= 1, "both branches of any() take a value");
    if (x && *x) p.popped(**x);
    if (y && *y) p.popped(**y);
  } catch (const std::system_error& e) {
    check_error(p, e.code());
  }
}
/// any() over a channel, the mutex and the semaphore: one of them gives something.
inline task<> do_race_of_locks(party& p) {
  const int a = p.draw.below(channels);
  channel<item>& from = *p.w.queues[static_cast<std::size_t>(a)];
  gate::hold lock, permit;
  try {
    const waits_now pops(p, want::value, a);
    const waits_now locks(p, want::mutex);
    const waits_now permits(p, want::permits, 2);
    const nanoseconds span = short_span(p);
    auto got =
        co_await any(from.pop(), with_timeout(p.w.lock.lock(), span), p.w.permits.acquire(2));
    auto& x = std::get<0>(got.results);
    if (x && *x) p.popped(**x);
    if (std::get<1>(got.results)) lock = std::move(*std::get<1>(got.results));
    if (std::get<2>(got.results)) permit = std::move(*std::get<2>(got.results));
    const int taken = (x && *x ? 1 : 0) + (lock ? 1 : 0) + (permit ? 1 : 0);
    p.w.expect(taken <= 1, "a branch of any() that loses takes something");
  } catch (const std::system_error& e) {
    check_error(p, e.code());
  }
  if (permit) {
    const holds mine(p.w.held.permits, 2);
    p.w.expect(p.w.held.permits <= semaphore_permits, "a semaphore gives more than it has");
    co_await stay(p);
  }
  if (lock) co_await keep_lock(p, std::move(lock));
}
inline task<> do_window(party& p) {
  const int limit = 1 + p.draw.below(3);
  int running = 0, ended = 0;
  const int count = p.draw.below(6);
  const auto one = [&](std::size_t) -> task<> {
    const holds mine(running, 1);
    p.w.expect(running <= limit, "a window runs more than its limit");
    co_await stay(p);
    ++ended;
  };
  const auto got = co_await bounded(p, [&] {
    return each_windowed(static_cast<std::size_t>(count), static_cast<std::uint32_t>(limit), one);
  });
  p.w.expect(running == 0, "a window ends before its tasks");
  p.w.expect(!got || ended == count, "a window ends well without all its tasks");
}

/// Draws one step and does it.
inline task<> take_step(party& p) {
  step what = step::rest;
  for (int tries = 0; tries < 8; ++tries) {
    const int drawn = p.draw.below(steps);
    if (!p.w.steps_allowed[drawn]) continue;
    what = static_cast<step>(drawn);
    break;
  }
  ++p.w.done[static_cast<int>(what)];
  ++p.w.moved;
  switch (what) {
    case step::push:
      co_await do_push(p);
      break;
    case step::push_many:
      co_await do_push_many(p);
      break;
    case step::try_push:
      do_try_push(p);
      break;
    case step::pop:
      co_await do_pop(p);
      break;
    case step::pop_many:
      co_await do_pop_many(p);
      break;
    case step::try_pop:
      do_try_pop(p);
      break;
    case step::pop_event:
      co_await do_pop_event(p);
      break;
    case step::pop_started:
      co_await do_pop_started(p);
      break;
    case step::pop_doomed:
    case step::push_doomed:
    case step::lock_doomed:
      co_await do_doomed(p, what);
      break;
    case step::close:
      if (p.draw.chance(10)) p.w.queues[static_cast<std::size_t>(p.draw.below(channels))]->close();
      break;
    case step::lock:
      co_await do_lock(p);
      break;
    case step::lock_event:
      co_await do_lock_event(p);
      break;
    case step::share:
      co_await do_share(p);
      break;
    case step::permits:
      co_await do_permits(p);
      break;
    case step::wait_condition:
      co_await do_wait_condition(p);
      break;
    case step::wait_held:
      co_await do_wait_held(p);
      break;
    case step::notify:
      do_notify(p);
      break;
    case step::choose:
      co_await do_choose(p);
      break;
    case step::race:
      if (p.draw.chance(50)) {
        co_await do_race(p);
      } else {
        co_await do_race_of_locks(p);
      }
      break;
    case step::send:
      p.w.news.send(p.w.sent++);
      break;
    case step::receive:
      co_await do_receive(p);
      break;
    case step::window:
      co_await do_window(p);
      break;
    case step::rest:
      co_await stay(p);
      break;
    case step::cancel:
      // A source ends all waits with it from then on: rare, so that most waits are open.
      if (p.draw.chance(10)) p.w.stops[p.draw.below(sources)].cancel();
      break;
    case step::steps_end:
      break;
  }
}

inline task<> run_party(party& p, int count) {
  for (int i = 0; i < count && !p.w.ending; ++i) co_await take_step(p);
}

/// A function that takes `count` steps.
using party_function = task<> (*)(party&, int);

/// Whether no function waits that could go on. Called when nothing moves any more.
inline void check_waits(world& w) {
  for (const auto& [number, x] : w.waits) {
    if (x.what != want::value && x.what != want::room) continue;
    const channel<item>& c = *w.queues[static_cast<std::size_t>(x.index)];
    w.expect(!c.closed(), "a function waits on a closed channel");
    if (x.what == want::value) {
      w.expect(c.empty(), "a function waits for a value, and there is one");
    } else {
      w.expect(c.size() >= c.capacity(), "a function waits for room, and there is some");
      for (const auto& [other, y] : w.waits)
        w.expect(other == number || y.what != want::value || y.index != x.index,
                 "one function waits to push and another one to pop");
    }
  }
  // The first in a line waits for what is not free; the order of the line is the lock's own.
  const int free = semaphore_permits - w.held.permits;
  int few = 0, many = 0, readers = 0, writers = 0;
  for (const auto& [number, x] : w.waits) {
    w.expect(x.what != want::mutex || w.lock.locked(), "a function waits for a free mutex");
    if (x.what == want::permits) ++(x.index <= free ? few : many);
    if (x.what == want::reader) ++readers;
    if (x.what == want::writer) ++writers;
  }
  w.expect(few == 0 || many > 0, "a function waits for free permits");
  w.expect(readers + writers == 0 || w.held.readers + w.held.writers > 0,
           "a function waits for a free shared mutex");
  w.expect(readers == 0 || writers > 0 || w.held.writers > 0, "a reader waits beside readers");
}

inline void check_end(world& w) {
  w.expect(w.waits.empty(), "a wait has not ended");
  w.expect(!w.lock.locked() && w.lock.waiting() == 0, "the mutex is not free at the end");
  w.expect(!w.table.locked() && w.table.readers() == 0 && w.table.waiting() == 0,
           "the shared mutex is not free at the end");
  w.expect(w.permits.free_units() == semaphore_permits && w.permits.waiting() == 0,
           "the semaphore is not free at the end");
  w.expect(w.changed.waiting() == 0, "the condition has waiters at the end");
  w.expect(w.held.holders == 0 && w.held.readers == 0 && w.held.writers == 0 && w.held.permits == 0,
           "a hold is left");
  for (const auto& c : w.queues)
    while (const std::optional<item> x = c->try_pop()) ++w.of(x->number()).popped;
  for (const fate& f : w.fates) {
    w.expect(f.popped <= 1, "a value comes out twice");
    w.expect(f.popped == 1 || !f.pushed, "a value that was pushed is lost");
    w.expect(f.popped == 0 || !f.refused, "a value that was refused comes out");
    w.expect(f.pushed || f.refused || f.unknown, "a push has no outcome");
  }
  w.expect(w.alive == 0, "values are left");
  w.expect(w.woken <= w.notified && w.notified <= w.woken + w.maybe_woken,
           "another number of functions wakes than were notified");
}

/// The turns after which no wake-up is on its way any more, through nested waits either.
inline constexpr int turns_still = 64;

/// Looks again and again, where no function has moved for many turns, whether all of them must
/// wait.
inline task<> watch(world& w) {
  numbers draw(w.draw.next());
  for (int i = 0; i < 40; ++i) {
    co_await sleep_for(200us + draw.below(800) * 1us);
    int still = 0;
    for (const std::uint64_t moved = w.moved; still < turns_still && moved == w.moved; ++still)
      co_await yield();
    if (still == turns_still && !w.ending) check_waits(w);
  }
}

/// Half of the parties, drawn, run `other` in place of run_party().
inline task<> run_world(world& w, party_function other) {
  std::vector<std::unique_ptr<party>> parties;
  const int count = 2 + w.draw.below(7);
  for (int i = 0; i < count; ++i)
    parties.push_back(std::make_unique<party>(party{w, i, numbers(w.draw.next()), {}}));
  scope all;
  for (const auto& p : parties) {
    const int length = 3 + w.draw.below(28);
    const party_function run = p->draw.chance(50) ? other : run_party;
    all.spawn(run(*p, length));
  }
  all.spawn(watch(w));
  // All spans together are shorter: from here on only functions without a limit wait.
  co_await sleep_for(100s);
  check_waits(w);
  w.ending = true;
  all.cancel();
  for (const auto& c : w.queues) c->close();
  for (cancel_source& s : w.stops) s.cancel();
  co_await all.settled();
  all.rethrow_failure();
  co_await sleep_for(1s);  // for functions that start() began
  check_end(w);
}

struct counts {
  std::uint64_t ran = 0, steps_done = 0, values = 0, popped = 0, woken = 0;
  std::uint64_t done[steps] = {};
};

/// Runs the program of a seed; gives the hash of what the driver saw.
inline std::uint64_t run_once(std::uint64_t seed, std::string& wrong, counts& sum,
                              party_function other) {
  sim_driver* const driver = new sim_driver({.seed = seed, .trace_lines_max = 0});
  runtime_options options;
  options.memory_bytes = std::uint64_t{64} << 20;
  options.report = [&](const diagnostic& d) {
    if (d.kind != diagnostic_kind::slow_handler) wrong += to_string(d) + "\n";
  };
  std::uint64_t hash = 0;
  {
    runtime rt(std::unique_ptr<heddle::driver>(driver), std::move(options));
    try {
      world w(seed);
      rt.run(run_world(w, other));
      wrong += w.wrong;
      ++sum.ran;
      for (int i = 0; i < steps; ++i) {
        sum.done[i] += static_cast<std::uint64_t>(w.done[i]);
        sum.steps_done += static_cast<std::uint64_t>(w.done[i]);
      }
      sum.values += w.fates.size();
      for (const fate& f : w.fates) sum.popped += static_cast<std::uint64_t>(f.popped);
      sum.woken += static_cast<std::uint64_t>(w.woken);
    } catch (const std::exception& e) {
      wrong += std::string("the program does not end: ") + e.what() + "\n";
    }
    if (rt.drain() != 0) wrong += "tasks are left\n";
    if (driver->open_descriptors() != 0) wrong += "descriptors are open\n";
    if (driver->blocks_out() != 0) wrong += "blocks are out\n";
    hash = driver->trace_hash();
  }
  return hash;
}

/// Runs many programs, for a test.
inline void run_many(std::uint64_t count, party_function other) {
  counts sum;
  const sim::seeds_outcome outcome = for_seeds(count, [&](std::uint64_t seed) {
    std::string wrong;
    const std::uint64_t hash = run_once(seed, wrong, sum, other);
    if (seed % 20 == 0) {
      counts ignored;
      if (run_once(seed, wrong, ignored, other) != hash) wrong += "a second run differs\n";
    }
    EXPECT_EQ(wrong, "");
  });
  if (!judges_totals(outcome, 150)) return;
  // The generator does each kind of step, and many values come out again.
  EXPECT_GT(sum.popped * 3, sum.values);
  EXPECT_GT(sum.woken, sum.ran / 10);
  for (int i = 0; i < steps; ++i) EXPECT_GT(sum.done[i], sum.ran / 4) << "step " << i;
}

}  // namespace heddle::test::random_steps
