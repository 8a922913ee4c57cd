// SPDX-License-Identifier: MIT
// One operation: submitted, completed, cancelled.
#include "heddle/io/call.hh"

#include <cerrno>

#include "heddle/sched/detail/here.hh"

namespace heddle {

bool one_operation::begin(link frame) noexcept {
  worker& w = worker::running();
  if (w.current_context().canceled()) {
    outcome_ = -ECANCELED;
    return false;
  }
  completion now;
  if (driver_here().submit(*this, w, now)) {
    outcome_ = now.result;
    return false;
  }
  park(*this, frame, w);
  return true;
}

bool one_operation::completed(operation& op, worker& w, const completion& c) noexcept {
  auto& self = static_cast<one_operation&>(op);
  self.outcome_ = c.result;
  wake(self, w);
  return false;
}

void one_operation::ask_to_end(wait& x, worker& w) noexcept {
  runtime::here().cancel(static_cast<one_operation&>(x), w);
}

}  // namespace heddle
