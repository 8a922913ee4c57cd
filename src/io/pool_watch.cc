// SPDX-License-Identifier: MIT
// The report of calls that pile up.
#include "io/pool_watch.hh"

#include <utility>

#include "heddle/core/context.hh"

namespace heddle {

void pool_watch::queued(worker& w, blocking_pool& pool) noexcept {
  if (std::exchange(watching_, true)) return;
  pool_ = &pool;
  next_limit_ = limit_;
  w.sched.arm_after(w, *this, limit_);
}

void pool_watch::settle(worker& w) noexcept {
  if (!watching_ || pool_->waiting(w.index) != 0) return;
  disarm();
  watching_ = false;
}

void pool_watch::look(timer_node& t, worker& w) noexcept {
  auto& self = static_cast<pool_watch&>(t);
  const blocking_pool::waiting_call call = self.pool_->oldest(w.index);
  self.watching_ = call.op != nullptr;
  if (!self.watching_) return;
  const nanoseconds waited{blocking_pool::clock_ns() - call.since_ns};
  if (waited >= self.next_limit_) {
    // Only the worker parks and wakes a call, and it is here: the frame cannot change meanwhile.
    const link frame = call.op->frame;
    const site line = frame == no_link || is_plain(frame) ? 0 : promise_of(frame).at;
    w.sched.report({diagnostic_kind::blocking_pile_up, 0, line, call.count, {}, {}});
    self.next_limit_ = waited > never.time_since_epoch() / 2 ? waited : waited * 2;
  }
  const nanoseconds left = self.next_limit_ - waited;
  w.sched.arm(w, self, add_saturated(w.sched.read_clock(), left));
}

}  // namespace heddle
