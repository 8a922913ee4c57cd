// SPDX-License-Identifier: MIT
// task<T>: a function that may wait. It is lazy and owned: awaited, spawned into a scope, started
// with an event, or destroyed before it started. Suspended it is one frame: a minimal one takes 40
// bytes.
#pragma once

#include <type_traits>
#include <utility>

#include "heddle/core/detail/late_drop.hh"
#include "heddle/core/promise.hh"

namespace heddle {

template <class T = void>
class task;

namespace detail {

inline constexpr const char* empty_task =
    "this task is empty: it was awaited, spawned or moved from already (make a new one), or its "
    "function has no co_await and no co_return and gave back task<>() (end it with co_return)";

struct final_awaiter {
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  template <frame_promise P>
  [[nodiscard]] static std::coroutine_handle<> await_suspend(
      std::coroutine_handle<P> ended) noexcept {
    join* j = ended.promise().parent();
    asm("" : "+r"(j));  // one register over the call below, not the two halves
    ended.destroy();
    if (j->done == nullptr) [[likely]] {
      const std::coroutine_handle<> waiter = j->waiter;
      const std::coroutine_handle<> to = transfer_to(waiter);
      if (to != waiter) j->note_gone();  // never with Clang, which knows it
      return to;
    }
    const std::coroutine_handle<> next = j->done(*j, worker::running());
    return next ? next : std::noop_coroutine();
  }
  static void await_resume() noexcept {}
};

template <class T>
struct task_promise;

template <class T>
struct task_promise_common : task_promise_base {
  [[nodiscard]] task<T> get_return_object() noexcept;
  [[nodiscard]] static std::suspend_always initial_suspend() noexcept { return {}; }
  [[nodiscard]] static final_awaiter final_suspend() noexcept { return {}; }
  [[gnu::cold, gnu::noinline]] void unhandled_exception() noexcept {
    end_of_failed_function();
    note_exception(*this);
    parent()->error = std::current_exception();
  }
};

/// A type that a bit-field can have. It is returned by value, because no reference binds to a
/// bit-field.
template <class U, class T>
concept returned_by_value =
    (std::is_arithmetic_v<U> || std::is_enum_v<U>) && std::convertible_to<U, T>;

template <class T>
struct task_promise : task_promise_common<T> {
  template <class U = T>  // also for co_return {a, b}
    requires(std::convertible_to<U &&, T> && !returned_by_value<std::remove_cvref_t<U>, T>)
  [[gnu::always_inline]] void return_value(U&& value) {
    static_cast<join_of<T>*>(this->parent())->store(std::forward<U>(value));
    this->end_of_function();
  }
  template <class U = T>
    requires returned_by_value<U, T>
  [[gnu::always_inline]] void return_value(U value) {
    static_cast<join_of<T>*>(this->parent())->store(value);
    this->end_of_function();
  }
};

template <>
struct task_promise<void> : task_promise_common<void> {
  [[gnu::always_inline]] void return_void() noexcept { end_of_function(); }
};

}  // namespace detail

/// A task that has not started, or nothing.
///
/// Thread: one color.
/// Resumes: the function that awaits it goes on at once when it ends, in the same turn.
/// Owns: its frame until it is awaited or spawned; the frame frees itself when the function ends.
/// Cancel: its waits end with operation_canceled when the context it runs in is cancelled.
/// Fails: an exception that leaves the function is rethrown where it is awaited.
///
///   task<int> twice(tcp_stream& s) { int n = co_await read_number(s); co_return 2 * n; }
template <class T>
class [[nodiscard("a task does nothing until it is awaited or spawned: write co_await")]] task {
 public:
  using promise_type = detail::task_promise<T>;
  using value_type = T;
  using handle = std::coroutine_handle<promise_type>;

  task() noexcept = default;
  explicit task(handle h) noexcept : handle_(h) {}
  task(task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  task& operator=(task&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = std::exchange(other.handle_, {});
    }
    return *this;
  }
  ~task() { reset(); }

  /// Destroys the task; it has not started, so nothing of its body has run.
  void reset() noexcept {
    if (handle_) detail::destroy_unstarted(std::exchange(handle_, {}));
  }
  [[nodiscard]] explicit operator bool() const& noexcept { return static_cast<bool>(handle_); }
  explicit operator bool() && = delete;  // a call that is tested: write co_await before it
  /// A task is not its value: this gives the compiler's error.
  template <class U>
    requires(!std::is_void_v<T> && std::same_as<U, std::remove_cvref_t<T>> &&
             !std::same_as<U, bool>)
  operator U() && {
    static_assert(detail::misused<U>,
                  "this is the task, not its value: write co_await before the call");
  }

  /// Gives up the frame to a caller that starts it itself (a scope, start()).
  [[nodiscard]] handle release() noexcept { return std::exchange(handle_, {}); }

  class awaiter : public join_of<T> {
   public:
    explicit awaiter(handle child) noexcept : child_(child) {}
    ~awaiter() {
      // The child never started, or the parent dies meanwhile.
      if (child_ && this->done == nullptr) child_.destroy();
    }
    [[nodiscard]] bool await_ready() const noexcept {
      HEDDLE_ASSERT(child_, detail::empty_task);
      return false;
    }
    [[nodiscard]] std::coroutine_handle<> await_suspend(std::coroutine_handle<> parent) noexcept {
      this->waiter = parent;
      child_.promise().set_parent(*this);
      return detail::transfer_to(child_);
    }
    T await_resume() {
      child_ = nullptr;
      if (this->error) [[unlikely]]
        std::rethrow_exception(std::move(this->error));
      return this->take();
    }

   private:
    handle child_;
  };

  [[nodiscard]] awaiter operator co_await() && noexcept { return awaiter(release()); }
  awaiter operator co_await() & = delete;  // awaiting uses it up: co_await std::move(t)

 private:
  handle handle_;
};

template <class T>
task<T> detail::task_promise_common<T>::get_return_object() noexcept {
  using promise = task_promise<T>;
  return task<T>(std::coroutine_handle<promise>::from_promise(static_cast<promise&>(*this)));
}

}  // namespace heddle
