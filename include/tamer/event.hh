// SPDX-License-Identifier: MIT
// tamer::event, rendezvous and make_event on Heddle's events, and what `heddle tame` writes for
// twait: a `gather` holds the events of one twait { }, its `maker` makes them, and `next` waits for
// one event of a rendezvous.
#pragma once

#include <cassert>  // programs take assert() from here
#include <concepts>
#include <string>
#include <tuple>
#include <utility>

#include "heddle/core/combination.hh"
#include "heddle/core/event.hh"
#include "heddle/core/rendezvous.hh"
#include "tamer/config.h"
#include "tamer/function.hh"

namespace heddle::tame {

template <class T>
inline constexpr bool is_rendezvous = false;
template <class... Ids>
inline constexpr bool is_rendezvous<rendezvous<Ids...>> = true;
template <class T>
concept slot = !is_rendezvous<std::remove_cv_t<T>>;

/// Whether descriptions of waits are kept: only on request, by the environment variable
/// HEDDLE_TAME_DESCRIBE or by tamer::driver.
[[nodiscard]] bool describing() noexcept;

/// The events of one twait { }. The function that has it waits for all of them. Leaving the body
/// early (return, break, goto, an exception) empties them.
class gather final : public heddle::detail::event_set {
 public:
  using tame_wait = void;

  explicit gather(std::source_location where = std::source_location::current()) noexcept
      : event_set(site_of(where)) {}
  ~gather() {
    if (has_waiting() || room_.holds_waiter() || described_) [[unlikely]]
      leave();
  }

  template <class... Slots>
  [[nodiscard]] event<Slots...> make_event_at(std::source_location where, Slots&... slots) {
    worker& w = worker::here();
    event_record& record = heddle::detail::make_event_record(w, *this, address(), 0, site_of(where),
                                                             &expected_, slots...);
    return event<Slots...>(&record);
  }

  /// twait volatile { }: an event that is dropped while the function waits is no mistake.
  [[nodiscard]] gather& quiet() noexcept {
    unreported_drops_ = true;
    return *this;
  }
  /// twait ["..."] { }: text for a list of blocked functions, beside the line.
  void describe(std::string text);

  [[nodiscard]] bool await_ready() const noexcept { return !has_waiting(); }
  template <class P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) {
    worker& w = worker::running();
    if (!room_.suspend(*this, link_of(h), w)) return false;
    if constexpr (std::derived_from<P, promise>) h.promise().suspended();  // else a fiber waits
    return true;
  }
  void await_resume() {
    // The promise is found by the frame: a pointer here would make each frame larger.
    if (room_.holds_waiter() && promise::is_ours(room_.woken_frame()))
      static_cast<promise&>(promise_of(room_.woken_frame())).resumed();
    room_.resumed();
  }

  [[nodiscard]] bool needs_all() const noexcept override { return true; }
  void fired(event_record& record, worker& w) noexcept override {
    expected_.take_out(record);
    heddle::detail::release_taken_out(record, w);
    if (expected_.empty() && waiter_ != nullptr) wake_waiter(w, nullptr);
  }

 private:
  void leave() noexcept;

  [[no_unique_address]] waiter_room room_;
  bool described_ = false;  // in the last bytes of the room
};

/// The result of `make_event` in a twait body: an event, of a type of its own so that templates can
/// deduce its rendezvous, as they do of tamer's.
template <class Rendezvous, class... Ts>
class preevent : public event<Ts...> {
 public:
  preevent() noexcept = default;
  explicit preevent(event<Ts...> e) noexcept : event<Ts...>(std::move(e)) {}
};

/// The local `make_event` of a twait body. Nested bodies hide outer ones by ordinary scoping, and
/// macros and lambdas find it as they find any variable.
class maker {
 public:
  using here = std::source_location;
  explicit maker(gather& g) noexcept : gather_(&g) {}

