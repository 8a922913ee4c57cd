// SPDX-License-Identifier: MIT
// Several workers: which color a worker runs next, which ones it steals without work, and where a
// color that has work is queued.
#include <algorithm>

#include "sched/color_runner.hh"

namespace heddle {

/// The next color, if there are several workers (if there is one: next_alone()).
color_record* color_runner::next(seat& s) noexcept {
  color_record* r = nullptr;
  if (!s.queue.empty()) {
    s.queue.lock.lock();
    r = s.queue.pop();
    if (r != nullptr) s.taken.store(r, std::memory_order_relaxed);
    s.queue.lock.unlock();
  }
  s.w.colors_wait = !s.queue.empty();
  if (r == nullptr && s.w.ready.empty() && all_.options.stealing) r = steal(s);
  return r;
}

/// Steals colors from a worker that has two queued colors, or one that has waited behind a long
/// run. The first color runs now, and half of the others come along.
color_record* color_runner::steal(seat& s) noexcept {
  const std::size_t n = all_.seats.size();
  for (std::size_t i = 1; i != n; ++i) {
    seat& from = *all_.seats[(s.w.index + i) % n];
    const std::uint32_t waiting = from.queue.size();
    if (waiting == 0) continue;
    if (waiting == 1 && !all_.simulated) {
      const std::int64_t since =
          since_epoch(s.io->now()) - from.round_at.load(std::memory_order_relaxed);
      if (since < all_.options.steal_after.count()) continue;
    }
    if (!from.queue.lock.try_lock()) continue;
    color_record* const first = from.queue.pop();
    constexpr std::uint32_t along_max = 16;
    color_record* along[along_max];
    std::uint32_t count = 0;
    for (std::uint32_t half = from.queue.size() / 2; count != std::min(half, along_max); ++count)
      along[count] = from.queue.pop();
    if (policy* const p = from.queue.policy(); p != nullptr && first != nullptr) {
      p->left(*first);
      for (std::uint32_t k = 0; k != count; ++k)
        if (along[k] != nullptr) p->left(*along[k]);
    }
    if (first != nullptr) s.taken.store(first, std::memory_order_relaxed);
    from.queue.lock.unlock();
    if (first == nullptr) continue;
    s.count.steals += count + 1;
    if (count != 0) {
      s.queue.lock.lock();
      for (std::uint32_t k = 0; k != count; ++k)
        if (along[k] != nullptr) s.queue.push(*along[k]);
      s.queue.lock.unlock();
      s.w.colors_wait = true;
    }
    return first;
  }
  return nullptr;
}

/// Queues a busy color at a worker. Wakes that worker, or another one that can steal the color.
void color_runner::push(seat& from, seat& to, color_record& r) noexcept {
  to.queue.lock.lock();
  to.queue.push(r);
  const std::uint32_t waiting = to.queue.size();
  const bool slept = parked_.call(to, true);
  to.queue.lock.unlock();
  if (&to == &from) {
    from.w.colors_wait = true;
  } else if (slept && !all_.simulated) {
    ++from.count.wakes;
    to.io->wake();
    return;
  }
  // Another color is queued behind the running one: wake a parked worker. A single queued color is
  // no reason, because it is probably next, unless no other worker would notice if that took long.
  const bool no_other_looks = &to == &from && parked_.asleep() + 1 == all_.seats.size();
  if ((waiting > 1 || no_other_looks) && all_.options.stealing && parked_.away() != 0)
    parked_.wake_one(from);
}

}  // namespace heddle
