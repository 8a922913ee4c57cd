// SPDX-License-Identifier: MIT
// Fibers: tasks with a stack of their own, in which ordinary functions can wait and return values.
// fiber(f, args...) is a task, so it is awaited, spawned, bounded and joined like any other. Inside
// f and the functions that it calls, write await(op) instead of co_await op.
//
//   int ask(tcp_stream& s) { await(s.write("?\n")); char c; await(s.read({&c, 1})); return c - '0';
//   } task<> program(tcp_stream s) { int n = co_await fiber(ask, std::ref(s)); ... }
//
// How it works: the task is a small coroutine, the fiber's carrier. When the carrier runs, it
// switches to the fiber's stack. When the fiber waits, the carrier is suspended, so waits,
// cancellation, contexts and dumps work as for tasks. fiber/core.hh contains the two switches.
#pragma once

#include <functional>
#include <source_location>
#include <type_traits>
#include <utility>

#include "heddle/core/start.hh"
#include "heddle/fiber/detail/core.hh"

namespace heddle {

namespace detail {

/// A fiber with its function and room for its result. It is in the carrier's frame, next to the
/// function and the arguments, to which it refers.
template <class F, class... Args>
class fiber_call : public fiber_core {
 public:
  using value_type = std::invoke_result_t<F&, Args&...>;

  fiber_call(const fiber_options& options, F& f, Args&... args)
      : fiber_core(options, &body), function_(f), args_(args...) {}

  value_type take() {
    if (kept_.error) [[unlikely]]
      std::rethrow_exception(std::move(kept_.error));
    return kept_.take();
  }

 private:
  static void body(fiber_core& base) noexcept {
    auto& self = static_cast<fiber_call&>(base);
    try {
      if constexpr (std::is_void_v<value_type>) {
        std::apply(self.function_, self.args_);
      } else {
        self.kept_.store(std::apply(self.function_, self.args_));
      }
    } catch (const fiber_unwind&) {  // the carrier is gone, so there is no one to tell
    } catch (...) {
      self.kept_.error = std::current_exception();
    }
  }

  F& function_;
  std::tuple<Args&...> args_;
  join_of<value_type> kept_;
};

template <class F, class... Args>
auto run_fiber(fiber_options options, F f, Args... args)
    -> task<std::invoke_result_t<F&, Args&...>> {
  fiber_call<F, Args...> call(options, f, args...);
  co_await call.carried();
  while (!call.run()) co_await call.parked();
  co_return call.take();
}

}  // namespace detail

/// A task that calls f(args...) on a stack of its own. It keeps f, with its captures, and the
/// arguments as long as it runs; pass std::ref for what should not be copied.
///
/// Thread: one color. Resumes: the awaiting frame continues at once when f returns.
/// Owns: a stack of the worker's pool while it runs.
/// Cancel: as with any task: waits inside throw operation_canceled, and the fiber unwinds.
/// Fails: with the exception that leaves f; with not_enough_memory if there are already fibers_max.
///   A stack overflow ends the program through the assertion hook, which reports the stack's size.
///
///   co_await with_timeout(fiber(legacy_import, std::ref(source)), 10s);
template <class F, class... Args>
  requires(!std::is_same_v<std::decay_t<F>, fiber_options>)
[[nodiscard]] auto fiber(F&& f, Args&&... args) {
  detail::check_closures<F, Args...>();
  return detail::run_fiber<std::decay_t<F>, std::decay_t<Args>...>({}, std::forward<F>(f),
                                                                   std::forward<Args>(args)...);
}
template <class F, class... Args>
[[nodiscard]] auto fiber(fiber_options options, F&& f, Args&&... args) {
  detail::check_closures<F, Args...>();
  return detail::run_fiber<std::decay_t<F>, std::decay_t<Args>...>(options, std::forward<F>(f),
                                                                   std::forward<Args>(args)...);
}

/// Starts a fiber at once and joins it to an event, which gets its result (start() explains the
/// forms):
///
///   rendezvous<> r; int a, b;
///   tfork(r.make_event(a), ask, std::ref(left));
///   tfork(r.make_event(b), ask, std::ref(right));
///   await(r); await(r);
template <class... Ts, class F, class... Args>
void tfork(event<Ts...> done, F&& f, Args&&... args) {
  start(fiber(std::forward<F>(f), std::forward<Args>(args)...), std::move(done));
}

/// In a fiber: waits for any awaitable (operation, task, rendezvous, adapter) and returns its
/// value, as co_await does in a task. (Krohn and others, 2007, call it wait(); here `wait` is
/// the record of a suspended frame, and wait() is the system's call for child processes.) Do not
/// call it in a destructor while the fiber unwinds.
template <class A>
[[gnu::always_inline]] inline decltype(auto) await(
    A&& awaitable, std::source_location where = std::source_location::current()) {
  detail::fiber_core& self = detail::fiber_core::here();
  if constexpr (detail::has_member_co_await<A&&>) {
    auto awaiter = static_cast<A&&>(awaitable).operator co_await();
    if (!awaiter.await_ready()) self.suspend(awaiter, site_of(where));
    return awaiter.await_resume();
  } else {
    if (!awaitable.await_ready()) self.suspend(awaitable, site_of(where));
    return awaitable.await_resume();
  }
}

/// Whether the caller runs in a fiber, so that it may call await().
[[nodiscard]] inline bool in_fiber() noexcept {
  return detail::fiber_core::running_here() != nullptr;
}

}  // namespace heddle
