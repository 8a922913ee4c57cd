// SPDX-License-Identifier: MIT
// Closures that the library keeps. A lambda with captures is safe as a task's function if the
// lambda itself is passed to the library, and not the task that it makes: the library then keeps it
// in a frame as long as the task lives.
//
//   s.spawn([&, i]() -> task<> { ... });       // kept: safe
//   s.spawn([&, i]() -> task<> { ... }());     // the closure dies here, before its task has run
//
// GCC up to 12 destroys members of some temporaries of a co_await expression twice (its bug
// 101367): the captures of a lambda, and the members of an aggregate, where they have destructors.
// Temporaries that a function or a constructor makes are safe. A called function cannot see whether
// a co_await is around it. So every function that gives an awaitable refuses such an argument
// unless it has a name, with check_closures() and check_options().
// tests/compilers/gcc12_arguments.toml lists these functions.
#pragma once

#include <string_view>
#include <type_traits>

namespace heddle::detail {

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ <= 12
template <class T>
[[nodiscard]] consteval bool is_closure() noexcept {
  // A lambda that captures is not assignable, and neither is what std::bind_front() makes of it:
  // the lambda itself is a temporary then.
  return std::is_class_v<T> && !std::is_aggregate_v<T> && !std::is_assignable_v<T&, T> &&
         std::string_view(__PRETTY_FUNCTION__).find("<lambda(") != std::string_view::npos;
}

/// A temporary closure that GCC 12 would destroy twice, as F of F&&.
template <class F>
concept closure_ends_twice =
    !std::is_reference_v<F> && !std::is_trivially_destructible_v<F> && is_closure<F>();
/// As closure_ends_twice, for an aggregate.
template <class A>
concept aggregate_ends_twice =
    !std::is_reference_v<A> && !std::is_trivially_destructible_v<A> && std::is_aggregate_v<A>;

/// Refuses closures that GCC 12 destroys twice, for parameters that are deduced as F&&.
template <class... Fs>
constexpr void check_closures() noexcept {
  static_assert(
      !(closure_ends_twice<Fs> || ...),
      "GCC 12 would destroy these captures twice: name the lambda first and pass its name "
      "(auto f = [...] ...; co_await with_scope(f)), or capture by reference");
}
/// As check_closures(), for the library's own aggregates. The program's aggregates are not checked,
/// because the program may pass std::move(name).
template <class Options>
constexpr void check_options() noexcept {
  static_assert(
      !aggregate_ends_twice<Options>,
      "GCC 12 would destroy the members of this aggregate twice: name it first and pass its name "
      "(const server_options o{...}; co_await serve(door, answer, o))");
}
/// As check_options(), for an awaitable that is itself a temporary aggregate.
template <class A>
constexpr void check_temporary_awaitable() noexcept {
  static_assert(!aggregate_ends_twice<A>,
                "GCC 12 would destroy the members of this awaitable twice, because it is an "
                "aggregate: give its class a constructor");
}
#else
template <class>
concept closure_ends_twice = false;
template <class>
concept aggregate_ends_twice = false;
template <class...>
constexpr void check_closures() noexcept {}
template <class>
constexpr void check_options() noexcept {}
template <class>
constexpr void check_temporary_awaitable() noexcept {}
#endif

}  // namespace heddle::detail
