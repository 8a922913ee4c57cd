// SPDX-License-Identifier: MIT
// Awaitables, and how adapters treat them alike. An awaitable is an awaiter, or a description with
// an operator co_await that makes one. Adapters and operations are descriptions: cheap to move,
// however deep they are nested. co_await makes the awaiter once, in the frame of the function.
#pragma once

#include <concepts>
#include <coroutine>
#include <functional>
#include <type_traits>
#include <utility>

#include "heddle/base/error.hh"
#include "heddle/core/detail/closure.hh"

namespace heddle {
class worker;
}

namespace heddle::detail {

template <class A>
concept has_member_co_await = requires(A&& a) { static_cast<A&&>(a).operator co_await(); };

template <class A>
struct awaiter_type {
  using type = std::remove_reference_t<A>&;
};
template <has_member_co_await A>
struct awaiter_type<A> {
  using type = decltype(std::declval<A>().operator co_await());
};
template <class A>
using awaiter_t = typename awaiter_type<A>::type;

/// An awaitable: it makes an awaiter, or is one.
template <class A>
concept awaitable = has_member_co_await<A&&> || requires(std::remove_reference_t<A>& a) {
  a.await_ready();
  a.await_resume();
} || requires(A&& a) { operator co_await(static_cast<A&&>(a)); };

template <class... Ts>
inline constexpr bool misused = false;  ///< for static_assert in templates

/// Refuses a type that cannot be awaited, with an error of one sentence.
template <class A>
constexpr void check_awaitable() noexcept {
  if constexpr (!awaitable<A>) {
    if constexpr (has_member_co_await<std::remove_reference_t<A>>) {
      static_assert(misused<A>,
                    "awaiting uses a task up: write std::move(t), or make the task here");
    } else if constexpr (std::invocable<A>) {
      static_assert(misused<A>,
                    "this is a function, not a call of it: write f(), or give a lambda that "
                    "captures to scope::spawn(), with_scope() or start(), which keep it");
    } else {
      static_assert(misused<A>,
                    "this cannot be awaited: call a function that returns task<>, or an operation; "
                    "a plain value needs no co_await");
    }
  } else {
    check_temporary_awaitable<A>();
  }
}

/// Replaces a value that cannot be awaited, so that the compiler reports no further errors.
struct unusable_awaiter {
  [[nodiscard]] static bool await_ready() noexcept { return true; }
  static void await_suspend(std::coroutine_handle<>) noexcept {}
  static void await_resume() noexcept {}
};

template <class A>
using await_value_t = decltype(std::declval<awaiter_t<A>>().await_resume());

/// A result as adapters keep it: a reference as std::reference_wrapper.
template <class T>
using kept_t =
    std::conditional_t<std::is_lvalue_reference_v<T>,
                       std::reference_wrapper<std::remove_reference_t<T>>, std::remove_cvref_t<T>>;

/// An awaiter that waits by itself: it opens no context and starts no task. An adapter can ask it
/// to end, and needs no context around it. Its await_suspend gives bool or nothing.
template <class Awaiter>
concept waits_alone = requires(Awaiter& a, worker& w) {
  { a.ask_to_end(w) } noexcept;
};

/// The value of an awaitable as adapters give it: a result<T> counts as T with an error channel.
template <class T>
inline constexpr bool is_result = false;
template <class T>
inline constexpr bool is_result<result<T>> = true;

/// Holds the awaiter of an awaitable and makes it in place. An awaitable that is an awaiter itself
/// is held; an lvalue is held by reference. A is as deduced for A&&.
template <class A>
class own_awaiter {
  static constexpr bool made = has_member_co_await<A&&>;
  using held = typename std::conditional_t<made, awaiter_type<A&&>, std::type_identity<A>>::type;

 public:
  explicit own_awaiter(A&& a) : awaiter_(of(static_cast<A&&>(a))) {}
  own_awaiter(const own_awaiter&) = delete;

  [[nodiscard]] std::remove_reference_t<held>& get() noexcept { return awaiter_; }

 private:
  static held of(A&& a) {
    if constexpr (made) {
      return static_cast<A&&>(a).operator co_await();
    } else {
      return static_cast<A&&>(a);
    }
  }
  held awaiter_;
};

/// The outcome of an awaiter. If it has await_result(), nothing is thrown; else its exception is
/// caught.
template <class T, class Awaiter>
[[nodiscard]] result<T> result_of(Awaiter& a) {
  if constexpr (requires {
                  { a.await_result() } -> std::convertible_to<result<T>>;
                }) {
    return a.await_result();
  } else {
    try {
      if constexpr (std::is_void_v<T>) {
        a.await_resume();
        return {};
      } else {
        return a.await_resume();
      }
    } catch (const std::system_error& e) {
      return std::unexpected(e.code());
    }
  }
}

/// Suspends through an inner awaiter whatever its await_suspend returns.
template <class Awaiter, class P>
[[nodiscard]] std::coroutine_handle<> suspend_with(Awaiter& a, std::coroutine_handle<P> h) {
  using outcome = decltype(a.await_suspend(h));
  if constexpr (std::is_void_v<outcome>) {
    a.await_suspend(h);
    return std::noop_coroutine();
  } else if constexpr (std::is_same_v<outcome, bool>) {
    if (a.await_suspend(h)) return std::noop_coroutine();
    return h;
  } else {
    return a.await_suspend(h);
  }
}

/// As suspend_with(), for an awaiter that waits alone. Tells whether the function is suspended.
template <waits_alone Awaiter, class P>
[[nodiscard]] bool suspended_by(Awaiter& a, std::coroutine_handle<P> h) {
  if constexpr (std::is_void_v<decltype(a.await_suspend(h))>) {
    a.await_suspend(h);
    return true;
  } else {
    return a.await_suspend(h);
  }
}

}  // namespace heddle::detail
