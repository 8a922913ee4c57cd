// SPDX-License-Identifier: MIT
// How a function, a member function, a closure or a task becomes a handler: a plain function of the
// topic's signature and an object pointer. Each adapter has `call`, a name that is stable between
// builds, and says what object it needs. Those that only pass a call on have `inlined` too: the
// user's function becomes part of the caller.
#pragma once

#include <concepts>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "heddle/bus/record.hh"
#include "heddle/core/scope.hh"

namespace heddle::detail {

template <class T>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<task<T>> = true;

template <class R, class Answer>
[[nodiscard]] constexpr R answer_of(const Answer& answer) {
  static_assert(std::is_same_v<Answer, flow>,
                "a handler of a haltable topic returns nothing or heddle::flow");
  return answer;
}

/// Calls f, and answers what the topic wants.
template <class R, class F, class... Args>
R answer(F&& f, Args&&... args) {
  using result = std::invoke_result_t<F, Args...>;
  if constexpr (std::is_void_v<R>) {
    static_cast<void>(std::invoke(std::forward<F>(f), std::forward<Args>(args)...));
  } else if constexpr (std::is_void_v<result>) {
    std::invoke(std::forward<F>(f), std::forward<Args>(args)...);
    return flow::go_on;
  } else {
    return answer_of<R>(std::invoke(std::forward<F>(f), std::forward<Args>(args)...));
  }
}

/// The same for a call that f makes and that is to become part of the caller.
template <class R, class F>
[[gnu::always_inline]] inline R answer_inlined(const F& f) {
  if constexpr (std::is_void_v<R>) {
    static_cast<void>(f());
  } else if constexpr (std::is_void_v<decltype(f())>) {
    f();
    return flow::go_on;
  } else {
    return answer_of<R>(f());
  }
}

template <class Signature, auto Function>
struct function_handler;
template <class R, class... Args, auto Function>
struct function_handler<topic_signature<R, Args...>, Function> {
  using call_type = R (*)(void*, pass_t<Args>...);
  static R call(void*, pass_t<Args>... args) {
    return answer<R>(Function, static_cast<pass_t<Args>>(args)...);
  }
  [[gnu::always_inline]] static R inlined(void*, pass_t<Args>... args) {
    return answer_inlined<R>([&]() __attribute__((always_inline)) -> decltype(auto) {
      HEDDLE_INLINE_CALLS return Function(static_cast<pass_t<Args>>(args)...);
    });
  }
};

template <class Signature, auto Member, class Object>
struct member_handler;
template <class R, class... Args, auto Member, class Object>
struct member_handler<topic_signature<R, Args...>, Member, Object> {
  using call_type = R (*)(void*, pass_t<Args>...);
  static R call(void* self, pass_t<Args>... args) {
    return answer<R>(Member, *static_cast<Object*>(self), static_cast<pass_t<Args>>(args)...);
  }
  [[gnu::always_inline]] static R inlined(void* self, pass_t<Args>... args) {
    return answer_inlined<R>([&]() __attribute__((always_inline)) -> decltype(auto) {
      HEDDLE_INLINE_CALLS return (static_cast<Object*>(self)->*Member)(
          static_cast<pass_t<Args>>(args)...);
    });
  }
};

/// A callable object in the bus's memory, or none at all where it has no state.
template <class Signature, class F>
struct callable_handler;
template <class R, class... Args, class F>
struct callable_handler<topic_signature<R, Args...>, F> {
  using call_type = R (*)(void*, pass_t<Args>...);
  static constexpr bool stateless = std::is_empty_v<F> && std::default_initializable<F>;
  static R call(void* self, pass_t<Args>... args) {
    if constexpr (stateless) {
      F f;
      return answer<R>(f, static_cast<pass_t<Args>>(args)...);
    } else {
      return answer<R>(*static_cast<F*>(self), static_cast<pass_t<Args>>(args)...);
    }
  }
  [[gnu::always_inline]] static R inlined(void* self, pass_t<Args>... args) {
    return answer_inlined<R>([&]() __attribute__((always_inline)) -> decltype(auto) {
      if constexpr (stateless) {
        F f;
        HEDDLE_INLINE_CALLS return f(static_cast<pass_t<Args>>(args)...);
      } else {
        HEDDLE_INLINE_CALLS return (*static_cast<F*>(self))(static_cast<pass_t<Args>>(args)...);
      }
    });
  }
  [[nodiscard]] static void* keep(F&& f) {
    if constexpr (stateless) {
      return nullptr;
    } else {
      return new F(std::move(f));
    }
  }
  static void destroy(void* self) { delete static_cast<F*>(self); }
};

/// A handler that is a task: each raise spawns one, with copies of the arguments.
template <class F>
struct task_maker {
  F f;
  scope* tasks;
};
template <class Signature, class F>
struct task_handler;
template <class R, class... Args, class F>
struct task_handler<topic_signature<R, Args...>, F> {
  using call_type = R (*)(void*, pass_t<Args>...);
  using cell = task_maker<F>;
  static R call(void* self, pass_t<Args>... args) {
    cell& c = *static_cast<cell*>(self);
    scope& tasks = c.tasks != nullptr ? *c.tasks : worker::here().sched.root();
    tasks.spawn(c.f, std::decay_t<Args>(args)...);
    if constexpr (!std::is_void_v<R>) return flow::go_on;
  }
  static void destroy(void* self) { delete static_cast<cell*>(self); }
};

/// A function with arguments that were given when it was bound; they come behind the topic's.
template <auto Function, class... Bound>
struct bound_function {
  std::tuple<Bound...> bound;
  template <class... Args>
  decltype(auto) operator()(Args&&... args) {
    return std::apply(
        [&](Bound&... b) -> decltype(auto) {
          return std::invoke(Function, std::forward<Args>(args)..., b...);
        },
        bound);
  }
};
template <auto Member, class Object, class... Bound>
struct bound_member {
  Object* object;
  std::tuple<Bound...> bound;
  template <class... Args>
  decltype(auto) operator()(Args&&... args) {
    return std::apply(
        [&](Bound&... b) -> decltype(auto) {
          return std::invoke(Member, *object, std::forward<Args>(args)..., b...);
        },
        bound);
  }
};
template <class F, class... Bound>
struct bound_callable {
  F f;
  std::tuple<Bound...> bound;
  template <class... Args>
  decltype(auto) operator()(Args&&... args) {
    return std::apply(
        [&](Bound&... b) -> decltype(auto) {
          return std::invoke(f, std::forward<Args>(args)..., b...);
        },
        bound);
  }
};

/// Serves co_await next<T>(); defined with next_raise.
template <class Signature, class T>
struct waiters_handler;

/// The name of a handler for people, and what its hash is made of. The signature is part of the
/// hash: one function can be a handler of topics with different arguments.
template <class Who>
struct handler_name;
template <class Signature, auto Function>
struct handler_name<function_handler<Signature, Function>> {
  static constexpr const char* text = value_name<Function>.text;
  static constexpr std::uint64_t hash = hash_of(value_name<Function>.view(), type_hash<Signature>);
};
template <class Signature, auto Member, class Object>
struct handler_name<member_handler<Signature, Member, Object>> {
  static constexpr const char* text = value_name<Member>.text;
  static constexpr std::uint64_t hash = hash_of(value_name<Member>.view(), type_hash<Signature>);
};
template <template <class, class> class Adapter, class Signature, class F>
struct handler_name<Adapter<Signature, F>> {
  static constexpr const char* text = type_name<F>.text;
  static constexpr std::uint64_t hash = hash_of(type_name<F>.view(), type_hash<Signature>);
};
template <class Signature, class T>
struct handler_name<waiters_handler<Signature, T>> {
  static constexpr const char* text = "co_await next";
  static constexpr std::uint64_t hash = hash_of("co_await next", type_hash<T>);
};

/// Arguments that stand before and behind the topic's: the object, and what was given to bind.
template <class... Ts>
struct around {};

/// What F answers when a raise of this signature calls it.
template <class Signature, class F, class Before = around<>, class Behind = around<>>
struct answer_type;
template <class R, class... Args, class F, class... Before, class... Behind>
struct answer_type<topic_signature<R, Args...>, F, around<Before...>, around<Behind...>> {
  static_assert(std::invocable<F, Before..., pass_t<Args>..., Behind...>,
                "the handler cannot be called with this topic's arguments (and those given to "
                "bind, behind them)");
  using type = std::invoke_result_t<F, Before..., pass_t<Args>..., Behind...>;
};

}  // namespace heddle::detail
