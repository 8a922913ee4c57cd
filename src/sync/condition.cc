// SPDX-License-Identifier: MIT
// Notifications, and the wait that gives up a lock meanwhile.
#include "heddle/sync/condition.hh"

#include "heddle/core/deadline.hh"

namespace heddle {

const wait_kind condition::record::kind_of_wait{"condition",
                                                [](heddle::wait& x, worker& w) noexcept {
                                                  auto& self = static_cast<record&>(x);
                                                  if (self.place::linked()) self.leave();
                                                  wake(self, w);
                                                }};

void condition::record::leave() noexcept {
  place::unlink();
  --owner.home_.waiting_;
}

std::size_t condition::waiting_open() noexcept {
  std::size_t count = 0;
  line_.each([&](place& p) { count += static_cast<record&>(p).owner.open() ? 1 : 0; });
  return count;
}

bool condition::notify_one(std::source_location where) noexcept {
  check_color(where);
  return notify_first(wake_of::one);
}

bool condition::notify_first(wake_of how) noexcept {
  while (place* first = line_.pop_front()) {
    auto& r = static_cast<record&>(*first);
    --waiting_;
    if (!r.owner.commit()) continue;  // the choice was made elsewhere; the wait ends by itself
    r.owner.woken_ = how;
    wake(r, worker::here());
    return true;
  }
  return false;
}

std::size_t condition::notify_all(std::source_location where) noexcept {
  check_color(where);
  std::size_t count = 0;
  while (notify_first(wake_of::all)) ++count;
  return count;
}

task<> condition::wait(mutex::hold& held, std::source_location where) {
  HEDDLE_ASSERT(held, "wait(held) needs a hold of the mutex that guards the condition");
  auto& lock = static_cast<mutex&>(*held.home());
  held.release();
  const result<void> woken = co_await as_expected(wait(where));
  // A waiter that held the lock goes on with it, also to clean up: this wait is not cancelled.
  held = co_await shield(lock.lock(where), nanoseconds::max());
  if (!woken) detail::throw_failure(woken.error());
}

}  // namespace heddle