  [[nodiscard]] preevent<gather> operator()(here where = here::current()) const {
    return preevent<gather>(gather_->make_event_at(where));
  }
  template <slot A>
  [[nodiscard]] preevent<gather, A> operator()(A& a, here where = here::current()) const {
    return preevent<gather, A>(gather_->make_event_at(where, a));
  }
  template <slot A, class B>
  [[nodiscard]] preevent<gather, A, B> operator()(A& a, B& b, here where = here::current()) const {
    return preevent<gather, A, B>(gather_->make_event_at(where, a, b));
  }
  template <slot A, class B, class C>
  [[nodiscard]] preevent<gather, A, B, C> operator()(A& a, B& b, C& c,
                                                     here where = here::current()) const {
    return preevent<gather, A, B, C>(gather_->make_event_at(where, a, b, c));
  }
  template <slot A, class B, class C, class D>
  [[nodiscard]] preevent<gather, A, B, C, D> operator()(A& a, B& b, C& c, D& d,
                                                        here where = here::current()) const {
    return preevent<gather, A, B, C, D>(gather_->make_event_at(where, a, b, c, d));
  }
  template <slot A, class B, class C, class D, class E>
  [[nodiscard]] preevent<gather, A, B, C, D, E> operator()(A& a, B& b, C& c, D& d, E& e,
                                                           here where = here::current()) const {
    return preevent<gather, A, B, C, D, E>(gather_->make_event_at(where, a, b, c, d, e));
  }

  // make_event(r, ...) with a rendezvous: its ids and the slots follow.
  template <class... Ids>
  [[nodiscard]] auto operator()(rendezvous<Ids...>& r, here where = here::current()) const {
    return r.make_event_at(where);
  }
  template <class... Ids, class A>
  [[nodiscard]] auto operator()(rendezvous<Ids...>& r, A&& a, here where = here::current()) const {
    return r.make_event_at(where, std::forward<A>(a));
  }
  template <class... Ids, class A, class B>
  [[nodiscard]] auto operator()(rendezvous<Ids...>& r, A&& a, B&& b,
                                here where = here::current()) const {
    return r.make_event_at(where, std::forward<A>(a), std::forward<B>(b));
  }
  template <class... Ids, class A, class B, class C>
  [[nodiscard]] auto operator()(rendezvous<Ids...>& r, A&& a, B&& b, C&& c,
                                here where = here::current()) const {
    return r.make_event_at(where, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c));
  }
  template <class... Ids, class A, class B, class C, class D>
  [[nodiscard]] auto operator()(rendezvous<Ids...>& r, A&& a, B&& b, C&& c, D&& d,
                                here where = here::current()) const {
    return r.make_event_at(where, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c),
                           std::forward<D>(d));
  }
  template <class... Ids, class A, class B, class C, class D, class E>
  [[nodiscard]] auto operator()(rendezvous<Ids...>& r, A&& a, B&& b, C&& c, D&& d, E&& e,
                                here where = here::current()) const {
    return r.make_event_at(where, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c),
                           std::forward<D>(d), std::forward<E>(e));
  }

 private:
  gather* gather_;
};

/// Waits for one event of a rendezvous and stores its id, or ids, if that is asked for.
template <class Rendezvous, class... Out>
class next_wait {
 public:
  using tame_wait = void;

  explicit next_wait(Rendezvous& r, Out&... out) noexcept : inner_(r), out_(out...) {}
  next_wait(const next_wait&) = delete;
  next_wait& operator=(const next_wait&) = delete;

  [[nodiscard]] bool await_ready() const noexcept { return inner_.await_ready(); }
  template <class P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) {
    if (!inner_.await_suspend(h)) return false;
    if constexpr (std::derived_from<P, promise>) {  // else a fiber waits
      function_ = &h.promise();
      function_->suspended();
    }
    return true;
  }
  void await_resume() {
    if (function_ != nullptr) std::exchange(function_, nullptr)->resumed();
    if constexpr (sizeof...(Out) == 0) {
      static_cast<void>(inner_.await_resume());
    } else if constexpr (sizeof...(Out) == 1) {
      std::get<0>(out_) = inner_.await_resume();
    } else {
      out_ = inner_.await_resume();
    }
  }

 private:
  typename Rendezvous::awaiter inner_;
  promise* function_ = nullptr;  ///< the function while it waits
  std::tuple<Out&...> out_;
};

