// SPDX-License-Identifier: MIT
// as_expected(op): the outcome as std::expected<T, std::error_code>, without a throw on the
// library's own operations. Exceptions that are no std::system_error still travel.
//
//   result<std::size_t> n = co_await as_expected(conn.read(buf));
#pragma once

#include "heddle/core/awaitable.hh"
#include "heddle/core/detail/choice.hh"
#include "heddle/core/promise.hh"

namespace heddle {

template <class A>
class [[nodiscard("co_await it")]] expected_awaiter {
 public:
  using value_type = detail::kept_t<detail::await_value_t<A&&>>;

  explicit expected_awaiter(A&& a) : inner_(static_cast<A&&>(a)) {}

  /// The inner awaiter commits a branch of the choice before it takes a value or a lock.
  template <class Inner = A>
    requires detail::joins_choice<std::remove_reference_t<detail::awaiter_t<Inner&&>>>
  void join_choice(choice& c, std::size_t branch) {
    inner_.get().join_choice(c, branch);
  }

  template <class Inner = A>
    requires detail::waits_alone<std::remove_reference_t<detail::awaiter_t<Inner&&>>>
  void ask_to_end(worker& w) noexcept {
    inner_.get().ask_to_end(w);
  }

  [[nodiscard]] bool await_ready() { return inner_.get().await_ready(); }
  template <frame_promise P>
  [[nodiscard]] auto await_suspend(std::coroutine_handle<P> h) {
    return inner_.get().await_suspend(h);
  }
  [[nodiscard]] result<value_type> await_resume() {
    return detail::result_of<value_type>(inner_.get());
  }

 private:
  detail::own_awaiter<A> inner_;
};

/// The result of as_expected(): the awaitable, an lvalue by reference.
template <class A>
class [[nodiscard("co_await it")]] expected_of {
 public:
  explicit expected_of(A&& a) : awaitable_(static_cast<A&&>(a)) {}
  [[nodiscard]] expected_awaiter<A> operator co_await() {
    return expected_awaiter<A>(static_cast<A&&>(awaitable_));
  }

 private:
  A awaitable_;
};

template <class A>
[[nodiscard("co_await it")]] auto as_expected(A&& awaitable) {
  detail::check_awaitable<A>();
  if constexpr (detail::awaitable<A>) return expected_of<A>(std::forward<A>(awaitable));
}

}  // namespace heddle
