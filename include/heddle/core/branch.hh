// SPDX-License-Identifier: MIT
// on(awaitable, handler): one branch of select(). The handler gets the value of the awaitable if
// this branch comes first.
//
//   on(jobs.pop(), [&](job j) -> task<> { co_await work(j); }, [&] { open = false; })
//   on(conn.read_some(room), [&](std::size_t n) { use(n); }).late([&](std::size_t n) { use(n); })
//   on(sleep_for(1s), [&] { std::puts("idle"); }).when(talkative)
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>

#include "heddle/core/combine.hh"
#include "heddle/core/detail/closure.hh"

namespace heddle {

namespace detail {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

/// The handler of a branch without one: the branch's value is select()'s.
struct give_value {
  void operator()() const noexcept {}
  template <class T>
  std::remove_cvref_t<T> operator()(T&& value) const {
    return std::forward<T>(value);
  }
};
struct no_handler {};

/// The form in which a handler gets the value of its branch.
enum class handed : std::uint8_t { value, inside, nothing, misfit };

template <class F, class T>
[[nodiscard]] consteval handed handed_to() {
  if constexpr (std::is_void_v<T>) {
    return std::invocable<F&> ? handed::nothing : handed::misfit;
  } else if constexpr (std::invocable<F&, T>) {
    return handed::value;
  } else if constexpr (is_optional<std::remove_cvref_t<T>>) {
    if constexpr (std::invocable<F&, typename std::remove_cvref_t<T>::value_type>)
      return handed::inside;
    else
      return std::invocable<F&> ? handed::nothing : handed::misfit;
  } else {
    return std::invocable<F&> ? handed::nothing : handed::misfit;
  }
}

/// A branch's awaitable, with its line. If the handler takes the value of an optional and the
/// optional is empty, the branch fails with broken_pipe.
template <class A, bool Inside>
class selected;

/// The type of a handler's value; `waits` when the handler is a task.
template <class Result>
struct handler_value {
  using type = std::remove_cvref_t<Result>;
  static constexpr bool waits = false;
};
template <class Result>
  requires awaitable<Result>
struct handler_value<Result> {
  using type = std::remove_cvref_t<await_value_t<Result>>;
  static constexpr bool waits = true;
};

}  // namespace detail

/// One branch of select(): see on().
template <class A, class F, class Otherwise = detail::no_handler, class Late = detail::no_handler>
class [[nodiscard("give it to select()")]] branch {
 public:
  using value_type = detail::await_value_t<A&&>;
  static constexpr detail::handed form = detail::handed_to<F, value_type>();
  static constexpr bool has_otherwise = !std::is_same_v<Otherwise, detail::no_handler>;
  static constexpr bool has_late = !std::is_same_v<Late, detail::no_handler>;
  static_assert(form != detail::handed::misfit,
                "the handler in on() does not take the value of what is awaited: give it a "
                "parameter of that type, or none");
  static_assert(!has_otherwise || form == detail::handed::inside,
                "the third argument of on() is for pop() and what else gives a std::optional: "
                "let the second one take the value inside");
  using awaitable_type = detail::selected<A, form == detail::handed::inside && !has_otherwise>;

  branch(A&& a, F f, Otherwise otherwise, Late late, site where, bool taken = true)
      : awaitable(static_cast<A&&>(a), where),
        handler(std::move(f)),
        otherwise(std::move(otherwise)),
        late_handler(std::move(late)),
        taken(taken) {}

  /// Leaves the branch out if the condition is false: a channel that is known to be closed, for
  /// example, would come first every time. One branch at least must be taken.
  [[nodiscard]] branch&& when(bool condition) && noexcept {
    taken = condition;
    return std::move(*this);
  }
  /// g gets the result of this branch if the branch loses although it had finished: a read, for
  /// example, whose bytes had arrived when it was asked to end. A wait for a lock or a channel
  /// takes nothing then, and needs no such handler. g is called before the handler of the branch
  /// that won.
  template <class G>
  [[nodiscard]] branch<A, F, Otherwise, std::decay_t<G>> late(G&& g) && {
    detail::check_closures<G>();
    return {std::move(awaitable).inner(), std::move(handler),     std::move(otherwise),
            std::forward<G>(g),           awaitable.awaited_at(), taken};
  }

  awaitable_type awaitable;
  F handler;
  [[no_unique_address]] Otherwise otherwise;
  [[no_unique_address]] Late late_handler;
  bool taken;
};

/// A branch: an awaitable, and the function or task that gets its value if it comes first. The
/// handler may also take nothing. For a wait that gives a std::optional, pop() above all, it may
/// take the value inside; a closed channel then makes select() throw broken_pipe, or calls
/// `otherwise`, if it is given.
///
///   on(jobs.pop(), [&](job j) { ... }, [&] { open = false; })     // the channel was closed
template <class A, class F>
[[nodiscard]] branch<A, std::decay_t<F>> on(
    A&& awaitable, F&& handler, std::source_location where = std::source_location::current()) {
  detail::check_awaitable<A>();
  detail::check_closures<F>();
  return {std::forward<A>(awaitable), std::forward<F>(handler), {}, {}, site_of(where)};
}
template <class A, class F, class Otherwise>
  requires std::invocable<std::decay_t<Otherwise>&>
[[nodiscard]] branch<A, std::decay_t<F>, std::decay_t<Otherwise>> on(
    A&& awaitable, F&& handler, Otherwise&& otherwise,
    std::source_location where = std::source_location::current()) {
  detail::check_awaitable<A>();
  detail::check_closures<F>();
  detail::check_closures<Otherwise>();
  return {std::forward<A>(awaitable),
          std::forward<F>(handler),
          std::forward<Otherwise>(otherwise),
          {},
          site_of(where)};
}

namespace detail {

template <class A, bool Inside>
class [[nodiscard("co_await it")]] selected_awaiter {
  using inner_awaiter = std::remove_reference_t<awaiter_t<A&&>>;

 public:
  explicit selected_awaiter(A&& a) : inner_(static_cast<A&&>(a)) {}

  void join_choice(choice& c, std::size_t index)
    requires joins_choice<inner_awaiter>
  {
    inner_.get().join_choice(c, index);
  }
  [[nodiscard]] bool await_ready() { return inner_.get().await_ready(); }
  template <frame_promise P>
  [[nodiscard]] std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
    return suspend_with(inner_.get(), h);
  }
  decltype(auto) await_resume() {
    if constexpr (Inside) {
      auto value = inner_.get().await_resume();
      if (!value) throw_failure(std::make_error_code(std::errc::broken_pipe));
      return typename decltype(value)::value_type(std::move(*value));
    } else {
      return inner_.get().await_resume();
    }
  }

 private:
  own_awaiter<A> inner_;
};

template <class A, bool Inside>
class selected {
 public:
  selected(A&& a, site where) : awaitable_(static_cast<A&&>(a)), where_(where) {}
  [[nodiscard]] site awaited_at() const noexcept { return where_; }
  [[nodiscard]] A&& inner() && noexcept { return static_cast<A&&>(awaitable_); }
  [[nodiscard]] selected_awaiter<A, Inside> operator co_await() && {
    return selected_awaiter<A, Inside>(static_cast<A&&>(awaitable_));
  }

 private:
  A awaitable_;
  site where_;
};

template <class T>
inline constexpr bool is_branch = false;
template <class A, class F, class O, class L>
inline constexpr bool is_branch<branch<A, F, O, L>> = true;

}  // namespace detail
}  // namespace heddle
