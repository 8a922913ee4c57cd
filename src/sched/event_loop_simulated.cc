// SPDX-License-Identifier: MIT
// Several workers in a simulated world: one thread runs them all, in an order drawn from the seed.
#include <algorithm>

#include "sched/event_loop.hh"

namespace heddle {

/// Turns all workers on one thread: one of them, drawn by the seed, runs a few frames; sometimes
/// the driver is polled in between.
bool event_loop::turn_simulated(bool may_sleep) {
  const auto draw = [this](std::uint64_t below) {
    draw_ = draw_ * 6364136223846793005 + 1442695040888963407;
    return (draw_ >> 33) % below;
  };
  const std::size_t n = all_.seats.size();
  const std::size_t first = draw(n);
  bool ran = false;
  for (std::size_t i = 0; i != n && !ran; ++i) {
    seat& s = *all_.seats[(first + i) % n];
    heddle_current_worker = &s.w;
    s.w.now = s.io->now();
    ran = colors_.run(s, 1 + draw(all_.options.color_batch));
    if (s.held != nullptr) colors_.leave(s);
    s.w.memory.collect_remote();
  }
  seat& s = *all_.seats[draw(n)];
  heddle_current_worker = &s.w;
  const bool looks = !ran || draw(4) == 0;
  bool comes = true;
  if (looks) {
    bool came = posted_.has_any();
    if (came) run_posted();
    for (const auto& each : all_.seats) {
      if (ran || each->preblock.empty()) continue;
      came = true;
      heddle_current_worker = &each->w;
      run_preblock(*each);
    }
    heddle_current_worker = &s.w;
    bool more = ran || (came && colors_.draining);  // drain() may have waited for just that
    time_point due = never;
    for (const auto& each : all_.seats) {
      more = more || !each->queue.empty() || each->kept_completions != nullptr;
      due = std::min(due, timers_.next_due(*each));
    }
    time_point until = time_point::min();
    if (!more && may_sleep) {
      until = due;
      if (until == never && !anything_outside(s.io->pending())) comes = false;
    }
    if (comes) {
      s.io->turn(s.w, until);
      if (until == never && s.io->stalled() && !posted_.has_any()) comes = false;
      if (s.held != nullptr) colors_.leave(s);
      for (const auto& each : all_.seats) {
        heddle_current_worker = &each->w;
        each->w.now = each->io->now();
        if (each->kept_completions != nullptr) completions_.bring_kept(*each);
        timers_.expire(*each);
        if (each->held != nullptr) colors_.leave(*each);
      }
    }
  }
  heddle_current_worker = &all_.seats[0]->w;
  all_.seats[0]->w.now = all_.seats[0]->io->now();
  return comes;
}

}  // namespace heddle
