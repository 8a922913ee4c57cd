// SPDX-License-Identifier: MIT
// When a worker parks, when it is woken, and when all of them wait in vain.
#include "sched/worker_parking.hh"

#include <array>

#include "sched/quiescent.hh"

namespace heddle {
namespace {

constexpr unsigned spins_after_hit = 8;  // sleeps that are preceded by a spin, after one that paid

/// Whether a worker that sleeps has no timer. Only the worker arms new timers in its wheel; any
/// worker may disarm one.
bool has_no_timer(seat& s) noexcept {
  if (s.queue.spot.no_timer.load(std::memory_order_relaxed)) return true;
  s.wheel_lock.lock();
  const bool none = s.wheel.empty();
  s.wheel_lock.unlock();
  return none;
}

}  // namespace

void worker_parking::wake_one(seat& from) noexcept {
  if (all_.simulated) return;
  for (const auto& each : all_.seats) {
    seat& s = *each;
    if (!s.queue.spot.away()) continue;
    s.queue.lock.lock();
    const bool slept = places_.call(s.queue.spot);
    s.queue.lock.unlock();
    if (!slept) continue;
    ++from.count.wakes;
    s.io->wake();
    return;
  }
}

/// Parks the worker: from here on, another worker that pushes a color here wakes it. False if a
/// color or a request to cancel came before.
bool worker_parking::park(seat& s, bool no_timer, bool looks_again) noexcept {
  // A completion that waits for memory still has to come: drain() must not end before it.
  const std::size_t kept = s.kept_completions != nullptr ? 1 : 0;
  s.pending.store(s.io->pending() + kept, std::memory_order_relaxed);
  s.queue.spot.no_timer.store(no_timer, std::memory_order_relaxed);
  s.queue.lock.lock();
  const bool parks = s.queue.empty() && s.cancels.load(std::memory_order_relaxed) == nullptr;
  if (parks) places_.park(s.queue.spot, looks_again);
  s.queue.lock.unlock();
  if (!parks) return false;
  ++s.count.parks;
  return true;
}

void worker_parking::unpark(seat& s) noexcept {
  s.queue.lock.lock();
  const parking::wake_reason why = places_.unpark(s.queue.spot);
  s.queue.lock.unlock();
  if (why != parking::wake_reason::own) s.looked_again = false;
  if (why == parking::wake_reason::pushed) s.spins_left = spins_after_hit;
}

/// The number of the worker's sleep, if nothing was sent to it since the sleep began; else 0.
std::uint64_t worker_parking::sleep_of(seat& s) noexcept {
  s.queue.lock.lock();
  const bool asleep = is_parked(s.queue.spot.state()) && s.queue.empty() && s.cancels == nullptr;
  const std::uint64_t number = asleep ? s.queue.spot.sleeps() : 0;
  s.queue.lock.unlock();
  return number;
}

bool worker_parking::all_at_rest(std::size_t& pending) const noexcept {
  const std::size_t n = all_.seats.size();
  std::array<std::size_t, workers_max> held;  // by each driver, as its worker wrote when it parked
  const bool rest = quiescent_together(n, [&](std::size_t i) -> std::uint64_t {
    seat& s = *all_.seats[i];
    if (!is_parked(s.queue.spot.state()) || !has_no_timer(s)) return 0;
    held[i] = s.pending.load(std::memory_order_relaxed);
    return sleep_of(s);
  });
  pending = 0;
  for (std::size_t i = 0; rest && i != n; ++i) pending += held[i];
  return rest;
}

/// Polls for frames and colors from other workers before the sleep, if that paid lately. The color
/// that ran last stays held, so that a message to it needs no queue.
bool worker_parking::spin_for_work(seat& s) noexcept {
  if (s.spins_left == 0 || all_.options.spin <= nanoseconds::zero()) return false;
  const time_point end = s.io->now() + all_.options.spin;
  do {
    for (int i = 0; i < 64; ++i) {
      if (s.held != nullptr && s.held->inbox.has_more()) {
        s.held->inbox.take(s.held->waiting);
        s.w.ready.append(s.held->waiting);
        s.spins_left = spins_after_hit;
        return true;
      }
      if (!s.queue.empty()) {
        s.spins_left = spins_after_hit;
        return true;
      }
      short_lock::pause();
    }
    if (all_.pause.asked()) return false;
  } while (s.io->now() < end);
  --s.spins_left;
  return false;
}

}  // namespace heddle
