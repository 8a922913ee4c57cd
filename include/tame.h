/* SPDX-License-Identifier: MIT
 * The header of programs that were written for the original Tame: its names, at file scope, and the
 * part of libasync's core that they use (timers, descriptors, signals, callbacks), on Heddle's
 * runtime. libasync's strings, RPC and crypto are not here. Needs heddle::tamer, and heddle::fiber
 * for functions that wait and return values.
 *
 * One difference remains: a function that waits goes on from the loop, in the order of the
 * triggers, and never inside of a trigger.
 */
#pragma once

#include <functional>
#include <map>
#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tamer/tamer.hh"
#if __has_include("heddle/fiber/fiber.hh") && !defined(HEDDLE_TAME_WITHOUT_THREADS)
#include "heddle/fiber/fiber.hh"
#define HEDDLE_TAME_THREADS 1
#endif

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

  event* operator->() noexcept { return this; }
  const event* operator->() const noexcept { return this; }
  const event& operator*() const noexcept { return *this; }
};
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

  /// Makes the expected events empty, and drops the events that have happened.
  void cancel() { under_.clear(); }
  void clear() { under_.clear(); }
  [[nodiscard]] bool has_ready() const noexcept { return under_.has_ready(); }
  [[nodiscard]] bool has_waiting() const noexcept { return under_.has_waiting(); }
  [[nodiscard]] bool has_events() const noexcept { return under_.has_events(); }
  /// Events that are out, or have happened and were not taken.
  [[nodiscard]] bool pending() const noexcept { return under_.has_ready(); }
  [[nodiscard]] bool need_wait() const noexcept { return under_.has_events(); }
  [[nodiscard]] bool next_trigger(Ids&... ids) { return under_.join(ids...); }

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

#ifdef HEDDLE_TAME_THREADS
// Room fiber's: null where the program does not link heddle::hook.
extern "C" [[gnu::weak]] int heddle_hook_transfer;
#endif

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

 private:
  gather* gather_;
};

/// A function without arguments that was wrapped; libasync calls it by `->` and by `*`.
template <class F>
class wrapped {
 public:
  explicit wrapped(F f) : function_(std::move(f)) {}
  template <class... Args>
  decltype(auto) operator()(Args&&... args) const {
    return function_(std::forward<Args>(args)...);
  }
  template <class... Args>
  decltype(auto) trigger(Args&&... args) const {
    return function_(std::forward<Args>(args)...);
  }
  const wrapped* operator->() const noexcept { return this; }
  const wrapped& operator*() const noexcept { return *this; }

 private:
  mutable F function_;
};

#ifdef HEDDLE_TAME_THREADS
/// Waits in a function that is not tamed and runs on a fiber.
inline void wait_in_thread(gather& g) { heddle::await(g); }
template <class... Ids, class... Out>
void next_in_thread(::rendezvous<Ids...>& r, Out&... out) {
  if constexpr (sizeof...(Out) == 0) {
    static_cast<void>(heddle::await(typename heddle::rendezvous<Ids...>::awaiter(r.beneath())));
  } else if constexpr (sizeof...(Out) == 1) {
    ((out = heddle::await(typename heddle::rendezvous<Ids...>::awaiter(r.beneath()))), ...);
  } else {
    std::tie(out...) = heddle::await(typename heddle::rendezvous<Ids...>::awaiter(r.beneath()));
  }
}

/// Runs f on a fiber of its own, then triggers e.
template <class F>
heddle::task<> run_thread(F f, heddle::event<> e) {
  fiber_options options;
  options.hooks = &heddle_hook_transfer != nullptr;
  auto body = [f = std::move(f)]() mutable {
    static_cast<void>(f());
    return 0;
  };
  static_cast<void>(co_await heddle::fiber(options, body));
  e.trigger();
}
template <class F, class V>
heddle::task<> run_thread_for(F f, heddle::event<V> e) {
  fiber_options options;
  options.hooks = &heddle_hook_transfer != nullptr;
  auto body = [f = std::move(f)]() mutable { return V(f()); };
  e.trigger(co_await heddle::fiber(options, body));
}

}  // namespace heddle::tame

// tfork outside of a twait body, as section 4 of the paper defines it: f runs as a thread, and its
// end triggers an event of r, with the id i if r has ids.
template <class F>
void tfork(rendezvous<>& r, F f, std::source_location where = std::source_location::current()) {
  heddle::spawn(heddle::tame::run_thread(std::move(f), r.beneath().make_event_at(where)));
}
template <class F, class V>
void tfork(rendezvous<>& r, F f, V& v,
           std::source_location where = std::source_location::current()) {
  heddle::spawn(
      heddle::tame::run_thread_for<F, V>(std::move(f), r.beneath().make_event_at(where, v)));
}
template <class I, class F>
void tfork(rendezvous<I>& r, std::type_identity_t<I> i, F f,
           std::source_location where = std::source_location::current()) {
  heddle::spawn(heddle::tame::run_thread(std::move(f), r.beneath().make_event_at(where, i)));
}
template <class I, class F, class V>
void tfork(rendezvous<I>& r, std::type_identity_t<I> i, F f, V& v,
           std::source_location where = std::source_location::current()) {
  heddle::spawn(
      heddle::tame::run_thread_for<F, V>(std::move(f), r.beneath().make_event_at(where, i, v)));
}

