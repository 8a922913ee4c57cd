// SPDX-License-Identifier: MIT
// select: waits for the first of several branches and runs its handler. A branch is an awaitable
// and what to do with its value; handlers are functions or tasks, and select() gives their value.
//
//   co_await select(on(jobs.pop(), [&](job j) -> task<> { co_await work(j); }),
//                   on(stop.wait(), [&] { running = false; }),
//                   on(sleep_for(1s), [&] { std::puts("idle"); }));
//   reply r = co_await select_ok(ask(first), ask(second));   // the first that does not fail
//
// The choice is that of any(): one branch commits, the others are cancelled and have ended before
// the handler starts, and a branch that loses takes nothing from a lock or channel.
#pragma once

#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/core/branch.hh"

namespace heddle {

namespace detail {

template <class X>
inline constexpr bool fits_branch = is_branch<std::remove_cvref_t<X>> || awaitable<X>;
template <class X>
constexpr void check_branch() noexcept {
  if constexpr (!is_branch<std::remove_cvref_t<X>>) check_awaitable<X>();
}
template <class X>
[[nodiscard]] auto to_branch(X&& x) {
  if constexpr (is_branch<std::remove_cvref_t<X>>) {
    return std::remove_cvref_t<X>(std::forward<X>(x));
  } else {
    return branch<X, give_value>(std::forward<X>(x), {}, {}, {}, 0);
  }
}
template <class X>
using branch_of = decltype(to_branch(std::declval<X>()));

/// The value of a branch, as it is kept until its handler runs.
template <class B>
using branch_outcome = outcome_t<typename B::awaitable_type>;

/// Calls the handler of a branch with the branch's value.
template <class B>
decltype(auto) call_handler(B& b, [[maybe_unused]] branch_outcome<B>& value) {
  if constexpr (B::form == handed::nothing) {
    return std::invoke(b.handler);
  } else if constexpr (std::is_lvalue_reference_v<typename B::value_type>) {
    return std::invoke(b.handler, value.get());
  } else if constexpr (B::form == handed::inside && B::has_otherwise) {
    return std::invoke(b.handler, std::move(*value));
  } else {
    return std::invoke(b.handler, std::move(value));
  }
}

template <class B>
struct branch_value : handler_value<decltype(call_handler(std::declval<B&>(),
                                                          std::declval<branch_outcome<B>&>()))> {};

/// The type of select()'s value.
template <class... Vs>
struct select_value {
  static_assert(
      requires { typename std::common_type_t<Vs...>; },
      "the handlers in select() give values of types that have nothing in common: let "
      "each end with -> the same type, or -> task<> of it");
  using type = std::common_type_t<Vs...>;
};
template <class... Vs>
  requires(std::is_void_v<Vs> && ...)
struct select_value<Vs...> {
  using type = void;
};
template <class... Bs>
using select_value_t = typename select_value<typename branch_value<Bs>::type...>::type;

/// The result of calling a handler: a value, or a task that will give it.
template <class R>
struct chosen {
  std::optional<stored_t<R>> value;
  task<R> rest;
};

template <class R, class A>
task<R> finish_handler(A awaitable) {
  co_return co_await static_cast<A&&>(awaitable);
}

/// `call` calls a handler.
template <class R, class Call>
void begin_handler(chosen<R>& c, Call call) {
  using result_type = decltype(call());
  if constexpr (std::is_same_v<result_type, task<R>>) {
    c.rest = call();
  } else if constexpr (awaitable<result_type>) {
    c.rest = finish_handler<R, result_type>(call());
  } else if constexpr (std::is_void_v<R>) {
    call();
  } else {
    c.value.emplace(call());
  }
}

template <class R, class B>
void begin_handler(chosen<R>& c, B& b, branch_outcome<B>& value) {
  if constexpr (B::has_otherwise) {
    if (!value) return begin_handler(c, [&]() -> decltype(auto) { return b.otherwise(); });
  }
  begin_handler(c, [&]() -> decltype(auto) { return call_handler(b, value); });
}

template <class B>
void call_late(B& b, std::optional<branch_outcome<B>>& value) {
  if constexpr (B::has_late) {
    if (!value) return;
    if constexpr (std::is_void_v<typename B::value_type>) {
      b.late_handler();
    } else {
      b.late_handler(std::move(*value));
    }
  }
}

template <class... Bs>
void spawn_selected(scope& s, race& r, std::tuple<std::optional<branch_outcome<Bs>>...>& out,
                    Bs&... branches) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((branches.taken ? s.spawn(run_branch<typename Bs::awaitable_type>(
                           std::move(branches.awaitable), std::get<I>(out), r, I))
                     : void()),
     ...);
  }(std::index_sequence_for<Bs...>());
}

