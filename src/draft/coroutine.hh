// SPDX-License-Identifier: MIT
// A lazy coroutine that resumes its awaiter at its end.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace heddle::draft {

// Lazy coroutines that resume their awaiter.
template <class T>
class co;

struct promise_common {
  std::coroutine_handle<> waiter = std::noop_coroutine();
  std::exception_ptr error;
  static std::suspend_always initial_suspend() noexcept { return {}; }
  struct final_awaiter {
    static bool await_ready() noexcept { return false; }
    template <class P>
    static std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
      return h.promise().waiter;
    }
    static void await_resume() noexcept {}
  };
  static final_awaiter final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { error = std::current_exception(); }
};

template <class T>
struct promise : promise_common {
  std::optional<T> value;
  co<T> get_return_object() noexcept;
  void return_value(T v) { value = std::move(v); }
};
template <>
struct promise<void> : promise_common {
  co<void> get_return_object() noexcept;
  static void return_void() noexcept {}
};

template <class T>
class co {
 public:
  using promise_type = promise<T>;
  explicit co(std::coroutine_handle<promise_type> h) noexcept : handle_(h) {}
  co(co&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  co& operator=(co&&) = delete;
  ~co() {
    if (handle_) handle_.destroy();
  }
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) noexcept {
    handle_.promise().waiter = h;
    return handle_;
  }
  T await_resume() {
    if (handle_.promise().error) std::rethrow_exception(handle_.promise().error);
    if constexpr (!std::is_void_v<T>) return std::move(*handle_.promise().value);
  }
  void start() { handle_.resume(); }
  [[nodiscard]] bool done() const { return handle_.done(); }

 private:
  std::coroutine_handle<promise_type> handle_;
};
template <class T>
co<T> promise<T>::get_return_object() noexcept {
  return co<T>(std::coroutine_handle<promise<T>>::from_promise(*this));
}
inline co<void> promise<void>::get_return_object() noexcept {
  return co<void>(std::coroutine_handle<promise<void>>::from_promise(*this));
}

}  // namespace heddle::draft
