// SPDX-License-Identifier: MIT
// windowed: runs tasks, never more than a given number at a time. spawn() waits until there is
// room, flush() until all have ended.
//
//   windowed w(16);
//   for (const auto& name : names) co_await w.spawn(fetch(name));
//   co_await w.flush();                         // rethrows the first failure
#pragma once

#include "heddle/core/scope.hh"
#include "heddle/sync/semaphore.hh"

namespace heddle {

/// Thread: one color.
/// Owns: the tasks that run; co_await flush() before it ends.
/// Cancel: cancelling the context around reaches the tasks; a spawn() that waits starts nothing.
/// Fails: the first failure cancels the rest; flush() rethrows it, and spawn() from then on.
class windowed {
 public:
  explicit windowed(std::uint32_t limit) : room_(limit) {}

  /// Waits for room, then starts the task.
  template <class T>
  [[nodiscard]] task<> spawn(task<T> t) {
    if (tasks_.canceled()) co_await flush();
    semaphore::hold room = co_await room_.acquire();
    tasks_.spawn(run<T>(std::move(t), std::move(room)));
  }
  /// Waits until nothing runs. More can be spawned afterwards, unless a task has failed.
  [[nodiscard]] scope::joiner flush() noexcept { return tasks_.join(); }
  [[nodiscard]] std::size_t running() const noexcept { return tasks_.live(); }

 private:
  template <class T>
  static task<> run(task<T> t, semaphore::hold room) {
    static_cast<void>(co_await std::move(t));
    room.release();
  }

  semaphore room_;  // before the tasks, whose frames hold its permits
  scope tasks_;
};

/// Calls make(i) for i from 0 to count, and awaits the tasks that it gives, at most `limit` at a
/// time. The function must not capture what dies before; the first failure ends it all.
template <class F>
[[nodiscard]] task<> each_windowed(std::size_t count, std::uint32_t limit, F make) {
  windowed w(limit);
  std::exception_ptr error;
  try {
    for (std::size_t i = 0; i < count; ++i) co_await w.spawn(make(i));
  } catch (...) {
    error = std::current_exception();
  }
  co_await w.flush();
  if (error) std::rethrow_exception(error);
}

}  // namespace heddle
