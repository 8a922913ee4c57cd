// SPDX-License-Identifier: MIT
// Closures that the library keeps: a lambda with captures is safe as the function of a task
// wherever it is handed over itself, not the task that it makes, because it then lives in a frame
// as long as the task does.
//
//   s.spawn([&, i]() -> task<> { ... });       // kept: safe
//   s.spawn([&, i]() -> task<> { ... }());     // the closure dies here, before its task has run
#pragma once

#include <type_traits>

namespace heddle::detail {

/// GCC up to 12 destroys a temporary closure inside a co_await expression twice (its bug 101367),
/// which matters where captures have destructors. This function cannot see whether a co_await is
/// around, so a temporary is refused.
template <class F>
constexpr void check_closure() noexcept {
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ <= 12
  static_assert(
      std::is_lvalue_reference_v<F> || std::is_trivially_destructible_v<std::remove_cvref_t<F>>,
      "GCC 12 would destroy these captures twice: name the lambda first and pass its "
      "name (auto f = [...] ...; co_await with_scope(f)), or capture by reference");
#endif
}

}  // namespace heddle::detail
