// SPDX-License-Identifier: MIT
// Makes a handler from a function, a member function, a closure or a task: a plain function with
// the topic's signature, and an object pointer. Each adapter has `call`, whose name is stable
// between builds, and declares the object that it needs. An adapter that only forwards also has
// `inlined`, which makes the user's function part of the caller.
#pragma once

#include <concepts>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "heddle/bus/detail/guard.hh"
#include "heddle/core/scope.hh"

namespace heddle::detail {

template <class R, class Answer>
[[nodiscard]] constexpr R answer_of(const Answer& answer) {
  static_assert(std::is_same_v<Answer, flow>,
                "a handler of a haltable topic returns nothing or heddle::flow");
  return answer;
}

/// Calls f and converts its result to the topic's result type.
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

/// As answer(), for a closure that calls the handler and is inlined into the caller.
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

template <class Signature, auto Function, binding_file File>
struct function_handler;
template <class R, class... Args, auto Function, binding_file File>
struct function_handler<topic_signature<R, Args...>, Function, File> {
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

template <class Signature, auto Member, class Object, binding_file File>
struct member_handler;
template <class R, class... Args, auto Member, class Object, binding_file File>
struct member_handler<topic_signature<R, Args...>, Member, Object, File> {
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

/// A callable object in the bus's memory; a callable without state needs no object.
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
        return call_inlined(f, static_cast<pass_t<Args>>(args)...);
      } else {
        return call_inlined(*static_cast<F*>(self), static_cast<pass_t<Args>>(args)...);
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

/// A handler that is a task: each raise spawns it with copies of the arguments.
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
    if (admits(c.f, args...)) {
      scope& tasks = c.tasks != nullptr ? *c.tasks : worker::here().sched.root();
      tasks.spawn(behind_guard(c.f), std::decay_t<Args>(args)...);
    }
    if constexpr (!std::is_void_v<R>) return flow::go_on;
  }
  static void destroy(void* self) { delete static_cast<cell*>(self); }
};

/// A function with extra arguments that were given to bind; they follow the topic's arguments.
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

/// The handler that serves co_await next<T>(); defined with next_raise.
template <class Signature, class T>
struct waiters_handler;
/// The handler that queues raises; defined with raise_queue.
template <class Signature, class T>
struct each_handler;

/// The readable name of a handler, from which its hash is made. The signature is part of the hash,
/// because one function can be a handler of topics with different arguments.
template <class Who>
struct handler_name;
template <class Signature, auto Function, binding_file File>
struct handler_name<function_handler<Signature, Function, File>> {
  static constexpr const char* text = value_name<Function, File>.text;
  static constexpr std::uint64_t hash =
      hash_of(value_name<Function, File>.view(), type_hash<Signature>);
};
template <class Signature, auto Member, class Object, binding_file File>
struct handler_name<member_handler<Signature, Member, Object, File>> {
  static constexpr const char* text = value_name<Member, File>.text;
  static constexpr std::uint64_t hash =
      hash_of(value_name<Member, File>.view(), type_hash<Signature>);
};
template <template <class, class> class Adapter, class Signature, class F>
struct handler_name<Adapter<Signature, F>> {
  static constexpr const char* text = type_name<F>.text;
  static constexpr std::uint64_t hash = hash_of(type_name<F>.view(), type_hash<Signature>);
};
template <class Signature, class F>
struct handler_name<filter_handler<Signature, F>> {
  static constexpr auto name = [] {
    fixed_text<type_name<F>.view().size() + 8> out;
    out.add(filter_mark);
    out.add(type_name<F>.view());
    return out;
  }();
  static constexpr const char* text = name.text;
  static constexpr std::uint64_t hash = hash_of(name.view(), type_hash<Signature>);
};
template <class Signature, class T>
struct handler_name<each_handler<Signature, T>> {
  static constexpr const char* text = "each";
  static constexpr std::uint64_t hash = hash_of("each", type_hash<T>);
};
template <class Signature, class T>
struct handler_name<waiters_handler<Signature, T>> {
  static constexpr const char* text = "co_await next";
  static constexpr std::uint64_t hash = hash_of("co_await next", type_hash<T>);
};

/// Arguments before and after the topic's: the object, and the arguments given to bind.
template <class... Ts>
struct around {};

/// The type that F returns if a raise of this signature calls it.
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
