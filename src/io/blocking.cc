// SPDX-License-Identifier: MIT
// One op_code::call a blocking call.
#include "heddle/io/blocking.hh"

#include <cerrno>

#include "heddle/sched/detail/here.hh"

namespace heddle {

const wait_kind detail::blocking_base::kind_of_wait{"blocking", &asked_to_end};

detail::blocking_base::blocking_base(call_function run, stop_function stop) noexcept
    : operation(kind_of_wait, op_code::call, -1, &completed), run_(run), stop_(stop) {}

detail::blocking_base::~blocking_base() {
  HEDDLE_ASSERT(!is_pending(),
                "a blocking call was destroyed while it runs: cancel it and await it");
}

bool detail::blocking_base::begin(link frame) noexcept {
  worker& w = worker::running();
  if (w.current_context().canceled()) {
    outcome_ = -ECANCELED;
    return false;
  }
  function = run_;
  more = this;
  completion now;
  if (driver_here().submit(*this, w, now)) {
    outcome_ = now.result;
    return false;
  }
  park(*this, frame, w);
  return true;
}

bool detail::blocking_base::completed(operation& op, worker& w, const completion& c) noexcept {
  auto& self = static_cast<blocking_base&>(op);
  self.outcome_ = c.result;
  wake(self, w);
  return false;
}

void detail::blocking_base::asked_to_end(wait& x, worker& w) noexcept {
  auto& self = static_cast<blocking_base&>(x);
  runtime::here().cancel(self, w);  // ends it here and now if it is still queued
  if (self.is_pending() && self.stop_ != nullptr) self.stop_(self);
}

void detail::blocking_base::not_made() const {
  if (outcome_ == -EAGAIN)
    throw failure(kernel_error(-EAGAIN),
                  "the queue for blocking calls is full, or no thread can be made: make fewer "
                  "calls at once, or raise driver_options::pool_queue_max");
  throw_failure(kernel_error(static_cast<int>(outcome_)));
}

pool_statistics blocking_statistics() {
  pool_statistics now;
  driver_here().read_pool(now);
  return now;
}

}  // namespace heddle
