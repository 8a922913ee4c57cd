// SPDX-License-Identifier: MIT
// reusable_event<Ts...>: an event that may happen many times. Each trigger stores its values in the
// slots and queues one notification at the rendezvous, until finish(). A slot holds the values of
// the last trigger; where each must be seen, push into a channel instead.
//
//   rendezvous<int> r;
//   auto line = make_reusable(r, 1, slot);
//   read_lines(line);                       // calls line.trigger(text) again and again
//   while (line) { co_await r; use(slot); }
#pragma once

#include <functional>
#include <memory>
#include <source_location>
#include <utility>

#include "heddle/core/rendezvous.hh"

namespace heddle {

namespace detail {
template <class... Ids>
struct reusable_maker;
}

/// Thread: the color that made it.
/// Resumes: the waiter later, once for each trigger.
/// Owns: copies share one source; the slots belong to the function that named them, and are cut off
///   when their frame ends.
/// Cancel: when its rendezvous ends or is cleared, the event is empty and a trigger does nothing.
/// Fails: dropping the last copy without finish() is reported, as for any event that is expected.
template <class... Ts>
class reusable_event {
 public:
  reusable_event() noexcept = default;

  /// Whether a trigger would reach the rendezvous.
  [[nodiscard]] explicit operator bool() const noexcept { return state_ && state_->next; }

  template <class... Us>
    requires(sizeof...(Us) == sizeof...(Ts) && (std::constructible_from<Ts, Us &&> && ...))
  void trigger(Us&&... values) const {
    if (!*this) return;
    const event<Ts...> now = std::move(state_->next);
    state_->next = state_->again(now);  // before the trigger, which may call finish()
    now.trigger(std::forward<Us>(values)...);
  }
  template <class... Us>
  void operator()(Us&&... values) const {
    trigger(std::forward<Us>(values)...);
  }
  /// Ends the event: the rendezvous no longer expects it. Queued notifications stay queued.
  void finish() const {
    if (*this) state_->forget(state_->next);
  }

 private:
  template <class... Ids>
  friend struct detail::reusable_maker;

  struct state {
    event<Ts...> next;
    std::move_only_function<event<Ts...>(const event<Ts...>&)> again;
    std::move_only_function<void(const event<Ts...>&)> forget;
  };
  explicit reusable_event(std::shared_ptr<state> s) noexcept : state_(std::move(s)) {}

  std::shared_ptr<state> state_;
};

template <class... Ids>
struct detail::reusable_maker {
  template <class... Slots>
  [[nodiscard]] static reusable_event<Slots...> make(std::source_location where,
                                                     rendezvous<Ids...>& r, Ids... ids,
                                                     Slots&... slots) {
    auto state = std::make_shared<typename reusable_event<Slots...>::state>();
    state->again = [&r, ids...](const event<Slots...>& like) {
      return r.make_event_like(like, Ids(ids)...);
    };
    state->forget = [&r](const event<Slots...>& e) { r.cancel(e); };
    state->next = r.make_event_at(where, std::move(ids)..., slots...);
    return reusable_event<Slots...>(std::move(state));
  }
};

/// make_reusable(r, ids..., slots...): the ids and slots are those of r.make_event(). Up to three
/// here, so that the line is known; make_reusable_at takes any number.
template <class... Ids, class... Rest>
[[nodiscard]] auto make_reusable_at(std::source_location where, rendezvous<Ids...>& r,
                                    Rest&&... rest) {
  return detail::reusable_maker<Ids...>::make(where, r, std::forward<Rest>(rest)...);
}
template <class... Ids>
[[nodiscard]] auto make_reusable(rendezvous<Ids...>& r,
                                 std::source_location where = std::source_location::current()) {
  return make_reusable_at(where, r);
}
template <class... Ids, class A>
[[nodiscard]] auto make_reusable(rendezvous<Ids...>& r, A&& a,
                                 std::source_location where = std::source_location::current()) {
  return make_reusable_at(where, r, std::forward<A>(a));
}
template <class... Ids, class A, class B>
[[nodiscard]] auto make_reusable(rendezvous<Ids...>& r, A&& a, B&& b,
                                 std::source_location where = std::source_location::current()) {
  return make_reusable_at(where, r, std::forward<A>(a), std::forward<B>(b));
}
template <class... Ids, class A, class B, class C>
[[nodiscard]] auto make_reusable(rendezvous<Ids...>& r, A&& a, B&& b, C&& c,
                                 std::source_location where = std::source_location::current()) {
  return make_reusable_at(where, r, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c));
}

}  // namespace heddle
