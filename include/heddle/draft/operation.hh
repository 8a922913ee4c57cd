// SPDX-License-Identifier: MIT
// operation<T>: a wait that can be withdrawn, as an arm of any(). It is asked for its result; if
// there is none yet, the function waits until asking again is worth while. The wait itself takes
// nothing, so a withdrawn operation has taken nothing.
//
//   const std::string_view line = co_await c.read_line(buf);
//   auto ready = co_await draft::any(c.read_line(buf), news.receive(), draft::after(10min));
//   if (ready.index() == 0) use(ready.get<0>());
#pragma once

#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "heddle/core/combine.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/sleep.hh"
#include "heddle/core/yield.hh"
#include "heddle/draft/error.hh"

namespace heddle::from_draft {

/// void has no object: std::monostate takes its place.
template <class T>
using stored = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

/// The two steps of an operation. Thread: one color.
template <class T>
class steps {
 public:
  steps() = default;
  steps(const steps&) = delete;
  steps& operator=(const steps&) = delete;
  virtual ~steps() = default;
  /// The result, if it is there; throws an error.
  [[nodiscard]] virtual std::optional<stored<T>> poll() = 0;
  /// Ends when poll() may have a result, or when the context is cancelled. Does not throw.
  [[nodiscard]] virtual task<> ready() = 0;
};

/// Owns: its steps. Fails: with an error; error.canceled in a cancelled context, error.timeout if
/// a deadline did that.
template <class T>
class [[nodiscard("co_await it")]] operation {
 public:
  using value_type = T;

  explicit operation(std::unique_ptr<steps<T>> s) noexcept : steps_(std::move(s)) {}
  [[nodiscard]] std::optional<stored<T>> poll() { return steps_->poll(); }
  [[nodiscard]] task<> ready() { return steps_->ready(); }

  [[nodiscard]] task<T> start() && { return run(std::move(steps_)); }
  [[nodiscard]] auto operator co_await() && { return run(std::move(steps_)).operator co_await(); }

 private:
  static task<T> run(std::unique_ptr<steps<T>> s) {
    for (;;) {
      check_canceled();
      if (std::optional<stored<T>> got = s->poll()) {
        if constexpr (std::is_void_v<T>)
          co_return;
        else
          co_return std::move(*got);
      }
      co_await s->ready();
    }
  }
  std::unique_ptr<steps<T>> steps_;
};

template <class T>
[[nodiscard("co_await it")]] task<outcome<T>> caught(operation<T> what) {
  return caught(std::move(what).start());
}

/// The arm of an any() that came first, and its value.
template <class... Ts>
class chosen {
 public:
  /// Counted from 0; the number of arms where try_any() failed.
  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  [[nodiscard]] const from_draft::error& error() const noexcept { return *failed_; }
  template <std::size_t I>
  [[nodiscard]] auto get() {
    return std::move(*std::get<I>(values_));
  }
  void fail(const from_draft::error& e) {
    index_ = sizeof...(Ts);
    failed_ = e;
  }
  template <std::size_t I>
  bool ask(operation<std::tuple_element_t<I, std::tuple<Ts...>>>& arm) {
    std::get<I>(values_) = arm.poll();
    if (!std::get<I>(values_)) return false;
    index_ = I;
    return true;
  }

 private:
  std::size_t index_ = 0;
  std::tuple<std::optional<stored<Ts>>...> values_;
  std::optional<from_draft::error> failed_;
};

/// Remembers which arm won, for an any() in a loop: it is asked last the next time.
class turns {
 public:
  /// The arm to ask as number k of `count`, counted from 0.
  [[nodiscard]] std::size_t arm(std::size_t k, std::size_t count) const noexcept {
    if (won_ >= count) return k;
    if (k + 1 == count) return won_;
    return k < won_ ? k : k + 1;
  }
  void note(std::size_t winner) noexcept { won_ = winner; }

