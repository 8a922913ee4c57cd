// SPDX-License-Identifier: MIT
// Notifiers, which run when an event ends, and events with a time limit.
//
//   at_cancel(e, f)                 f runs when e ends without having fired
//   with_timeout(e, 5s)             e, unblocked after 5 s unless it is triggered before
//   with_timeout(e, 5s, outcome)    as above; outcome is timed_out then, and no error otherwise
//   add_timeout(e, 5s, v)           e, triggered with v after 5 s unless it was before
//
// e.at_trigger(n) is a member of every event: n fires however e ends.
#pragma once

#include <memory>
#include <system_error>
#include <utility>

#include "heddle/core/adapt.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/sleep.hh"

namespace heddle {

namespace detail {

/// Runs f if its event is cancelled. It lies in a cell of its own, which is freed with the event.
template <class F>
struct cancel_notifier final : event_notifier {
  cancel_notifier(event_record& r, F f) noexcept
      : event_notifier(&ended), record(r), function(std::move(f)) {}
  static void ended(event_notifier& n, worker& w) noexcept {
    auto& self = static_cast<cancel_notifier&>(n);
    const bool fired = (self.record.flags & event_record::has_fired) != 0;
    F f = std::move(self.function);
    std::destroy_at(&self);
    w.memory.release(&self, sizeof(cancel_notifier));
    const nest_afresh programmers(w);
    if (!fired) f();
  }
  event_record& record;
  F function;
};

/// An event that stores `code` into `outcome`, unless the frame that holds the variable has ended,
/// and then fires the unblocker.
[[nodiscard]] event<> note_outcome(event<> unblocker, std::error_code& outcome,
                                   std::error_code code);

}  // namespace detail

/// Runs f when e ends because its home ended or was cleared, or because the last handle was
/// dropped; not when e is triggered or unblocked. If e is empty already, nothing happens.
template <class F, class... Ts>
  requires std::invocable<F&>
void at_cancel(const event<Ts...>& e, F f) {
  if (!e) return;
  worker& w = worker::here();
  using notifier = detail::cancel_notifier<F>;
  auto* n = new (w.memory.allocate(sizeof(notifier))) notifier(*e.record(), std::move(f));
  detail::add_notifier(*e.record(), *n);
}

/// Returns e, which is unblocked after this span unless it ends before.
template <class... Ts>
[[nodiscard]] event<Ts...> with_timeout(event<Ts...> e, nanoseconds span) {
  timer(span, e.unblocker());
  return e;
}

/// As above; `outcome` is cleared now, and becomes timed_out if the span passes first.
template <class... Ts>
[[nodiscard]] event<Ts...> with_timeout(event<Ts...> e, nanoseconds span,
                                        std::error_code& outcome) {
  outcome.clear();
  if (e) timer(span, detail::note_outcome(e.unblocker(), outcome, timed_out_error()));
  return e;
}

/// Returns e, which is triggered with these values after this span unless it ends before.
template <class... Ts, class... Vs>
  requires(sizeof...(Ts) == sizeof...(Vs) && (std::constructible_from<Ts, Vs &&> && ...))
[[nodiscard]] event<Ts...> add_timeout(event<Ts...> e, nanoseconds span, Vs&&... values) {
  timer(span, bind(e, std::forward<Vs>(values)...));
  return e;
}

}  // namespace heddle
