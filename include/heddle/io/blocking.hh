// SPDX-License-Identifier: MIT
// blocking(f, args...): calls f where blocking is allowed, on a thread of the runtime's pool, while
// the worker goes on with other tasks. The value or the exception comes back to the task.
//
//   std::string text = co_await blocking(read_slow_device, path);
#pragma once

#include <functional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

#include "heddle/core/detail/closure.hh"
#include "heddle/core/promise.hh"
#include "heddle/sched/operation.hh"
#include "heddle/sched/pool_statistics.hh"

namespace heddle {

namespace detail {

/// The part of an awaiter that does not depend on the function.
class blocking_base : public operation {
 public:
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  template <frame_promise P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) noexcept {
    return begin(link_of(h));
  }

 protected:
  /// Called on the worker when the wait is cancelled while the call may run.
  using stop_function = void (*)(blocking_base&) noexcept;

  explicit blocking_base(call_function run, stop_function stop) noexcept;
  ~blocking_base();
  /// Throws when the call was not made.
  void check() const {
    if (outcome_ < 0) [[unlikely]]
      not_made();
  }
  [[nodiscard]] std::error_code refusal() const noexcept {
    return outcome_ < 0 ? kernel_error(static_cast<int>(outcome_)) : std::error_code();
  }

 private:
  [[nodiscard]] bool begin(link frame) noexcept;
  [[noreturn, gnu::cold]] void not_made() const;
  static bool completed(operation& op, worker& w, const completion& c) noexcept;
  static void asked_to_end(wait& x, worker& w) noexcept;
  static const wait_kind kind_of_wait;

  call_function run_;
  stop_function stop_;
  std::int64_t outcome_ = 0;
};

struct no_stop_source {};

/// The call, and the place for its outcome.
template <class F, class... Args>
class [[nodiscard("co_await it")]] blocking_call : public blocking_base {
  static constexpr bool takes_stop = std::is_invocable_v<F&, std::stop_token, Args&...>;

  static auto invoke(F& f, std::tuple<Args...>& args, const auto& source) -> decltype(auto) {
    return std::apply(
        [&](Args&... each) -> decltype(auto) {
          if constexpr (takes_stop) {
            return std::invoke(f, source.get_token(), each...);
          } else {
            return std::invoke(f, each...);
          }
        },
        args);
  }
  using source_type = std::conditional_t<takes_stop, std::stop_source, no_stop_source>;

 public:
  using value_type = decltype(invoke(std::declval<F&>(), std::declval<std::tuple<Args...>&>(),
                                     std::declval<source_type&>()));

  blocking_call(F f, Args... args)
      : blocking_base(&run, takes_stop ? &stop : nullptr),
        function_(std::move(f)),
        args_(std::move(args)...) {}
  /// Moves a call that does not wait yet; afterwards it must not move.
  blocking_call(blocking_call&& other)
      : blocking_base(&run, takes_stop ? &stop : nullptr),
        function_(std::move(other.function_)),
        args_(std::move(other.args_)) {}

  value_type await_resume() {
    check();
    if (kept_.error) std::rethrow_exception(std::exchange(kept_.error, nullptr));
    return kept_.take();
  }
  [[nodiscard]] result<value_type> await_result() {
    if (refusal()) return std::unexpected(refusal());
    try {
      if constexpr (std::is_void_v<value_type>) {
        await_resume();
        return {};
      } else {
        return await_resume();
      }
    } catch (const std::system_error& e) {
      return std::unexpected(e.code());
    }
  }

 private:
  static std::int64_t run(void* base) noexcept {
    auto& self = static_cast<blocking_call&>(*static_cast<blocking_base*>(base));
    try {
      if constexpr (std::is_void_v<value_type>) {
        invoke(self.function_, self.args_, self.source_);
      } else {
        self.kept_.store(invoke(self.function_, self.args_, self.source_));
      }
    } catch (...) {
      self.kept_.error = std::current_exception();
    }
    return 0;
  }
  static void stop(blocking_base& base) noexcept {
    if constexpr (takes_stop) static_cast<blocking_call&>(base).source_.request_stop();
  }

  F function_;
  std::tuple<Args...> args_;
  [[no_unique_address]] source_type source_;
  join_of<value_type> kept_;
};

}  // namespace detail

/// Calls f(args...) on a thread of the pool. The arguments are kept until the call has ended; pass
/// std::ref for what should not be copied. If f takes a std::stop_token first, it gets one.
///
/// Thread: any task; f runs on another thread, and must not use tasks, events or the runtime.
/// Resumes: the task in its own color.
/// Cancel: a call that waits for a thread is taken back and ends with operation_canceled. One that
///   runs is waited for and its result is delivered, because f may refer to variables of the
///   caller; its stop token is set, so a long call can check it and end early.
/// Fails: with what f throws; with resource_unavailable_try_again when the queue is full.
///
///   auto row = co_await blocking(&database::fetch, std::ref(db), key);
template <class F, class... Args>
[[nodiscard]] detail::blocking_call<std::decay_t<F>, std::decay_t<Args>...> blocking(
    F&& f, Args&&... args) {
  detail::check_closures<F, Args...>();
  return {std::forward<F>(f), std::forward<Args>(args)...};
}

/// Counters of the running runtime's pool. Zeros under simulation, which has no threads.
[[nodiscard]] pool_statistics blocking_statistics();

}  // namespace heddle
