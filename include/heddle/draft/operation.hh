// SPDX-License-Identifier: MIT
// operation<T>: a wait that can be withdrawn, as an arm of any(). It makes a call of heddle/abi.h;
// when that has no answer yet, the function waits, and the call is made again after each wake. A
// withdrawn operation has taken nothing.
//
//   const std::string_view line = co_await c.read_line(buf);
//   auto ready = co_await draft::any(c.read_line(buf), news.receive(), draft::after(10min));
//   if (ready.index() == 0) use(ready.get<0>());
#pragma once

#include <concepts>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "heddle/core/detail/plain_wait.hh"
#include "heddle/draft.h"
#include "heddle/draft/detail/cell.hh"
#include "heddle/draft/error.hh"

namespace heddle::from_draft {

namespace detail {

/// An awaiter of the status that Derived::ask(worker) answers.
template <class Derived>
class asking : coroutine_frame {
 public:
  [[nodiscard]] bool await_ready() {
    status_ = derived().ask(this_worker());
    return status_ != HEDDLE_PARKED;
  }
  template <frame_promise P>
  void await_suspend(std::coroutine_handle<P> h) noexcept {
    park(h, worker::running());
  }

 protected:
  asking() noexcept : coroutine_frame(&woken) {}
  using coroutine_frame::self;
  [[nodiscard]] std::int64_t status() const noexcept { return status_; }

 private:
  [[nodiscard]] Derived& derived() noexcept { return static_cast<Derived&>(*this); }
  static heddle_link woken(heddle_frame* f, heddle_worker* w) {
    auto& x = static_cast<asking&>(of(f));
    x.status_ = x.derived().ask(w);
    return x.status_ == HEDDLE_PARKED ? no_link : x.coroutine();
  }
  std::int64_t status_ = 0;
};

/// A class that owns a handle of heddle/abi.h.
template <class T>
concept made_of_handle = requires { typename T::handle_type; };

/// The raw result of a call of heddle/abi.h for a T: a handle, a view, or the value itself.
template <class T>
struct raw_result {
  using type = typename cell<T>::raw;
};
template <made_of_handle T>
struct raw_result<T> {
  using type = typename T::handle_type*;
};
template <>
struct raw_result<std::string_view> {
  using type = heddle_view;
};

/// The T that an answer has brought.
template <class T, class Raw>
[[nodiscard]] T value_from(Raw& raw) {
  if constexpr (std::is_void_v<T>)
    return;
  else if constexpr (std::is_same_v<Raw, box<T>*>)
    return cell<T>::take(raw);
  else if constexpr (std::is_same_v<Raw, heddle_view>)
    return T(raw.data, raw.len);
  else
    return T(raw);
}

/// An argument as C gets it: handles as pointers.
template <class T>
[[nodiscard]] const T& for_c(const T& x) noexcept {
  return x;
}
template <class T>
  requires requires(T& x) { x.for_c(); }
[[nodiscard]] auto for_c(T& x) noexcept {
  return x.for_c();
}

}  // namespace detail

/// The call Function(worker, arguments..., &raw, at, frame) of heddle/abi.h; the T is made of what
/// it stores, and a call without a result stores nothing. Fails: with an error; error.canceled in a
/// cancelled context, error.timeout if a deadline did that.
template <auto Function, class T, class Raw, class... Args>
class [[nodiscard("co_await it")]] operation {
 public:
  using value_type = T;

  explicit operation(Args... args) : args_(std::move(args)...) {}
  [[nodiscard]] std::int64_t ask(heddle_worker* w, heddle_wait* at, heddle_frame* self) {
    const std::int64_t status = std::apply(
        [&](auto&... x) {
          if constexpr (std::is_void_v<T> && std::is_empty_v<Raw>)
            return Function(w, detail::for_c(x)..., at, self);
          else
            return Function(w, detail::for_c(x)..., &raw_, at, self);
        },
        args_);
    if (status != HEDDLE_PARKED) std::apply([](auto&... x) { (answered(x), ...); }, args_);
    return status;
  }
  [[nodiscard]] T take() { return detail::value_from<T>(raw_); }

