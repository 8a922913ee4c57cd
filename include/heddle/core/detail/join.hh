// SPDX-License-Identifier: MIT
// join: the place for the result of a task. The function that awaits a task has a join in its own
// frame. The task's frame has a pointer to it, and stores its value or exception there at its end.
// So a frame needs no room for a result, and a finished child is freed before its parent goes on.
#pragma once

#include <coroutine>
#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "heddle/core/context.hh"

namespace heddle {

/// The receiver of the end of a task. The frame of the task is freed before the join is told.
struct join {
  /// Gives the coroutine to go on with, or null.
  using done_function = std::coroutine_handle<> (*)(join&, worker&) noexcept;

  /// A join that resumes the awaiting coroutine at once.
  join() noexcept = default;
  /// A join that calls f.
  explicit join(done_function f) noexcept : done(f) {}
  join(const join&) = delete;
  join& operator=(const join&) = delete;

  /// Notes that the task's frame is gone although the awaiting frame, which is queued, has not gone
  /// on: that one may be destroyed before, and must not destroy the task again.
  void note_gone() noexcept {
    done = [](join&, worker&) noexcept -> std::coroutine_handle<> { return {}; };
  }

  std::coroutine_handle<> waiter;  ///< the awaiting frame, when `done` is null
  done_function done = nullptr;
  std::exception_ptr error;
};

namespace detail {
/// Notes that the exception left a task and is kept at `to` now. If the function whose frame has
/// `to` ends with the exception, the report names that function next. Thread: any.
[[gnu::cold, gnu::noinline]] void exception_moved_to(const std::exception_ptr& error,
                                                     const void* to) noexcept;
}  // namespace detail

/// A join with room for one result.
template <class T>
struct join_of : join {
  join_of() noexcept {}
  explicit join_of(done_function f) noexcept : join(f) {}
  ~join_of() {
    if (has_value) std::destroy_at(std::addressof(value));
  }
  template <class U>
  void store(U&& result) {
    std::construct_at(std::addressof(value), std::forward<U>(result));
    has_value = true;
  }
  [[nodiscard]] T take() { return std::move(value); }

  union {
    T value;  // only when has_value
  };
  bool has_value = false;
};

template <class T>
struct join_of<T&> : join {
  using join::join;
  void store(T& result) noexcept { value = std::addressof(result); }
  [[nodiscard]] T& take() noexcept { return *value; }

  T* value = nullptr;
};

template <>
struct join_of<void> : join {
  using join::join;
  void take() noexcept {}
};

}  // namespace heddle
