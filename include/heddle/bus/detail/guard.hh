// SPDX-License-Identifier: MIT
// Guards and filters. A guard is asked before its one handler; both are one function object, so
// that merged code contains both. A filter is asked before all handlers of a topic, and has a type
// of its own, because it answers also for topics whose handlers do not.
#pragma once

#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "heddle/bus/detail/record.hh"
#include "heddle/core/scope.hh"

namespace heddle::detail {

/// A handler that runs if its guard is true for the arguments of the raise.
template <class Guard, class F>
struct guarded {
  [[no_unique_address]] Guard guard;
  [[no_unique_address]] F f;

  template <class... Args>
  decltype(auto) operator()(Args&&... args) {
    return run<false>(std::forward<Args>(args)...);
  }
  /// Whether the guard lets these arguments through; it gets values as const.
  template <class... Args>
  [[nodiscard]] bool admits(const Args&... args) {
    return static_cast<bool>(guard(args...));
  }
  /// With Inlined, the guard and the handler become part of the caller.
  template <bool Inlined, class... Args>
  decltype(auto) run(Args&&... args) {
    using answer = std::invoke_result_t<F&, Args...>;
    if constexpr (is_task<std::remove_cvref_t<answer>>) {
      return f(std::forward<Args>(args)...);  // the task's handler has asked the guard
    } else {
      bool wanted = false;
      if constexpr (Inlined) {
        HEDDLE_INLINE_CALLS wanted = static_cast<bool>(guard(static_cast<const Args&>(args)...));
      } else {
        wanted = static_cast<bool>(guard(static_cast<const Args&>(args)...));
      }
      if constexpr (std::is_same_v<answer, flow>) {
        if (!wanted) return flow::go_on;
        if constexpr (Inlined) {
          HEDDLE_INLINE_CALLS return f(std::forward<Args>(args)...);
        } else {
          return f(std::forward<Args>(args)...);
        }
      } else if (wanted) {
        if constexpr (Inlined) {
          HEDDLE_INLINE_CALLS static_cast<void>(f(std::forward<Args>(args)...));
        } else {
          static_cast<void>(f(std::forward<Args>(args)...));
        }
      }
    }
  }
};

/// Whether a guard can be asked about a raise of this signature.
template <class Guard, class Signature>
inline constexpr bool guards = false;
template <class Guard, class R, class... Args>
inline constexpr bool guards<Guard, topic_signature<R, Args...>> =
    std::is_invocable_r_v<bool, Guard&, const pass_t<Args>&...>;

template <class F>
inline constexpr bool is_guarded = false;
template <class Guard, class F>
inline constexpr bool is_guarded<guarded<Guard, F>> = true;

/// Calls f so that its body becomes part of the caller.
template <class F, class... Args>
[[gnu::always_inline]] inline decltype(auto) call_inlined(F& f, Args&&... args) {
  if constexpr (is_guarded<F>) {
    HEDDLE_INLINE_CALLS return f.template run<true>(std::forward<Args>(args)...);
  } else {
    HEDDLE_INLINE_CALLS return f(std::forward<Args>(args)...);
  }
}

/// Whether a raise with these arguments runs f, and the function that then runs.
template <class F, class... Args>
[[nodiscard]] bool admits(F& f, const Args&... args) {
  if constexpr (is_guarded<F>) return f.admits(args...);
  return true;
}
template <class F>
[[nodiscard]] auto& behind_guard(F& f) {
  if constexpr (is_guarded<F>) {
    return f.f;
  } else {
    return f;
  }
}

/// A function, or a member function of an object, as the F of `guarded`.
template <auto Function>
struct direct_function {
  template <class... Args>
  [[gnu::always_inline]] auto operator()(Args&&... args) const
      -> std::invoke_result_t<decltype(Function), Args...> {
    return Function(std::forward<Args>(args)...);
  }
};
template <auto Member, class Object>
struct direct_member {
  Object* object;
  template <class... Args>
  [[gnu::always_inline]] auto operator()(Args&&... args) const
      -> std::invoke_result_t<decltype(Member), Object&, Args...> {
    return (object->*Member)(std::forward<Args>(args)...);
  }
};

/// The name of a filter begins with this text in profiles; no plan merges a filtered topic.
inline constexpr std::string_view filter_mark = "filter ";

/// A filter in the bus's memory.
template <class Signature, class F>
struct filter_handler;
template <class R, class... Args, class F>
struct filter_handler<topic_signature<R, Args...>, F> {
  static_assert(std::is_invocable_r_v<flow, F&, pass_t<Args>...>,
                "a filter takes the topic's arguments and returns heddle::flow");
  static flow call(void* self, pass_t<Args>... args) {
    return (*static_cast<F*>(self))(static_cast<pass_t<Args>>(args)...);
  }
  static void destroy(void* self) { delete static_cast<F*>(self); }
};

}  // namespace heddle::detail
