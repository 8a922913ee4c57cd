// SPDX-License-Identifier: MIT
// bus.each<T>(len_max): a queue of a topic's raises, for tasks that must not miss one. A complex
// event is then a task: a double click is two clicks within a span.
//
//   auto clicks = b.each<click>(16);
//   co_await clicks.next();
//   const auto second = co_await as_expected(with_timeout(clicks.next(), 300ms));
#pragma once

#include <memory>
#include <utility>

#include "heddle/bus/detail/handler.hh"
#include "heddle/core/expected.hh"
#include "heddle/sync/channel.hh"

namespace heddle {

class bus;

namespace detail {

/// The state that a queue and the handler that fills it share. `owner` is null after the bus ended.
template <copyable_topic T>
struct each_state {
  using copies = typename T::signature::copies;
  each_state(bus& b, std::size_t len_max) : owner(&b), queue(len_max) {}

  bus* owner;
  binding bound;
  channel<copies> queue;
  std::uint64_t dropped = 0;
};

/// Waits for the oldest raise. The end of the bus or of the queue ends it as a cancel request does.
template <copyable_topic T>
class [[nodiscard("co_await it")]] each_wait : public pop_wait<typename T::signature::copies> {
  using copies = typename T::signature::copies;

 public:
  using value_type = typename topic_value<T>::type;

  explicit each_wait(channel<copies>& from) noexcept : pop_wait<copies>(from, false) {}
  value_type await_resume() {
    std::optional<copies> got = pop_wait<copies>::await_resume();
    if (!got) throw_failure(canceled_error());
    return value_of(std::move(*got));
  }
  [[nodiscard]] result<value_type> await_result() {
    result<std::optional<copies>> got = pop_wait<copies>::await_result();
    if (!got) return std::unexpected(got.error());
    if (!*got) return std::unexpected(canceled_error());
    if constexpr (std::is_void_v<value_type>) {
      return {};
    } else {
      return value_of(std::move(**got));
    }
  }

 private:
  static value_type value_of([[maybe_unused]] copies&& all) {
    if constexpr (topic_value<T>::count == 1) {
      return std::get<0>(std::move(all));
    } else if constexpr (topic_value<T>::count > 1) {
      return std::move(all);
    }
  }
};

template <class R, class... Args, class T>
struct each_handler<topic_signature<R, Args...>, T> {
  struct cell {
    std::shared_ptr<each_state<T>> state;
  };
  static R call(void* self, pass_t<Args>... args) {
    each_state<T>& s = *static_cast<cell*>(self)->state;
    if (!s.queue.try_push(typename T::signature::copies(args...))) ++s.dropped;
    if constexpr (!std::is_void_v<R>) return flow::go_on;
  }
  /// Called when the bus ends, or after the queue has ended.
  static void destroy(void* self) {
    const std::unique_ptr<cell> gone(static_cast<cell*>(self));
    gone->state->owner = nullptr;
    gone->state->queue.close();
  }
};

}  // namespace detail

/// The raises of one topic since bus::each() made the queue. A raise that is halted is not queued.
///
/// Thread: the bus's color.
/// Resumes: a waiter later, from the ready queue. Several waiters get one raise each, in order.
/// Owns: copies of the arguments, at most `len_max`; more raises are dropped and counted. It may
///   outlive the bus, and must outlive the tasks that wait.
/// Cancel: a wait that is cancelled takes no raise. After the end of the bus next() gives the
/// queued
///   raises, and then ends with operation_canceled.
template <copyable_topic T>
class [[nodiscard("raises are queued as long as it lives")]] raise_queue {
 public:
  explicit raise_queue(std::shared_ptr<detail::each_state<T>> state) noexcept
      : state_(std::move(state)) {}
  raise_queue(raise_queue&&) noexcept = default;
  raise_queue& operator=(raise_queue&& other) noexcept {
    end();
    state_ = std::move(other.state_);
    return *this;
  }
  ~raise_queue() { end(); }

  /// Takes the oldest queued raise, or waits for one: gives nothing, the one argument, or a tuple.
  [[nodiscard("co_await it")]] detail::each_wait<T> next() noexcept {
    return detail::each_wait<T>(state_->queue);
  }
  /// Forgets the queued raises.
  void clear() noexcept {
    while (state_->queue.try_pop()) {
    }
  }
  /// The number of queued raises.
  [[nodiscard]] std::size_t size() const noexcept { return state_->queue.size(); }
  [[nodiscard]] bool empty() const noexcept { return state_->queue.empty(); }
  /// The number of raises that found the queue full.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return state_->dropped; }

 private:
  void end() noexcept;

  std::shared_ptr<detail::each_state<T>> state_;
};

}  // namespace heddle
