// SPDX-License-Identifier: MIT
// co_await atomically(f, args...): runs f(tx, args...) as one step that no other transaction sees
// half done, on any thread. f must do nothing but read and write tvars and compute: it may run more
// than once. When it calls tx.retry(), the task waits until something that f read has changed.
//
//   int take(transaction& tx, tvar<std::vector<int>>& queue) {
//     tx.wait_until(!tx.read(queue).empty());
//     std::vector<int> rest = tx.read(queue);
//     const int first = rest.front(); rest.erase(rest.begin()); tx.write(queue, rest);
//     return first;
//   }
//   int n = co_await atomically(take, std::ref(queue));
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "heddle/core/detail/closure.hh"
#include "heddle/core/task.hh"
#include "heddle/sync/transaction.hh"

namespace heddle {

namespace detail {

class stm_waiter;
struct stm_waiter_release {
  void operator()(stm_waiter* w) const noexcept;
};
/// A wait on everything that a transaction has read; see src/sync/stm_wait.cc.
using stm_waiting = std::unique_ptr<stm_waiter, stm_waiter_release>;

/// Watches what the transaction has read; null when some of it has changed already.
[[nodiscard]] stm_waiting watch_reads(const transaction& tx);
/// Waits until something that is watched has changed. Throws operation_canceled.
[[nodiscard]] task<> wait_for_change(stm_waiting what);

template <class T>
struct stm_result {
  template <class Call>
  void store(Call&& call) {
    value.emplace(std::forward<Call>(call)());
  }
  [[nodiscard]] T take() { return std::move(*value); }
  std::optional<T> value;
};
template <class T>
struct stm_result<T&> {
  template <class Call>
  void store(Call&& call) {
    value = std::addressof(std::forward<Call>(call)());
  }
  [[nodiscard]] T& take() { return *value; }
  T* value = nullptr;
};
template <>
struct stm_result<void> {
  template <class Call>
  void store(Call&& call) {
    std::forward<Call>(call)();
  }
  void take() {}
};

template <class F, class... Args>
class [[nodiscard("co_await it")]] atomic_call {
 public:
  using value_type = std::invoke_result_t<F&, transaction&, Args&...>;

  explicit atomic_call(F f, Args... args) : function_(std::move(f)), args_(std::move(args)...) {}
  atomic_call(atomic_call&& other)
      : function_(std::move(other.function_)), args_(std::move(other.args_)) {}

  /// Most transactions commit here, and cost no frame.
  [[nodiscard]] bool await_ready() { return run(); }
  [[nodiscard]] std::coroutine_handle<> await_suspend(std::coroutine_handle<> parent) {
    later_.emplace(run_when_changed(*this).release());
    return later_->await_suspend(parent);
  }
  value_type await_resume() {
    if (later_) later_->await_resume();
    return result_.take();
  }

 private:
  /// Runs the transaction: true if it has committed, false if it must wait.
  [[nodiscard]] bool run() {
    stm_access::frame own;
    for (;;) {
      const stm_outcome how = stm_access::run(own.tx, [this](transaction& tx) {
        result_.store([&]() -> value_type {
          return std::apply(
              [&](Args&... each) -> value_type { return std::invoke(function_, tx, each...); },
              args_);
        });
      });
      if (how == stm_outcome::committed) break;
      if (how == stm_outcome::conflict) continue;
      waiting_ = watch_reads(own.tx);
      if (waiting_ != nullptr) return false;
    }
    return true;
  }
  static task<> run_when_changed(atomic_call& self) {
    bool done = false;
    while (!done) {
      co_await wait_for_change(std::move(self.waiting_));
      done = self.run();
    }
  }

  F function_;
  std::tuple<Args...> args_;
  stm_result<value_type> result_;
  stm_waiting waiting_;
  std::optional<task<>::awaiter> later_;
};

}  // namespace detail

/// Thread: any with a runtime; variables may be shared between threads. In a fiber: await().
/// Resumes: at once if it commits, which is nearly always; otherwise when a variable that it read
///   has changed, in the task's own color.
/// Owns: the arguments, while it runs; pass std::ref for what is shared.
/// Cancel: a wait in retry() ends with operation_canceled; a transaction that does not wait is
///   carried out also in a cancelled context.
/// Fails: with the exception that leaves f; nothing is written then.
template <class F, class... Args>
[[nodiscard]] detail::atomic_call<std::decay_t<F>, std::decay_t<Args>...> atomically(
    F&& f, Args&&... args) {
  detail::check_closures<F, Args...>();
  return detail::atomic_call<std::decay_t<F>, std::decay_t<Args>...>(std::forward<F>(f),
                                                                     std::forward<Args>(args)...);
}

template <class T>
T tvar<T>::value() const {
  using namespace detail;
  stm_access::frame own;
  std::optional<T> out;
  const auto read_it = [&](transaction& tx) { out.emplace(tx.read(*this)); };
  while (stm_access::run(own.tx, read_it) != stm_outcome::committed) {
  }
  return std::move(*out);
}

}  // namespace heddle
