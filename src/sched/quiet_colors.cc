// SPDX-License-Identifier: MIT
// Holding the colors that are idle, and the locks of the queues in which other colors wait.
#include "sched/quiet_colors.hh"

namespace heddle {

quiet_colors::quiet_colors(worker_set& all, color_runner& colors)
    : all_(all), colors_(colors), quiet_(colors.places()) {
  const worker& self = worker::here();
  moving_.reserve(all.seats.size());  // nothing allocates while the locks are held
  all.pause.look_who_is_still([&] {
    for (const auto& s : all.seats)
      if (&s->w != &self && !s->still) moving_.push_back(s.get());
  });
  for (const auto& s : all.seats) s->queue.lock.lock();
  colors.each([this](color_record& r) { quiet_[colors_.place_of(r)] = make_quiet(r); });
}

quiet_colors::~quiet_colors() {
  for (const auto& s : all_.seats) s->queue.lock.unlock();
  seat& self = all_.of(worker::here());
  while (ready_color* const c = held_.pop()) {
    auto& r = static_cast<color_record&>(*c);
    colors_.give_back(self, r);
  }
}

bool quiet_colors::make_quiet(color_record& r) noexcept {
  for (int look = 0; look != 2; ++look) {
    if (r.inbox.hold()) {
      held_.push(r);
      return true;
    }
    if (in_a_hand(r)) return false;
  }
  return true;  // in a queue, or held by a paused worker
}

bool quiet_colors::in_a_hand(const color_record& r) const noexcept {
  for (const seat* const s : moving_) {
    // acquire: pairs with the releases in color_runner::enter() and leave(); in this order
    if (s->taken.load(std::memory_order_acquire) == &r ||
        s->in_hand.load(std::memory_order_acquire) == &r)
      return true;
  }
  return false;
}

}  // namespace heddle