template <class R, class... Bs>
void begin_chosen(chosen<R>& c, const race& r,
                  std::tuple<std::optional<branch_outcome<Bs>>...>& out, Bs&... branches) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((I == r.index ? void() : call_late(branches, std::get<I>(out))), ...);
    ((I == r.index ? begin_handler(c, branches, *std::get<I>(out)) : void()), ...);
  }(std::index_sequence_for<Bs...>());
}

template <choice::by By, class... Bs>
task<select_value_t<Bs...>> run_select(Bs... branches) {
  using value = select_value_t<Bs...>;
  std::tuple<std::optional<branch_outcome<Bs>>...> out;
  race r(By);
  {
    scope s;
    r.branches = &s;
    HEDDLE_ASSERT((branches.taken || ...),
                  "select() would wait for ever: each branch is left out by when()");
    spawn_selected<Bs...>(s, r, out, branches...);
    co_await s.settled();
  }
  r.require_result();
  chosen<value> c;
  begin_chosen<value, Bs...>(c, r, out, branches...);
  if constexpr (std::is_void_v<value>) {
    if (c.rest) co_await std::move(c.rest);
    r.rethrow_beside_result();
  } else {
    if (c.rest) c.value.emplace(co_await std::move(c.rest));
    r.rethrow_beside_result();
    co_return std::move(*c.value);
  }
}

template <class T>
task<T> select_ok_of(std::vector<task<T>> tasks) {
  std::vector<std::optional<stored_t<T>>> out(tasks.size());
  race r(choice::by::success);
  {
    scope s;
    r.branches = &s;
    for (std::size_t i = 0; i < tasks.size(); ++i)
      s.spawn(run_branch<task<T>>(std::move(tasks[i]), out[i], r, i));
    co_await s.settled();
  }
  r.require_result();
  if constexpr (!std::is_void_v<T>) co_return std::move(*out[r.index]);
}

}  // namespace detail

/// Waits for the first branch to finish, cancels the others and waits for them to end, then runs
/// the handler of the first; gives the common type of the handlers' values. An awaitable without
/// on() is a branch that gives its value.
///
/// Cancel: with the context around it; a branch that has its result still gets its handler called.
/// Fails: with the exception of the first branch or of its handler. If a branch failed first and
///   another one had its result by then, the other's handler runs before select() throws.
template <class... Branches>
[[nodiscard("co_await it")]] auto select(Branches&&... branches) {
  (detail::check_branch<Branches>(), ...);
  if constexpr ((detail::fits_branch<Branches> && ...))
    return detail::run_select<choice::by::any_end, detail::branch_of<Branches>...>(
        detail::to_branch(std::forward<Branches>(branches))...);
}

/// As select(), for the first branch that succeeds: a branch that fails is set aside, as is a
/// closed channel whose handler takes a value. If all branches fail, it throws the last failure.
template <class... Branches>
[[nodiscard("co_await it")]] auto select_ok(Branches&&... branches) {
  (detail::check_branch<Branches>(), ...);
  if constexpr ((detail::fits_branch<Branches> && ...))
    return detail::run_select<choice::by::success, detail::branch_of<Branches>...>(
        detail::to_branch(std::forward<Branches>(branches))...);
}
/// Waits for the first task of a vector that succeeds. The vector must not be empty.
template <class T>
[[nodiscard]] task<T> select_ok(std::vector<task<T>> tasks) {
  HEDDLE_ASSERT(!tasks.empty(), "select_ok() needs at least one task to wait for");
  return detail::select_ok_of(std::move(tasks));
}

}  // namespace heddle
