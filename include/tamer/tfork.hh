// SPDX-License-Identifier: MIT
// Threads of the original Tame, on fibers: a function that waits and is not tamed, and tfork, which
// starts one (Krohn and others, 2007, section 4). Where room fiber is not installed, this header
// has no tfork. <tame.h> includes it.
#pragma once

#include <concepts>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tamer/original.hh"
#if __has_include("heddle/fiber/fiber.hh") && !defined(HEDDLE_TAME_WITHOUT_THREADS)
#include "heddle/fiber/fiber.hh"
#define HEDDLE_TAME_THREADS 1
#endif

#ifdef HEDDLE_TAME_THREADS

// Room fiber's: null where the program does not link heddle::hook.
extern "C" [[gnu::weak]] int heddle_hook_transfer;

namespace heddle::tame {

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

/// Whether a thread can begin with a call of this: the paper's threadfunc.
template <class F>
concept thread_function = std::invocable<std::decay_t<F>&>;
/// Whether these are a thread's function and the slot of its result, in either order: the paper
/// writes the function first, libasync's programs the slot. If both can be called, the first is the
/// function.
template <class A, class B>
concept function_and_slot =
    (thread_function<A> && std::is_lvalue_reference_v<B>) ||
    (!thread_function<A> && thread_function<B> && std::is_lvalue_reference_v<A>);

/// Starts the thread; make(slot) makes the event that its end triggers.
template <class A, class B, class Make>
void fork_with_slot(A&& a, B&& b, Make make) {
  if constexpr (thread_function<A>) {
    heddle::spawn(
        run_thread_for<std::decay_t<A>, std::remove_reference_t<B>>(std::forward<A>(a), make(b)));
  } else {
    heddle::spawn(
        run_thread_for<std::decay_t<B>, std::remove_reference_t<A>>(std::forward<B>(b), make(a)));
  }
}

}  // namespace heddle::tame

template <class... Ids>
void rendezvous<Ids...>::wait(Ids&... ids) {
  heddle::tame::next_in_thread(*this, ids...);
}

// tfork, anywhere: f runs as a thread, and its end triggers an event of r, with the id i if r has
// ids. The forms are (r, i, f, v), (r, i, f), (r, f, v) and (r, f); v may stand before f.
template <heddle::tame::thread_function F>
void tfork(rendezvous<>& r, F f, std::source_location where = std::source_location::current()) {
  heddle::spawn(heddle::tame::run_thread(std::move(f), r.beneath().make_event_at(where)));
}
template <class A, class B>
  requires heddle::tame::function_and_slot<A, B>
void tfork(rendezvous<>& r, A&& a, B&& b,
           std::source_location where = std::source_location::current()) {
  heddle::tame::fork_with_slot(std::forward<A>(a), std::forward<B>(b),
                               [&](auto& slot) { return r.beneath().make_event_at(where, slot); });
}
template <class I, heddle::tame::thread_function F>
void tfork(rendezvous<I>& r, std::type_identity_t<I> i, F f,
           std::source_location where = std::source_location::current()) {
  heddle::spawn(
      heddle::tame::run_thread(std::move(f), r.beneath().make_event_at(where, std::move(i))));
}
template <class I, class A, class B>
  requires heddle::tame::function_and_slot<A, B>
void tfork(rendezvous<I>& r, std::type_identity_t<I> i, A&& a, B&& b,
           std::source_location where = std::source_location::current()) {
  heddle::tame::fork_with_slot(std::forward<A>(a), std::forward<B>(b), [&](auto& slot) {
    return r.beneath().make_event_at(where, std::move(i), slot);
  });
}

namespace heddle::tame {

/// tfork of a twait body: also tfork(f) and tfork(f, v) or tfork(v, f), whose end the twait waits
/// for.
class forker {
 public:
  using here = std::source_location;
  explicit forker(gather& g) noexcept : gather_(&g) {}

  template <thread_function F>
  void operator()(F f, here where = here::current()) const {
    heddle::spawn(run_thread(std::move(f), gather_->make_event_at(where)));
  }
  template <class A, class B>
    requires(function_and_slot<A, B> && !is_rendezvous<std::remove_cvref_t<A>>)
  void operator()(A&& a, B&& b, here where = here::current()) const {
    fork_with_slot(std::forward<A>(a), std::forward<B>(b),
                   [&](auto& slot) { return gather_->make_event_at(where, slot); });
  }
  template <thread_function F>
  void operator()(::rendezvous<>& r, F f, here where = here::current()) const {
    ::tfork(r, std::move(f), where);
  }
  template <class A, class B>
    requires function_and_slot<A, B>
  void operator()(::rendezvous<>& r, A&& a, B&& b, here where = here::current()) const {
    ::tfork(r, std::forward<A>(a), std::forward<B>(b), where);
  }
  template <class I, thread_function F>
  void operator()(::rendezvous<I>& r, std::type_identity_t<I> i, F f,
                  here where = here::current()) const {
    ::tfork(r, std::move(i), std::move(f), where);
  }
  template <class I, class A, class B>
    requires function_and_slot<A, B>
  void operator()(::rendezvous<I>& r, std::type_identity_t<I> i, A&& a, B&& b,
                  here where = here::current()) const {
    ::tfork(r, std::move(i), std::forward<A>(a), std::forward<B>(b), where);
  }

 private:
  gather* gather_;
};

}  // namespace heddle::tame

#else

namespace heddle::tame {
struct forker {
  explicit forker(gather&) noexcept {}
};
}  // namespace heddle::tame

#endif