 private:
  std::size_t won_ = ~std::size_t{0};
};

namespace detail {

template <class... Ts, std::size_t... I>
bool ask_arms(turns& t, chosen<Ts...>& out, std::index_sequence<I...>, operation<Ts>&... arms) {
  const turns before = t;
  for (std::size_t k = 0; k != sizeof...(Ts); ++k) {
    const std::size_t at = before.arm(k, sizeof...(Ts));
    t.note(at);  // also when it fails
    if (((I == at && out.template ask<I>(arms)) || ...)) return true;
  }
  t = before;
  return false;
}

template <class... Ts>
task<> choose_into(turns& t, chosen<Ts...>& out, operation<Ts>&... arms) {
  for (;;) {
    check_canceled();
    if (ask_arms(t, out, std::index_sequence_for<Ts...>(), arms...)) co_return;
    if constexpr (sizeof...(Ts) == 1)
      co_await (arms.ready(), ...);
    else
      static_cast<void>(co_await heddle::any(arms.ready()...));
  }
}

/// `turns` may be null; `gives` an error, instead of throwing it.
template <bool gives, class... Ts>
task<chosen<Ts...>> choose(turns* kept, operation<Ts>... arms) {
  turns once;
  chosen<Ts...> out;
  if constexpr (gives) {
    const outcome<void> done =
        co_await caught(choose_into(kept == nullptr ? once : *kept, out, arms...));
    if (!done) out.fail(done.error());
  } else {
    co_await choose_into(kept == nullptr ? once : *kept, out, arms...);
  }
  co_return out;
}

}  // namespace detail

/// Waits for the first arm that has a result. Arms are asked in the order given. The others are
/// withdrawn before this returns. Fails: with the error of the first arm that fails.
template <class... Ts>
[[nodiscard("co_await it")]] task<chosen<Ts...>> any(operation<Ts>... arms) {
  return detail::choose<false>(static_cast<turns*>(nullptr), std::move(arms)...);
}
/// any() in a loop: the arm that won last is asked last.
template <class... Ts>
[[nodiscard("co_await it")]] task<chosen<Ts...>> any(turns& t, operation<Ts>... arms) {
  return detail::choose<false>(&t, std::move(arms)...);
}
/// any() with the error of an arm as a value: index() is then the number of arms.
template <class... Ts>
[[nodiscard("co_await it")]] task<chosen<Ts...>> try_any(operation<Ts>... arms) {
  return detail::choose<true>(static_cast<turns*>(nullptr), std::move(arms)...);
}
template <class... Ts>
[[nodiscard("co_await it")]] task<chosen<Ts...>> try_any(turns& t, operation<Ts>... arms) {
  return detail::choose<true>(&t, std::move(arms)...);
}

namespace detail {
class sleep_steps final : public steps<void> {
 public:
  explicit sleep_steps(time_point due) noexcept : due_(due) {}
  std::optional<std::monostate> poll() override {
    // Asked for the first time it is never ready: others get their turn.
    if (!std::exchange(asked_, true) || clock::now() < due_) return std::nullopt;
    return std::monostate();
  }
  task<> ready() override { static_cast<void>(co_await as_expected(sleep_until(due_))); }

 private:
  time_point due_;
  bool asked_ = false;
};
}  // namespace detail

/// Waits that long.
[[nodiscard]] inline operation<void> sleep(nanoseconds span) {
  return operation<void>(std::make_unique<detail::sleep_steps>(add_saturated(clock::now(), span)));
}
/// The arm of an any() that bounds it.
[[nodiscard]] inline operation<void> after(nanoseconds span) { return sleep(span); }

/// Lets the other threads of this color run.
[[nodiscard]] inline task<> pause() {
  check_canceled();
  co_await yield();
}

/// In a loop that may run long without a wait: lets others run after each 50 turns.
class [[nodiscard("co_await it")]] breathe : public yield_awaiter {
 public:
  /// Never inlined: the frame may go on in another thread, whose variable is another one.
  [[nodiscard, gnu::noinline]] static bool await_ready() noexcept {
    static thread_local int left = turns_max;
    if (--left != 0) return true;
    left = turns_max;
    return worker::running().current_context().canceled();
  }

 private:
  static constexpr int turns_max = 50;
};

}  // namespace heddle::from_draft