  /// Awaits it; `gives` the error, instead of throwing it.
  template <bool gives>
  class awaiter : public detail::asking<awaiter<gives>> {
   public:
    explicit awaiter(operation&& of) : of_(std::move(of)) {}
    ~awaiter() {
      if (at_.kind != nullptr) heddle_withdraw(this_worker(), &at_);
    }
    [[nodiscard]] std::int64_t ask(heddle_worker* w) { return of_.ask(w, &at_, this->self()); }
    std::conditional_t<gives, outcome<T>, T> await_resume() {
      if constexpr (!gives)
        check_status(this->status());
      else if (this->status() < 0)
        return std::unexpected(error::of_status(this->status()));
      if constexpr (gives && std::is_void_v<T>)
        return {};
      else
        return of_.take();
    }

   private:
    operation of_;
    heddle_wait at_{};
  };
  [[nodiscard]] awaiter<false> operator co_await() && { return awaiter<false>(std::move(*this)); }

 private:
  template <class X>
  static void answered(X& x) noexcept {
    if constexpr (requires { x.sent(); }) x.sent();
  }
  std::tuple<Args...> args_;
  Raw raw_{};
};

namespace detail {
template <auto Function, class T = void, class Raw = typename raw_result<T>::type, class... Args>
[[nodiscard]] operation<Function, T, Raw, Args...> ask(Args... args) {
  return operation<Function, T, Raw, Args...>(std::move(args)...);
}

template <class Operation>
class [[nodiscard("co_await it")]] caught_operation {
 public:
  explicit caught_operation(Operation&& of) : of_(std::move(of)) {}
  [[nodiscard]] auto operator co_await() && {
    return typename Operation::template awaiter<true>(std::move(of_));
  }

 private:
  Operation of_;
};

template <class T>
concept an_operation = requires(T& x, heddle_worker* w, heddle_wait* at, heddle_frame* self) {
  { x.ask(w, at, self) } -> std::same_as<std::int64_t>;
};
}  // namespace detail

/// The value or the error of an operation.
template <detail::an_operation Operation>
[[nodiscard]] auto caught(Operation what) {
  return detail::caught_operation<Operation>(std::move(what));
}

/// The arm of an any() that came first, and its value.
template <class... Ts>
class chosen {
 public:
  /// Counted from 0; the number of arms where try_any() failed.
  [[nodiscard]] std::size_t index() const noexcept { return value_.index(); }
  [[nodiscard]] const from_draft::error& error() const noexcept {
    return std::get<sizeof...(Ts)>(value_);
  }
  template <std::size_t I>
  [[nodiscard]] auto get() {
    return std::move(std::get<I>(value_));
  }
  template <std::size_t I, class... Args>
  explicit chosen(std::in_place_index_t<I> which, Args&&... args)
      : value_(which, std::forward<Args>(args)...) {}

 private:
  std::variant<stored<Ts>..., from_draft::error> value_;
};

/// Remembers which arm won, for an any() in a loop: it is asked last the next time.
class turns {
 public:
  [[nodiscard]] std::uint32_t won() const noexcept { return won_; }
  void note(std::uint32_t winner) noexcept { won_ = winner; }

 private:
  std::uint32_t won_ = ~std::uint32_t{0};
};

namespace detail {

/// Awaits the first of several operations; `gives` an error, instead of throwing it.
template <bool gives, class... Arms>
class [[nodiscard("co_await it")]] first_of : public asking<first_of<gives, Arms...>> {
 public:
  /// `turns` may be null.
  explicit first_of(turns* kept, Arms&&... arms) : turns_(kept), arms_(std::move(arms)...) {}
  ~first_of() { withdraw(this_worker()); }

  [[nodiscard]] std::int64_t ask(heddle_worker* w) {
    return ask_each(w, std::index_sequence_for<Arms...>());
  }
  chosen<typename Arms::value_type...> await_resume() {
    return result(std::index_sequence_for<Arms...>());
  }

 private:
  static constexpr std::uint32_t count = sizeof...(Arms);
  using value = chosen<typename Arms::value_type...>;

