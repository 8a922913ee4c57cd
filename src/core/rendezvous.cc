// SPDX-License-Identifier: MIT
// Suspending on a set of events, and what happens when the set goes first.
#include "heddle/core/rendezvous.hh"

#include <stdexcept>

#include "heddle/core/enter.hh"
#include "heddle/core/twait.hh"

namespace heddle::detail {

const wait_kind event_set::waiter::kind{"event", [](wait& x, worker& w) noexcept {
                                          auto& self = static_cast<waiter&>(x);
                                          self.canceled = true;
                                          self.woken = self.frame;
                                          if (self.set != nullptr) self.set->waiter_ = nullptr;
                                          self.given = nullptr;
                                          wake(self, w);
                                        }};

bool event_set::waiter_room::suspend(event_set& on, link l, worker& w) {
  if (on.waiter_ != nullptr) [[unlikely]]
    on.refuse_second(l, w);
  if (w.current_context().canceled()) [[unlikely]] {
    holds_ = content::refusal;
    return false;
  }
  holds_ = content::waiter;
  on.waiter_ = std::construct_at(&waiter_, on, l, w);
  return true;
}

void event_set::refuse_second(link l, worker& w) {
  const source_line first = resolve_site(waits_at());
  w.sched.report({diagnostic_kind::two_waiters, promise_of(l).at, waits_at(), 1, {}, {}});
  throw std::logic_error("another function waits on this rendezvous already, at " +
                         to_string(first));
}

void event_set::waiter::unqueue() noexcept { worker::here().ready.remove(woken); }

site event_set::waits_at() const noexcept {
  return waiter_ == nullptr || waiter_->frame == no_link ? 0 : promise_of(waiter_->frame).at;
}

void event_set::dropped(event_record& record, worker& w) noexcept {
  const site waits = waits_at();
  w.sched.report(
      {diagnostic_kind::abandoned_event, record.made, waits != 0 ? waits : made_, 1, {}, {}});
  fired(record, w);
}

void event_set::end_set(worker& w) noexcept {
  if (waiter_ == nullptr) return;
  waiter& x = *std::exchange(waiter_, nullptr);
  x.set = nullptr;
  const link l = x.frame;
  join* const owner = promise_of(l).parent();
  if (owner->done == nullptr || is_taken_over(*owner)) {  // somebody awaits it: it unwinds
    x.canceled = true;
    x.given = nullptr;
    x.woken = l;
    wake(x, w);
    return;
  }
  const context_note running_in = w.context_now;
  std::coroutine_handle<>::from_address(reinterpret_cast<void*>(l)).destroy();
  w.context_now = running_in;  // what the frame kept may have put back a context of its own
  if (const std::coroutine_handle<> next = owner->done(*owner, w)) w.post(link_of(next));
}

void twait_block::leave() noexcept {
  worker& w = worker::here();
  if (room_.holds_waiter()) room_.end();  // only its own function waits here, and is going away
  while (event_record* const record = expected_.pop_front()) cancel_event(*record, w);
}

}  // namespace heddle::detail