namespace heddle::tame {

/// tfork of a twait body: also tfork(f) and tfork(f, result), whose end the twait waits for.
class forker {
 public:
  using here = std::source_location;
  explicit forker(gather& g) noexcept : gather_(&g) {}
  template <class F>
  void operator()(F f, here where = here::current()) const {
    heddle::spawn(run_thread(std::move(f), gather_->make_event_at(where)));
  }
  template <class F, class V>
    requires(!is_rendezvous<F>)
  void operator()(F f, V& v, here where = here::current()) const {
    heddle::spawn(run_thread_for<F, V>(std::move(f), gather_->make_event_at(where, v)));
  }
  template <class F>
  void operator()(::rendezvous<>& r, F f, here where = here::current()) const {
    ::tfork(r, std::move(f), where);
  }
  template <class F, class V>
  void operator()(::rendezvous<>& r, F f, V& v, here where = here::current()) const {
    ::tfork(r, std::move(f), v, where);
  }
  template <class I, class F>
  void operator()(::rendezvous<I>& r, std::type_identity_t<I> i, F f,
                  here where = here::current()) const {
    ::tfork(r, std::move(i), std::move(f), where);
  }
  template <class I, class F, class V>
  void operator()(::rendezvous<I>& r, std::type_identity_t<I> i, F f, V& v,
                  here where = here::current()) const {
    ::tfork(r, std::move(i), std::move(f), v, where);
  }

 private:
  gather* gather_;
};
#else
struct forker {
  explicit forker(gather&) noexcept {}
};
#endif

/// Calls f each time until it is replaced; see fdcb and sigcb.
void keep_calling_for_fd(int fd, bool writes, std::function<void()> f);
void keep_calling_for_signal(int signal, std::function<void()> f);

}  // namespace heddle::tame

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

// The loop.
inline void async_init() { tamer::initialize(); }
/// Runs until nothing is left to wait for.
inline void amain() { tamer::loop(); }

// The paper's primitive events.
inline void timer(double seconds, heddle::event<> e) { tamer::at_delay(seconds, std::move(e)); }
enum selop { selread = 0, selwrite = 1 };
inline void wait_on_fd(int fd, selop op, heddle::event<> e) {
  if (op == selread) return tamer::at_fd_read(fd, std::move(e));
  tamer::at_fd_write(fd, std::move(e));
}
inline void wait_on_signal(int signal, heddle::event<> e) {
  tamer::at_signal(signal, std::move(e));
}

// libasync's core.

/// Calls or fires `what` once after the delay: an event or a function.
template <class Callback>
void delaycb(time_t seconds, unsigned nanoseconds, Callback what) {
  const double span = static_cast<double>(seconds) + static_cast<double>(nanoseconds) * 1e-9;
  if constexpr (std::is_convertible_v<Callback, heddle::event<>>) {
    tamer::at_delay(span, std::move(what));
  } else {
    tamer::at_delay(span, heddle::function_event<>([what = std::move(what)]() mutable { what(); }));
  }
}
template <class Callback>
void delaycb(time_t seconds, Callback what) {
  ::delaycb(seconds, 0, std::move(what));
}
/// An event fires once; a function is called each time, until it is replaced or null.
template <class Callback>
void fdcb(int fd, selop op, Callback what) {
  if constexpr (std::is_convertible_v<Callback, heddle::event<>> &&
                !std::is_null_pointer_v<Callback>) {
    ::wait_on_fd(fd, op, std::move(what));
  } else {
    heddle::tame::keep_calling_for_fd(fd, op == selwrite, std::function<void()>(std::move(what)));
  }
}
template <class Callback>
void sigcb(int signal, Callback what) {
  if constexpr (std::is_convertible_v<Callback, heddle::event<>> &&
                !std::is_null_pointer_v<Callback>) {
    ::wait_on_signal(signal, std::move(what));
  } else {
    heddle::tame::keep_calling_for_signal(signal, std::function<void()>(std::move(what)));
  }
}

/// f with its first arguments, which are kept.
template <class F, class... Kept>
  requires(!std::is_member_function_pointer_v<
           std::tuple_element_t<0, std::tuple<std::decay_t<Kept>..., int>>>)
[[nodiscard]] auto wrap(F f, Kept... kept) {
  return heddle::tame::wrapped([f = std::move(f), kept = std::tuple<Kept...>(std::move(kept)...)](
                                   auto&&... rest) mutable -> decltype(auto) {
    return std::apply(
        [&](Kept&... first) -> decltype(auto) {
          return std::invoke(f, first..., std::forward<decltype(rest)>(rest)...);
        },
        kept);
  });
}
/// A member function of an object.
template <class Object, class Method, class... Kept>
  requires std::is_member_function_pointer_v<Method>
[[nodiscard]] auto wrap(Object object, Method method, Kept... kept) {
  return ::wrap(
      [object, method](auto&&... all) -> decltype(auto) {
        return std::invoke(method, object, std::forward<decltype(all)>(all)...);
      },
      std::move(kept)...);
}
