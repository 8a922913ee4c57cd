// SPDX-License-Identifier: MIT
// What can be awaited, seen alike: an awaiter, or something with operator co_await. Adapters keep
// the awaitable, and make its awaiter where it will stay.
#pragma once

#include <concepts>
#include <coroutine>
#include <type_traits>
#include <utility>

#include "heddle/base/error.hh"

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

template <class A>
using await_value_t = decltype(std::declval<awaiter_t<A>>().await_resume());

/// An awaiter that waits by itself: it opens no context and starts no task, so whoever wants it to
/// end asks it, and needs no context around it. Its await_suspend gives bool or nothing.
template <class Awaiter>
concept waits_alone = requires(Awaiter& a, worker& w) {
  { a.ask_to_end(w) } noexcept;
};

/// The value of an awaitable as adapters give it: a result<T> counts as T with an error channel.
template <class T>
inline constexpr bool is_result = false;
template <class T>
inline constexpr bool is_result<result<T>> = true;

/// Keeps an awaitable (an lvalue by reference) and, once asked, its awaiter. A is as deduced for
/// A&&.
template <class A>
class kept_awaitable {
  static constexpr bool made = has_member_co_await<A&&>;
  using awaiter = std::remove_reference_t<awaiter_t<A&&>>;

 public:
  using value_type = await_value_t<A&&>;

  explicit kept_awaitable(A&& a) : awaitable_(static_cast<A&&>(a)) {}
  kept_awaitable(kept_awaitable&& other) noexcept(std::is_nothrow_move_constructible_v<A>)
      : awaitable_(static_cast<A&&>(other.awaitable_)) {}
  ~kept_awaitable() {
    if constexpr (made) {
      if (open_) std::destroy_at(&awaiter_);
    }
  }

  /// The awaiter; made at the first call, after which this must not move.
  [[nodiscard]] awaiter& get() {
    if constexpr (made) {
      if (!open_) {
        ::new (static_cast<void*>(&awaiter_))
            awaiter(static_cast<A&&>(awaitable_).operator co_await());
        open_ = true;
      }
      return awaiter_;
    } else {
      return awaitable_;
    }
  }

 private:
  struct nothing {};
  A awaitable_;
  union {
    nothing none_{};
    std::conditional_t<made, awaiter, nothing> awaiter_;
  };
  bool open_ = false;
};

/// The outcome of an awaiter without a throw where it can tell, else by catching what it throws.
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

/// The same for an awaiter that waits alone: whether it suspended.
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
