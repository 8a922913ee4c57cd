// SPDX-License-Identifier: MIT
// The original Tame's words at file scope: event, rendezvous, and mkevent inside and outside of a
// twait body. They are Heddle's events and rendezvous under the names and in the style of libasync.
// <tame.h> includes this.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "heddle/core/callback.hh"
#include "tamer/tamer.hh"

namespace heddle::tame {

/// A function with its first arguments, or a member function with its object and arguments: what
/// wrap() of <tame.h> makes. libasync calls it by `->` and by `*`.
template <class F, class... Kept>
class wrapped {
 public:
  explicit wrapped(F f, Kept... kept) : function_(std::move(f)), kept_(std::move(kept)...) {}

  template <class... Rest>
    requires std::invocable<F&, Kept&..., Rest...>
  decltype(auto) operator()(Rest&&... rest) const {
    return std::apply(
        [&](Kept&... first) -> decltype(auto) {
          return std::invoke(function_, first..., std::forward<Rest>(rest)...);
        },
        kept_);
  }
  template <class... Rest>
    requires std::invocable<F&, Kept&..., Rest...>
  decltype(auto) trigger(Rest&&... rest) const {
    return (*this)(std::forward<Rest>(rest)...);
  }
  const wrapped* operator->() const noexcept { return this; }
  const wrapped& operator*() const noexcept { return *this; }

 private:
  mutable F function_;
  mutable std::tuple<Kept...> kept_;
};

}  // namespace heddle::tame

/// A handle of something that happens once. `event<T>::ref` and `->` are what libasync's style of
/// counted pointers asks for: the handle is counted itself.
template <class... Ts>
class event : public heddle::event<Ts...> {
 public:
  using ref = event;
  using ptr = event;

  event() noexcept = default;
  event(heddle::event<Ts...> e) noexcept : heddle::event<Ts...>(std::move(e)) {}
  event(std::nullptr_t) noexcept {}
  /// An event that calls a wrapped function with its values, for functions of libasync's style that
  /// are given a callback: `gethost_ev(name, wrap(helper, name, done))`.
  template <class F, class... Kept>
    requires std::invocable<const heddle::tame::wrapped<F, Kept...>&, Ts...>
  event(heddle::tame::wrapped<F, Kept...> f,
        std::source_location where = std::source_location::current())
      : heddle::event<Ts...>(heddle::function_event<Ts...>(std::move(f), where)) {}

  event* operator->() noexcept { return this; }
  const event* operator->() const noexcept { return this; }
  const event& operator*() const noexcept { return *this; }

  // For connectors: mkevent_rs(e->slot_set(), r, ids...) makes an event with the slots of e.
  [[nodiscard]] const heddle::event<Ts...>& slot_set() const noexcept { return *this; }
  /// `e` is triggered when this event is triggered or dropped.
  void set_cancel_notifier(heddle::event<> e) { this->at_trigger(std::move(e)); }
  /// Ends the wait, and stores nothing.
  void trigger_no_assign() { this->unblock(); }
};
template <class... Ts>
using _event = event<Ts...>;
using evv_t = event<>::ref;
using evi_t = event<int>::ref;
using evb_t = event<bool>::ref;
using evs_t = event<std::string>::ref;

/// A set of expected events with ids that the program chose.
template <class... Ids>
class rendezvous {
 public:
  explicit rendezvous(std::source_location where = std::source_location::current()) noexcept
      : under_(where) {}
  /// The place, as libasync's programs name it: `rendezvous_t<> rv(__FILE__, __LINE__)`. The
  /// compiler knows it too.
  rendezvous(const char*, int,
             std::source_location where = std::source_location::current()) noexcept
      : under_(where) {}
  /// As `rendezvous_t<> rv(__FL__)`.
  rendezvous(const char*, std::source_location where = std::source_location::current()) noexcept
      : under_(where) {}

