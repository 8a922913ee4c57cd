// SPDX-License-Identifier: MIT
// channel<T>: values go from functions that push to functions that pop, in order, through a buffer
// of a chosen capacity. A value is handed to the oldest function that waits for one; without one it
// is queued; when the buffer is full, the pusher waits. Both ends can be used from both sides.
//
//   channel<job> jobs(64);
//   co_await jobs.push(j);                                // waits while 64 are queued
//   while (auto j = co_await jobs.pop()) work(*j);        // ends when jobs is closed and empty
//
// The awaiters are in channel_wait.hh.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "heddle/core/task.hh"
#include "heddle/sync/detail/channel_wait.hh"
#include "heddle/sync/detail/one_color.hh"
#include "heddle/sync/detail/ring.hh"

namespace heddle {

/// Thread: one color, the first that uses it; a use in another is reported (wrong-color).
///   shared_channel works across colors.
/// Resumes: a waiter later, from the queue, never inside push() or pop().
/// Owns: the values that are queued. It must outlive the functions that wait.
/// Cancel: a waiter leaves; its value was not pushed, or none was taken. A value that had been
///   handed over already is delivered.
/// Fails: pushing into a closed channel is broken_pipe; popping from one gives nothing.
template <class T>
class channel {
 public:
  /// No bound: pushing never waits. The program must bound what it queues.
  static constexpr std::size_t unbounded = ~std::size_t{0};

  /// With capacity 0 a pusher waits until its value is taken.
  explicit channel(std::size_t capacity,
                   std::source_location made = std::source_location::current()) noexcept
      : capacity_(capacity), color_(made) {}
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;
  ~channel() {
    HEDDLE_ASSERT(pushers_.empty(), "a channel ends while functions push into it; end them first");
    HEDDLE_ASSERT(poppers_.empty(), "a channel ends while functions pop from it; close() it first");
  }

  using push_awaiter = detail::push_wait<T>;
  using pop_awaiter = detail::pop_wait<T>;
  using pop_many_awaiter = detail::pop_many_wait<T>;

  /// Queues the value behind all others, or before them; waits while the channel is full.
  [[nodiscard("co_await it")]] push_awaiter push(
      T value, std::source_location where = std::source_location::current()) {
    check_color(where);
    return {*this, std::move(value), false};
  }
  [[nodiscard("co_await it")]] push_awaiter push_front(
      T value, std::source_location where = std::source_location::current()) {
    check_color(where);
    return {*this, std::move(value), true};
  }
  /// Takes the oldest value, or the newest one; nothing if the channel is closed and empty.
  [[nodiscard("co_await it")]] pop_awaiter pop(
      std::source_location where = std::source_location::current()) noexcept {
    check_color(where);
    return {*this, false};
  }
  [[nodiscard("co_await it")]] pop_awaiter pop_back(
      std::source_location where = std::source_location::current()) noexcept {
    check_color(where);
    return {*this, true};
  }
  /// Waits for a value and appends it to `out` with further values that are ready, at most
  /// `most` in all. Returns how many; 0 if the channel is closed and empty.
  [[nodiscard("co_await it")]] pop_many_awaiter pop_many(
      std::vector<T>& out, std::size_t most,
      std::source_location where = std::source_location::current()) noexcept {
    check_color(where);
    return {*this, out, most};
  }
  /// Queues all values in order, and waits while the channel is full.
  [[nodiscard]] task<> push_many(std::span<T> values,
                                 std::source_location where = std::source_location::current()) {
    for (T& value : values)
      if (!try_push(std::move(value), where)) co_await push(std::move(value), where);
  }
  /// Pops for an event, which gets the value, or is unblocked if the channel is closed. If the
  /// event ends before, it takes nothing.
  void pop(event<T> done, std::source_location where = std::source_location::current()) {
    pop_into(std::move(done), false, where);
  }
  void pop_back(event<T> done, std::source_location where = std::source_location::current()) {
    pop_into(std::move(done), true, where);
  }

  /// Pushes or pops, but never waits. A push is false, and leaves the value alone, if it would have
  /// to wait or the channel is closed.
  [[nodiscard]] bool try_push(T&& value,
                              std::source_location where = std::source_location::current());
  [[nodiscard]] std::optional<T> try_pop(
      std::source_location where = std::source_location::current()) noexcept;

  /// Closes the channel: functions that wait to push fail, functions that wait to pop get nothing.
  void close(std::source_location where = std::source_location::current()) noexcept;

