// SPDX-License-Identifier: MIT
// The report of calls that pile up.
#include "io/pool_watch.hh"

#include <array>
#include <span>
#include <utility>

#include "heddle/core/context.hh"

namespace heddle {
namespace {

constexpr std::size_t holders_max = 8;  // calls in a report

/// The line that waits for a call of this worker. The worker alone parks and wakes a call, so the
/// frame cannot change meanwhile.
site line_of(const operation& op) noexcept {
  const link frame = op.frame;
  return frame == no_link || is_plain(frame) ? 0 : promise_of(frame).at;
}

}  // namespace

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
    std::array<blocking_pool::running_call, holders_max> running;
    std::array<resource_holder, holders_max> holders;
    const std::size_t len = self.pool_->longest_running(running, call.op->code == op_code::resolve);
    const std::int64_t now = blocking_pool::clock_ns();
    for (std::size_t i = 0; i != len; ++i) {
      const bool own = running[i].worker == w.index;
      holders[i] = {own ? line_of(*running[i].op) : 0, nanoseconds(now - running[i].since_ns)};
    }
    diagnostic d{.kind = diagnostic_kind::blocking_pile_up, .count = call.count};
    d.waits = line_of(*call.op);
    d.holders = std::span(holders).first(len);
    w.sched.report(d);
    self.next_limit_ = waited > never.time_since_epoch() / 2 ? waited : waited * 2;
  }
  const nanoseconds left = self.next_limit_ - waited;
  w.sched.arm(w, self, add_saturated(w.sched.read_clock(), left));
}

}  // namespace heddle
