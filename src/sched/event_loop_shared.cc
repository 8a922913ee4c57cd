// SPDX-License-Identifier: MIT
// The turn of one of several workers: it may park, looks after workers that are in a long run, and
// wakes another one before it may be in a long run itself.
#include <algorithm>

#include "sched/event_loop.hh"

namespace heddle {
namespace {

constexpr nanoseconds nap_least = std::chrono::milliseconds(1);
constexpr nanoseconds nap_most = std::chrono::milliseconds(4);   // while another worker works
constexpr nanoseconds nap_idle = std::chrono::milliseconds(16);  // after all have parked
// A worker that has not come round for this long has its completions and timers served by another.
constexpr nanoseconds stand_in_after = std::chrono::milliseconds(1);

}  // namespace

/// Serves the completions, requests to cancel and timers of each worker that runs one frame for
/// long. The frame's own color waits for its end; all others go on, here.
void event_loop::stand_in(seat& s) noexcept {
  s.stood_in_at = s.w.now;
  const std::int64_t since = since_epoch(s.w.now) - stand_in_after.count();
  for (const auto& each : all_.seats) {
    seat& other = *each;
    if (&other == &s || other.queue.spot.away()) continue;
    const std::int64_t round_at = other.round_at.load(std::memory_order_relaxed);
    if (round_at > since) continue;
    if (!s.io->borrow(s.w)) return;  // another worker has borrowed ours
    if (other.io->borrow(s.w)) {
      if (other.cancels.load(std::memory_order_relaxed) != nullptr)
        completions_.run_cancels(other, s);
      other.io->turn(s.w, time_point::min());
      other.io->give_back(s.w);
      // If the other worker parked meanwhile, its count of operations (seat::pending) is old.
      if (other.queue.spot.away()) other.io->wake();
    }
    s.io->give_back(s.w);
    timers_.expire_shared(other, s);
    if (other.w.index == 0 && posted_.has_any()) run_posted();
  }
}

bool event_loop::turn_shared(seat& s, bool may_sleep) {
  worker& w = s.w;
  const bool ran = colors_.run(s, all_.options.batch);
  w.now = s.io->now();
  s.round_at.store(since_epoch(w.now), std::memory_order_relaxed);
  bool more = s.has_work();
  if (more && w.now - s.polled_at < all_.options.poll_interval) return true;
  if (ran && !more && may_sleep) {
    s.nap = nap_least;
    s.looked_again = false;
    return true;  // the next turn looks at I/O and may sleep
  }
  if (w.foreign_slots != 0) [[unlikely]]
    detail::cut_loop_slots(w);
  if (s.cancels.load(std::memory_order_relaxed) != nullptr) completions_.run_cancels(s, s);
  if (w.index == 0) {
    if (posted_.has_any()) run_posted();
  }
  const bool had_preblock = !s.preblock.empty();
  if (!more && had_preblock) run_preblock(s);
  more = s.has_work();
  time_point until = time_point::min();
  bool parked = false;
  // A preblock event may have been the last thing that drain() waits for, so drain() looks again
  // before a sleep. For a posted call the worker that runs it wakes the first worker when it parks.
  if (may_sleep && !more && !(had_preblock && colors_.draining)) {
    if (parked_.spin_for_work(s)) return true;
    if (s.held != nullptr) colors_.leave(s);
    until = timers_.next_due(s);
    if (s.kept_completions != nullptr) [[unlikely]]  // tried again soon
      until = std::min(until, add_saturated(w.now, nap_least));
    const bool no_timer = until == never;
    if (w.index == 0) until = ask_again(s, until);
    // While other workers work, a color may be queued behind a long run of theirs.
    const bool others_work = parked_.away() + 1 != all_.seats.size();
    const bool looks_again = all_.options.stealing && (others_work || !s.looked_again);
    if (looks_again) {
      s.nap = others_work ? std::clamp(s.nap * 2, nap_least, nap_most) : nap_idle;
      s.looked_again = !others_work;
      until = std::min(until, add_saturated(w.now, s.nap));
    }
    parked = parked_.park(s, no_timer, looks_again);
    if (!parked) return true;
    // The first worker ends the run. In drain() it also looks each time that another one parks.
    if (w.index != 0) {
      if (colors_.draining || (no_timer && waits_in_vain(s))) all_.first().io->wake();
    } else if (no_timer && waits_in_vain(s)) {
      parked_.unpark(s);
      return false;
    }
    if (all_.pause.asked()) until = time_point::min();
  }
  s.io->turn(w, until);
  if (parked) parked_.unpark(s);
  if (s.kept_completions != nullptr) [[unlikely]]
    completions_.bring_kept(s);
  w.now = s.polled_at = s.io->now();
  s.round_at.store(since_epoch(w.now), std::memory_order_relaxed);
  timers_.expire(s);
  if (w.index == 0 && posted_.has_any()) run_posted();
  if (all_.options.stealing) {
    if (w.now - s.stood_in_at >= stand_in_after) stand_in(s);
    // The next frames may run for long, so another worker must be awake.
    if (parked && parked_.asleep() + 1 == all_.seats.size() && s.has_work()) parked_.wake_one(s);
  }
  w.memory.collect_remote();
  return may_sleep || s.has_work();
}

}  // namespace heddle