  [[nodiscard]] bool closed() const noexcept { return closed_; }
  [[nodiscard]] bool empty() const noexcept { return queue_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return queue_.size(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

 private:
  friend push_awaiter;
  friend pop_awaiter;
  friend pop_many_awaiter;
  using push_place = detail::push_place<T>;
  using pop_place = detail::pop_place<T>;
  using pop_event = detail::pop_event<T>;

  void check_color(std::source_location where) noexcept {
    color_.check(worker::running(), kind, where);
  }
  /// The first waiter that can take a value from `other` (null: from any function).
  [[nodiscard]] pop_place* popper_for(const choosable* other) noexcept;
  [[nodiscard]] push_place* pusher_for(const choosable* other) noexcept;
  [[nodiscard]] bool full() const noexcept { return queue_.size() >= capacity_; }
  /// Whether the queue takes a value at once, in memory that it has: the usual case of a push.
  [[nodiscard]] bool takes_at_once() const noexcept { return queue_.size() < room_; }
  void enqueue(T&& value, bool front) {
    if (front) {
      queue_.push_front(std::move(value));
    } else {
      queue_.push_back(std::move(value));
    }
    if (!closed_) room_ = std::min(capacity_, queue_.room());
  }
  /// Queues the value in the usual case: there is room, and no function waits for a value.
  [[nodiscard]] bool enqueue_at_once(T& value) noexcept {
    if (!takes_at_once() || !poppers_.empty()) return false;
    queue_.push_back_in_room(std::move(value));
    return true;
  }
  /// Puts back the value of a function that was ended after it got one and before it ran.
  void give_again(T&& value) {
    if (pop_place* to = popper_for(nullptr)) {
      to->give(worker::here(), std::move(value));
    } else {
      enqueue(std::move(value), true);
    }
  }
  /// Lets a pusher in, now that there is room.
  void refill(worker& w) noexcept {
    if (!pushers_.empty()) let_in(w);
  }
  /// In the usual case, the first function in line pushes behind all others and makes no choice.
  [[gnu::noinline]] void let_in(worker& w) noexcept {
    push_place& first = pushers_.front();
    if (!takes_at_once() || !first.chooser->alone() || push_awaiter::at_front(first)) [[unlikely]] {
      choose_and_let_in(w);
    } else {
      queue_.push_back_in_room(first.take(w));
    }
  }
  [[gnu::noinline]] void choose_and_let_in(worker& w) noexcept {
    if (full()) return;
    if (push_place* from = pusher_for(nullptr)) {
      const bool front = push_awaiter::at_front(*from);
      enqueue(from->take(w), front);
    }
  }
  void pop_into(event<T> done, bool back, std::source_location where);
  /// Takes the values that are ready, at most `most`.
  void take_ready(std::vector<T>& out, std::size_t most) {
    while (most != 0) {
      for (; most != 0 && !queue_.empty(); --most) out.push_back(queue_.pop_front());
      while (!full() && pusher_for(nullptr) != nullptr) refill(worker::running());
      if (queue_.empty()) return;
    }
  }

  std::size_t capacity_;
  std::size_t room_ = 0;  // capacity that has memory; 0 in a closed channel
  bool closed_ = false;
  ring<T> queue_;
  list<push_place> pushers_;
  list<pop_place> poppers_;
  static constexpr detail::one_color_kind kind{
      "a channel",
      "use a shared_channel, which works across colors, or co_await enter() its color"};
  detail::one_color color_;
};

template <class T>
typename channel<T>::pop_place* channel<T>::popper_for(const choosable* other) noexcept {
  return detail::first_for(poppers_, other);
}

template <class T>
typename channel<T>::push_place* channel<T>::pusher_for(const choosable* other) noexcept {
  return detail::first_for(pushers_, other);
}

template <class T>
bool channel<T>::try_push(T&& value, std::source_location where) {
  color_.check(kind, where);
  if (enqueue_at_once(value)) return true;
  if (closed_) return false;
  if (pop_place* to = popper_for(nullptr)) {
    to->give(worker::here(), std::move(value));
    return true;
  }
  if (full()) return false;
  enqueue(std::move(value), false);
  return true;
}

template <class T>
std::optional<T> channel<T>::try_pop(std::source_location where) noexcept {
  color_.check(kind, where);
  if (!queue_.empty()) {
    std::optional<T> value(queue_.pop_front());
    refill(worker::here());
    return value;
  }
  if (push_place* from = pusher_for(nullptr)) return from->take(worker::here());
  return std::nullopt;
}

template <class T>
void channel<T>::close(std::source_location where) noexcept {
  color_.check(kind, where);
  closed_ = true;
  room_ = 0;
  while (push_place* p = pushers_.pop_front()) p->refuse(worker::here());
  while (pop_place* p = poppers_.pop_front()) p->refuse(worker::here());
}

template <class T>
void channel<T>::pop_into(event<T> done, bool back, std::source_location where) {
  color_.check(kind, where);
  if (!done) return;
  if (!queue_.empty()) {
    T value = back ? queue_.pop_back() : queue_.pop_front();
    refill(worker::here());
    done.trigger(std::move(value));
  } else if (push_place* from = pusher_for(nullptr)) {
    done.trigger(from->take(worker::here()));
  } else if (closed_) {
    done.unblock();
  } else {
    pop_event::make(poppers_, std::move(done));
  }
}

}  // namespace heddle
