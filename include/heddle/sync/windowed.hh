// SPDX-License-Identifier: MIT
// windowed: runs tasks, never more than a given number at a time. spawn() waits until there is
// room, flush() until all have ended.
//
//   task<> fetch_all(windowed& w, const std::vector<std::string>& names) {
//     for (const auto& name : names) co_await w.spawn(fetch(name));
//   }
//   co_await with_window(16, fetch_all, std::cref(names));     // rethrows the first failure
//
// with_window() and each_windowed() wait for the running tasks, however the function ends: by an
// exception, a timeout, or because it is cancelled.
#pragma once

#include "heddle/core/scope.hh"
#include "heddle/sync/semaphore.hh"

namespace heddle {

/// Thread: one color.
/// Owns: the tasks that run. co_await flush() before it ends, even if an exception is thrown; that
///   is what with_window() does.
/// Cancel: cancelling the context around reaches the tasks; a spawn() that waits starts nothing.
/// Fails: the first failure cancels the rest; flush() rethrows it, and spawn() from then on.
class windowed {
 public:
  explicit windowed(std::uint32_t limit) : room_(limit) {}

  /// Waits for room, then starts the task.
  template <class T>
  [[nodiscard]] task<> spawn(task<T> t) {
    if (tasks_.canceled()) [[unlikely]] {
      co_await flush();
      detail::throw_failure(canceled_error());
    }
    semaphore::hold room = co_await room_.acquire();
    tasks_.spawn(run<T>(std::move(t), std::move(room)));
  }
  /// As above, for a function, which is kept with its captures and these arguments.
  template <class F, class... Args>
    requires std::invocable<std::decay_t<F>&, std::decay_t<Args>&...>
  [[nodiscard]] task<> spawn(F&& f, Args&&... args) {
    detail::check_closures<F, Args...>();
    return spawn(detail::calling<std::decay_t<F>, std::decay_t<Args>...>(
        std::decay_t<F>(std::forward<F>(f)), std::decay_t<Args>(std::forward<Args>(args))...));
  }
  /// Waits until no task runs. More can be spawned afterwards, unless a task has failed.
  [[nodiscard]] scope::joiner flush() noexcept { return tasks_.join(); }
  /// As flush(), but throws nothing; rethrow_failure() throws the first failure.
  [[nodiscard]] scope::settler settled() noexcept { return tasks_.settled(); }
  void rethrow_failure() const { tasks_.rethrow_failure(); }
  [[nodiscard]] std::size_t running() const noexcept { return tasks_.live(); }
  /// Notes a failure as if it were a task's, and cancels the tasks.
  void fail(std::exception_ptr error) noexcept { tasks_.fail(std::move(error)); }

 private:
  template <class T>
  static task<> run(task<T> t, semaphore::hold room) {
    static_cast<void>(co_await std::move(t));
    room.release();
  }

  semaphore room_;  // before the tasks, whose frames hold its permits
  scope tasks_;
};

namespace detail {

template <class Body, class... Args>
auto run_with_window(std::uint32_t limit, Body body, Args... args)
    -> task<called_task_value<Body&, windowed&, Args&...>> {
  using value = called_task_value<Body&, windowed&, Args&...>;
  windowed w(limit);
  join_of<value> kept;
  try {
    if constexpr (std::is_void_v<value>) {
      co_await body(w, args...);
    } else {
      kept.store(co_await body(w, args...));
    }
  } catch (...) {
    w.fail(std::current_exception());
  }
  if constexpr (std::is_void_v<value>) {
    co_await w.flush();
  } else {
    co_await w.settled();
    w.rethrow_failure();
    co_return kept.take();
  }
}

template <class F>
task<> run_each_windowed(std::size_t count, std::uint32_t limit, F make) {
  windowed w(limit);
  try {
    for (std::size_t i = 0; i < count; ++i) co_await w.spawn(make(i));
  } catch (...) {
    w.fail(std::current_exception());
  }
  co_await w.flush();
}

}  // namespace detail

/// Runs body(window, args...) and waits for everything that it spawned. The body and the arguments
/// are kept in the frame, so a lambda may capture; pass std::ref for what should not be copied.
template <class Body, class... Args>
[[nodiscard("co_await it")]] auto with_window(std::uint32_t limit, Body&& body, Args&&... args) {
  detail::check_closures<Body, Args...>();
  return detail::run_with_window<std::decay_t<Body>, std::decay_t<Args>...>(
      limit, std::forward<Body>(body), std::forward<Args>(args)...);
}

/// Calls make(i) for i from 0 to count, and awaits the tasks that it gives, at most `limit` at a
/// time. The function is kept in the frame, and may capture; the first failure ends it all.
template <class F>
[[nodiscard]] task<> each_windowed(std::size_t count, std::uint32_t limit, F&& make) {
  detail::check_closures<F>();
  return detail::run_each_windowed<std::decay_t<F>>(count, limit, std::forward<F>(make));
}

}  // namespace heddle