  template <std::size_t... I>
  std::int64_t ask_each(heddle_worker* w, std::index_sequence<I...>) {
    const std::uint32_t before = turns_ == nullptr ? count : turns_->won();
    for (heddle_turn t = heddle_turn_first(count, before); t.left != 0; heddle_turn_next(&t)) {
      std::int64_t status = HEDDLE_PARKED;
      static_cast<void>(((I == t.arm && (status = ask_one<I>(w), true)) || ...));
      if (status == HEDDLE_PARKED) continue;
      won_ = t.arm;
      if (turns_ != nullptr) turns_->note(won_);  // also when it failed
      withdraw(w);
      return status;
    }
    return HEDDLE_PARKED;
  }
  template <std::size_t I>
  std::int64_t ask_one(heddle_worker* w) {
    return std::get<I>(arms_).ask(w, &each_[I].wait, heddle_arm_of(w, &each_[I], this->self()));
  }
  void withdraw(heddle_worker* w) noexcept { heddle_withdraw_arms(w, each_, count); }

  template <std::size_t... I>
  value result(std::index_sequence<I...>) {
    if (this->status() < 0) {
      if constexpr (gives)
        return value(std::in_place_index<count>, error::of_code(static_cast<int>(-this->status())));
      else
        check_status(this->status());
    }
    std::optional<value> out;
    static_cast<void>(((I == won_ && (put<I>(out), true)) || ...));
    return std::move(*out);
  }
  template <std::size_t I>
  void put(std::optional<value>& out) {
    if constexpr (std::is_void_v<std::tuple_element_t<I, std::tuple<typename Arms::value_type...>>>)
      out.emplace(std::in_place_index<I>);
    else
      out.emplace(std::in_place_index<I>, std::get<I>(arms_).take());
  }

  turns* turns_;
  std::uint32_t won_ = 0;
  std::tuple<Arms...> arms_;
  heddle_arm each_[count]{};
};

}  // namespace detail

/// Waits for the first arm that has a result. Arms are asked in the order given. The others are
/// withdrawn before this returns. Fails: with the error of the first arm that fails.
template <detail::an_operation... Arms>
[[nodiscard]] auto any(Arms... arms) {
  return detail::first_of<false, Arms...>(nullptr, std::move(arms)...);
}
/// any() in a loop: the arm that won last is asked last.
template <detail::an_operation... Arms>
[[nodiscard]] auto any(turns& t, Arms... arms) {
  return detail::first_of<false, Arms...>(&t, std::move(arms)...);
}
/// any() with the error of an arm as a value: index() is then the number of arms.
template <detail::an_operation... Arms>
[[nodiscard]] auto try_any(Arms... arms) {
  return detail::first_of<true, Arms...>(nullptr, std::move(arms)...);
}
/// try_any() in a loop: the arm that won last is asked last.
template <detail::an_operation... Arms>
[[nodiscard]] auto try_any(turns& t, Arms... arms) {
  return detail::first_of<true, Arms...>(&t, std::move(arms)...);
}

/// Waits that long.
[[nodiscard]] inline auto sleep(nanoseconds span) {
  return detail::ask<heddle_sleep>(std::int64_t{span.count()});
}
/// The arm of an any() that bounds it.
[[nodiscard]] inline auto after(nanoseconds span) { return sleep(span); }

/// Lets the other threads of this color run.
[[nodiscard]] inline auto pause() { return detail::ask<heddle_pause>(); }

/// In a loop that may run long without a wait: lets others run when the thread's budget of 50 turns
/// is spent.
class [[nodiscard("co_await it")]] breathe : coroutine_frame {
 public:
  breathe() noexcept : coroutine_frame(&woken) {}
  [[nodiscard]] bool await_ready() noexcept { return !heddle_yield(this_worker(), self()); }
  template <frame_promise P>
  void await_suspend(std::coroutine_handle<P> h) noexcept {
    park(h, worker::running());
  }
  static void await_resume() noexcept {}

 private:
  static heddle_link woken(heddle_frame* f, heddle_worker*) {
    return static_cast<breathe&>(of(f)).coroutine();
  }
};

}  // namespace heddle::from_draft
