// SPDX-License-Identifier: MIT
// One operation as an awaiter: its result is a number, >= 0 or -errno. What files, names,
// directories and connecting are made of.
#pragma once

#include <cerrno>

#include "heddle/core/promise.hh"
#include "heddle/sched/operation.hh"
#include "io/here.hh"

namespace heddle::detail {

class [[nodiscard("co_await it")]] one_operation : public operation {
 public:
  one_operation(op_code code, int fd, const char* what) noexcept
      : operation(own_kind_, code, fd, &completed), own_kind_{what, &ask_to_end} {}

  [[nodiscard]] static bool await_ready() noexcept { return false; }
  template <frame_promise P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) noexcept {
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
    park(*this, link_of(h), w);
    return true;
  }
  [[nodiscard]] std::int64_t await_resume() const noexcept { return outcome_; }

 private:
  static bool completed(operation& op, worker& w, const completion& c) noexcept {
    auto& self = static_cast<one_operation&>(op);
    self.outcome_ = c.result;
    wake(self, w);
    return false;
  }
  static void ask_to_end(wait& x, worker& w) noexcept {
    runtime::here().cancel(static_cast<one_operation&>(x), w);
  }
  wait_kind own_kind_;
  std::int64_t outcome_ = 0;
};

}  // namespace heddle::detail
