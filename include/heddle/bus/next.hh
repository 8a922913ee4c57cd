// SPDX-License-Identifier: MIT
// co_await bus.next<T>(): a task waits for the next raise of a topic. The first wait binds one more
// handler after all others; it serves all waiting tasks and stays bound.
#pragma once

#include <coroutine>
#include <limits>
#include <optional>

#include "heddle/bus/detail/handler.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/promise.hh"

namespace heddle {

class bus;

/// Resumes: later, from the ready queue, after the raise has reached its end.
/// Cancel: ends at once with operation_canceled; the end of the bus does the same.
template <any_topic T>
class next_raise : wait, detail::topic_waiter {
 public:
  using value_type = typename topic_value<T>::type;

  explicit next_raise(bus& b) noexcept : wait(kind_of_wait), bus_(b) {}
  /// A copy does not wait, even if the original does.
  next_raise(const next_raise& other) noexcept : next_raise(other.bus_) {}

  [[nodiscard]] static bool await_ready() noexcept { return false; }
  template <frame_promise P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h);
  value_type await_resume() {
    if (!value_) detail::throw_failure(canceled_error());
    return take();
  }
  [[nodiscard]] result<value_type> await_result() {
    if (!value_) return std::unexpected(canceled_error());
    if constexpr (std::is_void_v<value_type>) {
      return {};
    } else {
      return take();
    }
  }

 private:
  template <class Signature, class Topic>
  friend struct detail::waiters_handler;
  static const wait_kind kind_of_wait;

  static void end_wait(topic_waiter& x) noexcept {
    auto& self = static_cast<next_raise&>(x);
    static_cast<topic_waiter&>(self).unlink();
    wake(self, worker::running());
  }
  value_type take() {
    if constexpr (topic_value<T>::count == 1) {
      return std::get<0>(*std::move(value_));
    } else if constexpr (topic_value<T>::count > 1) {
      return *std::move(value_);
    }
  }

  bus& bus_;
  std::optional<typename T::signature::copies> value_;
};

template <any_topic T>
const wait_kind next_raise<T>::kind_of_wait{
    "topic", [](wait& x, worker&) noexcept { end_wait(static_cast<next_raise&>(x)); }};

namespace detail {

/// The handler that resumes the tasks waiting for T.
template <class R, class... Args, class T>
struct waiters_handler<topic_signature<R, Args...>, T> {
  static constexpr std::int64_t order = std::numeric_limits<std::int64_t>::max();

  static R call([[maybe_unused]] void* self, [[maybe_unused]] pass_t<Args>... args) {
    if constexpr (copyable_topic<T>) {  // other topics cannot be awaited
      static_cast<topic_record*>(self)->waiters.each([&](topic_waiter& x) {
        if (x.late) return;
        auto& waiter = static_cast<next_raise<T>&>(x);
        waiter.value_.emplace(args...);
        next_raise<T>::end_wait(waiter);
      });
    }
    if constexpr (!std::is_void_v<R>) return flow::go_on;
  }
};

}  // namespace detail
}  // namespace heddle