  /// Makes the expected events empty, and drops the events that have happened.
  void cancel() { under_.clear(); }
  void clear() { under_.clear(); }
  [[nodiscard]] bool has_ready() const noexcept { return under_.has_ready(); }
  [[nodiscard]] bool has_waiting() const noexcept { return under_.has_waiting(); }
  [[nodiscard]] bool has_events() const noexcept { return under_.has_events(); }
  /// Whether an event has happened and was not taken.
  [[nodiscard]] bool pending() const noexcept { return under_.has_ready(); }
  [[nodiscard]] bool need_wait() const noexcept { return under_.has_events(); }
  [[nodiscard]] bool need_join() const noexcept { return need_wait(); }
  [[nodiscard]] bool next_trigger(Ids&... ids) { return under_.join(ids...); }
  /// How many events are out. All events that have happened and were not taken count as one, so
  /// `while (r.n_out()) twait(r);` takes every event.
  [[nodiscard]] std::size_t n_out() const noexcept {
    return under_.expected().size() + (under_.has_ready() ? 1 : 0);
  }
  [[nodiscard]] std::size_t n_triggers_left() const noexcept { return n_out(); }
  [[nodiscard]] std::size_t n_joins_left() const noexcept { return n_out(); }
  /// The wait of a function that is not tamed and runs as a thread, as twait(r, ids...). <tame.h>
  /// has it where room fiber is installed.
  void wait(Ids&... ids);

  [[nodiscard]] heddle::rendezvous<Ids...>& beneath() noexcept { return under_; }

  // For functions that are ported: `co_await r` and heddle/core/twait.hh use these.
  using heddle_rendezvous = heddle::rendezvous<Ids...>;
  [[nodiscard]] auto operator co_await() noexcept { return under_.operator co_await(); }
  template <class... Args>
  [[nodiscard]] auto make_event_at(std::source_location where, Args&&... args) {
    const auto wrap = []<class... Ts>(heddle::event<Ts...> e) {
      return ::event<Ts...>(std::move(e));
    };
    return wrap(under_.make_event_at(where, std::forward<Args>(args)...));
  }

 private:
  heddle::rendezvous<Ids...> under_;
};
template <class... Ids>
using rendezvous_t = rendezvous<Ids...>;
/// The place in the source, for rendezvous_t.
#define __FL__ __FILE__ ":" HEDDLE_TAME_TEXT(__LINE__)
#define HEDDLE_TAME_TEXT(x) HEDDLE_TAME_TEXT_OF(x)
#define HEDDLE_TAME_TEXT_OF(x) #x
namespace heddle::tame {

template <class... Ids>
inline constexpr bool is_rendezvous<::rendezvous<Ids...>> = true;

template <class... Ts>
[[nodiscard]] ::event<Ts...> as_tame(heddle::event<Ts...> e) noexcept {
  return ::event<Ts...>(std::move(e));
}

template <class... Ids, class... Out>
[[nodiscard]] auto next(::rendezvous<Ids...>& r, Out&... out) {
  return next_wait<heddle::rendezvous<Ids...>, Out...>(r.beneath(), out...);
}

/// mkevent of a twait body.
class tame_maker {
 public:
  using here = std::source_location;
  explicit tame_maker(gather& g) noexcept : gather_(&g) {}

  [[nodiscard]] ::event<> operator()(here where = here::current()) const {
    return gather_->make_event_at(where);
  }
  template <slot A>
  [[nodiscard]] ::event<A> operator()(A& a, here where = here::current()) const {
    return gather_->make_event_at(where, a);
  }
  template <slot A, class B>
  [[nodiscard]] ::event<A, B> operator()(A& a, B& b, here where = here::current()) const {
    return gather_->make_event_at(where, a, b);
  }
  template <slot A, class B, class C>
  [[nodiscard]] ::event<A, B, C> operator()(A& a, B& b, C& c, here where = here::current()) const {
    return gather_->make_event_at(where, a, b, c);
  }
  template <slot A, class B, class C, class D>
  [[nodiscard]] ::event<A, B, C, D> operator()(A& a, B& b, C& c, D& d,
                                               here where = here::current()) const {
    return gather_->make_event_at(where, a, b, c, d);
  }

