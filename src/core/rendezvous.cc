// SPDX-License-Identifier: MIT
// Suspending on a set of events, and what happens when the set ends first.
#include "heddle/core/rendezvous.hh"

#include <stdexcept>

#include "heddle/core/enter.hh"
#include "heddle/core/twait.hh"

namespace heddle::detail {

const wait_kind event_set::waiter::kind{"event", [](wait& x, worker& w) noexcept {
                                          auto& self = static_cast<waiter&>(x);
                                          if (self.set != nullptr) self.set->waiter_ = nullptr;
                                          self.wake_canceled(w);
                                        }};

bool event_set::waiter_room::refuse(event_set& on, link l, worker& w) {
  if (on.waiter_ == event_set::forsaken()) {
    on.report_forsaken(promise_of(l).at, w);
    if (!on.has_waiting()) return false;
    return suspend(on, l, w);
  }
  if (on.waiter_ != nullptr) on.refuse_second(l, w);
  holds_ = content::refusal;
  return false;
}

/// The marker has no owner: all of it is zero, as in a waiter that has been woken.
event_set::waiter* event_set::forsaken() noexcept {
  alignas(waiter) static constinit std::byte none[sizeof(waiter)] = {};
  return reinterpret_cast<waiter*>(none);
}

void event_set::forsake(event_record& record) noexcept {
  static_cast<void>(record);  // the record stays in expected_, without a home
  waiter_ = forsaken();
}

void event_set::report_forsaken(site waits, worker& w) noexcept {
  waiter_ = nullptr;
  open_list<event_record> kept;
  while (event_record* const record = expected_.pop_front()) {
    if (record->home != nullptr) {
      kept.push_back(*record);
      continue;
    }
    w.sched.report({diagnostic_kind::abandoned_event, record->made, waits, 1, {}, {}});
    release_if_done(*record, w);
  }
  while (event_record* const record = kept.pop_front()) expected_.push_back(*record);
}

void event_set::refuse_second(link l, worker& w) {
  const source_line first = resolve_site(waits_at());
  w.sched.report({diagnostic_kind::two_waiters, promise_of(l).at, waits_at(), 1, {}, {}});
  throw std::logic_error("another function waits on this rendezvous already, at " +
                         to_string(first));
}

void event_set::waiter::unqueue() noexcept { worker::here().all_ready().remove(woken); }

site event_set::waits_at() const noexcept {
  return waiter_ == nullptr || waiter_->frame == no_link ? 0 : promise_of(waiter_->frame).at;
}

void event_set::dropped(event_record& record, worker& w) noexcept {
  if (!unreported_drops_) {
    diagnostic d{diagnostic_kind::abandoned_event, record.made, waits_at()};
    if (d.waits == 0) d.waits = d.object_made = made_;
    w.sched.report(d);
  }
  fired(record, w);
}

void event_set::end_set(worker& w) noexcept {
  if (waiter_ == nullptr) return;
  waiter& x = *std::exchange(waiter_, nullptr);
  x.set = nullptr;
  const link l = x.frame;
  join* const owner = promise_of(l).parent();
  if (owner->done == nullptr || is_taken_over(*owner)) {  // a frame awaits it: it unwinds
    x.wake_canceled(w);
    return;
  }
  const context_note running_in = w.context_now;
  std::coroutine_handle<>::from_address(reinterpret_cast<void*>(l)).destroy();
  w.context_now = running_in;  // destructors in the frame may have put back another context
  if (const std::coroutine_handle<> next = owner->done(*owner, w)) w.post(link_of(next));
}

void twait_block::leave() noexcept {
  worker& w = worker::here();
  if (room_.holds_waiter()) room_.end();  // only its own function waits here, and is going away
  while (event_record* const record = expected_.pop_front()) cancel_event(*record, w);
}

}  // namespace heddle::detail
