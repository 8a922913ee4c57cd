// SPDX-License-Identifier: MIT
// channel<T>: values go from those who push to those who pop, in order, through a buffer of a
// chosen capacity. A value is handed to the oldest function that waits for one; without one it is
// queued; when the buffer is full, the pusher waits. Both ends can be used from both sides.
//
//   channel<job> jobs(64);
//   co_await jobs.push(j);                                // waits while 64 are queued
//   while (auto j = co_await jobs.pop()) work(*j);        // ends when jobs is closed and empty
//
// The awaiters stand in channel_wait.hh.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "heddle/core/task.hh"
#include "heddle/sync/channel_wait.hh"
#include "heddle/sync/ring.hh"

namespace heddle {

/// Thread: one color.
/// Resumes: a waiter later, from the queue, never inside push() or pop().
/// Owns: the values that are queued. It must outlive those who wait.
/// Cancel: a waiter leaves; its value was not pushed, or none was taken. What had been handed over
///   is delivered.
/// Fails: pushing into a closed channel is broken_pipe; popping from one gives nothing.
template <class T>
class channel {
 public:
  /// No bound: pushing never waits. The program must bound what it queues.
  static constexpr std::size_t unbounded = ~std::size_t{0};

  /// With capacity 0 a pusher waits until somebody takes its value.
  explicit channel(std::size_t capacity) noexcept : capacity_(capacity) {}
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
  [[nodiscard]] push_awaiter push(T value) { return {*this, std::move(value), false}; }
  [[nodiscard]] push_awaiter push_front(T value) { return {*this, std::move(value), true}; }
  /// Takes the oldest value, or the newest one; nothing when it is closed and empty.
  [[nodiscard]] pop_awaiter pop() noexcept { return {*this, false}; }
  [[nodiscard]] pop_awaiter pop_back() noexcept { return {*this, true}; }
  /// Waits for a value and appends it to `out` with those that stand ready behind it, at most
  /// `most` in all. Gives how many; 0 when the channel is closed and empty.
  [[nodiscard]] pop_many_awaiter pop_many(std::vector<T>& out, std::size_t most) noexcept {
    return {*this, out, most};
  }
  /// Queues all of them in order, and waits where the channel is full.
  [[nodiscard]] task<> push_many(std::span<T> values) {
    for (T& value : values)
      if (!try_push(std::move(value))) co_await push(std::move(value));
  }
  /// The event gets the value, or is unblocked when the channel is closed. When it ends before, it
  /// takes nothing.
  void pop(event<T> done) { pop_into(std::move(done), false); }
  void pop_back(event<T> done) { pop_into(std::move(done), true); }

  /// False, and the value left alone, when that would mean waiting or the channel is closed.
  [[nodiscard]] bool try_push(T&& value);
  [[nodiscard]] std::optional<T> try_pop() noexcept;

  /// No more values. Those who wait to push fail, those who wait to pop get nothing.
  void close() noexcept;

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

  /// The first in line that can deal with `other` (null: with anybody).
  [[nodiscard]] pop_place* popper_for(const choosable* other) noexcept;
  [[nodiscard]] push_place* pusher_for(const choosable* other) noexcept;
  [[nodiscard]] bool full() const noexcept { return queue_.size() >= capacity_; }
  void enqueue(T&& value, bool front) {
    if (front) {
      queue_.push_front(std::move(value));
    } else {
      queue_.push_back(std::move(value));
    }
  }
  /// The usual case: room, and nobody who waits for a value.
  [[nodiscard]] bool enqueue_at_once(T& value) noexcept {
    if (closed_ || full() || queue_.grows() || !poppers_.empty()) return false;
    queue_.push_back_in_room(std::move(value));
    return true;
  }
  /// Puts back what a function took that was ended before it ran.
  void give_again(T&& value) {
    if (pop_place* to = popper_for(nullptr)) {
      to->give(worker::here(), std::move(value));
    } else {
      queue_.push_front(std::move(value));
    }
  }
  /// Lets a pusher in, now that there is room.
  void refill(worker& w) noexcept {
    if (!pushers_.empty()) let_in(w);
  }
  /// The usual case: the first function in line pushes behind all others, and does nothing else.
  [[gnu::noinline]] void let_in(worker& w) noexcept {
    push_place& first = pushers_.front();
    if (full() || queue_.grows() || !first.chooser->alone() || push_awaiter::at_front(first))
        [[unlikely]] {
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
  void pop_into(event<T> done, bool back);
  /// Takes what stands ready, at most `most`.
  void take_ready(std::vector<T>& out, std::size_t most) {
    while (most != 0) {
      for (; most != 0 && !queue_.empty(); --most) out.push_back(queue_.pop_front());
      while (!full() && pusher_for(nullptr) != nullptr) refill(worker::running());
      if (queue_.empty()) return;
    }
  }

  std::size_t capacity_;
  bool closed_ = false;
  ring<T> queue_;
  list<push_place> pushers_;
  list<pop_place> poppers_;
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
bool channel<T>::try_push(T&& value) {
  if (enqueue_at_once(value)) return true;
  if (closed_) return false;
  if (pop_place* to = popper_for(nullptr)) {
    to->give(worker::here(), std::move(value));
    return true;
  }
  if (full()) return false;
  queue_.push_back(std::move(value));
  return true;
}

template <class T>
std::optional<T> channel<T>::try_pop() noexcept {
  if (!queue_.empty()) {
    std::optional<T> value(queue_.pop_front());
    refill(worker::here());
    return value;
  }
  if (push_place* from = pusher_for(nullptr)) return from->take(worker::here());
  return std::nullopt;
}

template <class T>
void channel<T>::close() noexcept {
  closed_ = true;
  while (push_place* p = pushers_.pop_front()) p->refuse(worker::here());
  while (pop_place* p = poppers_.pop_front()) p->refuse(worker::here());
}

template <class T>
void channel<T>::pop_into(event<T> done, bool back) {
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