  template <class... Ids>
  [[nodiscard]] auto operator()(::rendezvous<Ids...>& r, here where = here::current()) const {
    return as_tame(r.beneath().make_event_at(where));
  }
  template <class... Ids, class A>
  [[nodiscard]] auto operator()(::rendezvous<Ids...>& r, A&& a,
                                here where = here::current()) const {
    return as_tame(r.beneath().make_event_at(where, std::forward<A>(a)));
  }
  template <class... Ids, class A, class B>
  [[nodiscard]] auto operator()(::rendezvous<Ids...>& r, A&& a, B&& b,
                                here where = here::current()) const {
    return as_tame(r.beneath().make_event_at(where, std::forward<A>(a), std::forward<B>(b)));
  }
  template <class... Ids, class A, class B, class C>
  [[nodiscard]] auto operator()(::rendezvous<Ids...>& r, A&& a, B&& b, C&& c,
                                here where = here::current()) const {
    return as_tame(r.beneath().make_event_at(where, std::forward<A>(a), std::forward<B>(b),
                                             std::forward<C>(c)));
  }
  template <class... Ids, class A, class B, class C, class D>
  [[nodiscard]] auto operator()(::rendezvous<Ids...>& r, A&& a, B&& b, C&& c, D&& d,
                                here where = here::current()) const {
    return as_tame(r.beneath().make_event_at(where, std::forward<A>(a), std::forward<B>(b),
                                             std::forward<C>(c), std::forward<D>(d)));
  }
  template <class... Ids, class A, class B, class C, class D, class E>
  [[nodiscard]] auto operator()(::rendezvous<Ids...>& r, A&& a, B&& b, C&& c, D&& d, E&& e,
                                here where = here::current()) const {
    return as_tame(r.beneath().make_event_at(where, std::forward<A>(a), std::forward<B>(b),
                                             std::forward<C>(c), std::forward<D>(d),
                                             std::forward<E>(e)));
  }

 private:
  gather* gather_;
};
}  // namespace heddle::tame

/// An event with the slots of `like`, which is the slot_set() of an expected event.
template <class... Ids, class... Ts>
[[nodiscard]] event<Ts...> mkevent_rs(const heddle::event<Ts...>& like, rendezvous<Ids...>& r,
                                      std::type_identity_t<Ids>... ids) {
  return r.beneath().make_event_like(like, std::move(ids)...);
}

// mkevent outside of a twait body.
template <class... Ids>
[[nodiscard]] auto mkevent(rendezvous<Ids...>& r,
                           std::source_location where = std::source_location::current()) {
  return heddle::tame::as_tame(r.beneath().make_event_at(where));
}
template <class... Ids, class A>
[[nodiscard]] auto mkevent(rendezvous<Ids...>& r, A&& a,
                           std::source_location where = std::source_location::current()) {
  return heddle::tame::as_tame(r.beneath().make_event_at(where, std::forward<A>(a)));
}
template <class... Ids, class A, class B>
[[nodiscard]] auto mkevent(rendezvous<Ids...>& r, A&& a, B&& b,
                           std::source_location where = std::source_location::current()) {
  return heddle::tame::as_tame(
      r.beneath().make_event_at(where, std::forward<A>(a), std::forward<B>(b)));
}
template <class... Ids, class A, class B, class C>
[[nodiscard]] auto mkevent(rendezvous<Ids...>& r, A&& a, B&& b, C&& c,
                           std::source_location where = std::source_location::current()) {
  return heddle::tame::as_tame(
      r.beneath().make_event_at(where, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c)));
}
template <class... Ids, class A, class B, class C, class D>
[[nodiscard]] auto mkevent(rendezvous<Ids...>& r, A&& a, B&& b, C&& c, D&& d,
                           std::source_location where = std::source_location::current()) {
  return heddle::tame::as_tame(r.beneath().make_event_at(
      where, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), std::forward<D>(d)));
}
template <class... Ids, class A, class B, class C, class D, class E>
[[nodiscard]] auto mkevent(rendezvous<Ids...>& r, A&& a, B&& b, C&& c, D&& d, E&& e,
                           std::source_location where = std::source_location::current()) {
  return heddle::tame::as_tame(r.beneath().make_event_at(where, std::forward<A>(a),
                                                         std::forward<B>(b), std::forward<C>(c),
                                                         std::forward<D>(d), std::forward<E>(e)));
}
