// SPDX-License-Identifier: MIT
// One function of a connection waits, another of the same connection ends the wait.
//
// For the library itself; not for programs: it may change in any version.
#pragma once

#include <utility>

#include "heddle/core/rendezvous.hh"
#include "heddle/core/task.hh"

namespace heddle {

/// Thread: one color. One waiter at a time. Cancel: the wait can be cancelled and bounded.
class wake_once {
 public:
  [[nodiscard]] bool awaited() const noexcept { return static_cast<bool>(waiter_); }
  /// Waits until wake() is called. A call before the wait does not count.
  [[nodiscard]] task<> wait() {
    rendezvous<> until;
    waiter_ = until.make_event();
    co_await until;
  }
  void wake() {
    if (waiter_) std::exchange(waiter_, {}).trigger();
  }

 private:
  event<> waiter_;
};

}  // namespace heddle