template <class... Ids, class... Out>
[[nodiscard]] next_wait<rendezvous<Ids...>, Out...> next(rendezvous<Ids...>& r, Out&... out) {
  static_assert(sizeof...(Out) == 0 || sizeof...(Out) == sizeof...(Ids),
                "twait(r, i...) needs one variable for each id of the rendezvous, or none");
  return next_wait<rendezvous<Ids...>, Out...>(r, out...);
}

}  // namespace heddle::tame

namespace tamer {

template <class... Ts>
using event = heddle::event<Ts...>;
/// An event that was made a moment ago; here every event is as cheap.
using heddle::tame::preevent;
template <class... Ids>
using rendezvous = heddle::rendezvous<Ids...>;
using gather_rendezvous = heddle::tame::gather;
using heddle::tame::destroy_guard;
using heddle::tame::tamed_class;

}  // namespace tamer

// Programs call these without naming a namespace: they are found by the type of the rendezvous.
namespace heddle {

template <class... Ids>
[[nodiscard]] auto make_event(rendezvous<Ids...>& r,
                              std::source_location where = std::source_location::current()) {
  return r.make_event_at(where);
}
template <class... Ids, class A>
[[nodiscard]] auto make_event(rendezvous<Ids...>& r, A&& a,
                              std::source_location where = std::source_location::current()) {
  return r.make_event_at(where, std::forward<A>(a));
}
template <class... Ids, class A, class B>
[[nodiscard]] auto make_event(rendezvous<Ids...>& r, A&& a, B&& b,
                              std::source_location where = std::source_location::current()) {
  return r.make_event_at(where, std::forward<A>(a), std::forward<B>(b));
}
template <class... Ids, class A, class B, class C>
[[nodiscard]] auto make_event(rendezvous<Ids...>& r, A&& a, B&& b, C&& c,
                              std::source_location where = std::source_location::current()) {
  return r.make_event_at(where, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c));
}
template <class... Ids, class A, class B, class C, class D>
[[nodiscard]] auto make_event(rendezvous<Ids...>& r, A&& a, B&& b, C&& c, D&& d,
                              std::source_location where = std::source_location::current()) {
  return r.make_event_at(where, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c),
                         std::forward<D>(d));
}
template <class... Ids, class A, class B, class C, class D, class E>
[[nodiscard]] auto make_event(rendezvous<Ids...>& r, A&& a, B&& b, C&& c, D&& d, E&& e,
                              std::source_location where = std::source_location::current()) {
  return r.make_event_at(where, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c),
                         std::forward<D>(d), std::forward<E>(e));
}
#ifndef mkevent  // heddle/core/twait.hh has it as a macro
/// As make_event(); the name in the original Tame.
template <class... Ids, class... Args>
  requires(sizeof...(Args) < 6)
[[nodiscard]] auto mkevent(rendezvous<Ids...>& r, Args&&... args) {
  return heddle::make_event(r, std::forward<Args>(args)...);
}
#endif

/// One event that fires all of them.
template <class... Ts, class... More>
[[nodiscard]] event<Ts...> distribute(event<Ts...> first, More... more) {
  ((first += std::move(more)), ...);
  return first;
}

}  // namespace heddle

namespace tamer {

using heddle::distribute;
using heddle::make_event;
#ifndef mkevent
using heddle::mkevent;
#endif
template <class... Ts, class... More>
[[nodiscard]] event<Ts...> all(event<Ts...> first, More... more) {
  return heddle::distribute(std::move(first), std::move(more)...);
}

/// rendezvous<> r(tamer::rvolatile): its events may be dropped.
using rendezvous_flags = heddle::drops;
inline constexpr rendezvous_flags rnormal = heddle::drops::reported;
inline constexpr rendezvous_flags rvolatile = heddle::drops::unreported;

}  // namespace tamer
