// SPDX-License-Identifier: MIT
// Waiting for an object that several colors share: a channel, a semaphore, a job. The object has a
// mutex, held for a few instructions, and lists of the operations that wait.
//
// An operation's waiter is listed, or notified, or neither; the object's lock guards that. A
// notified operation must ask again. If it ends without asking, it notifies the next one, so no
// wake is lost. Where it waits, a wake from another color arrives as a message, which keeps the
// waiter alive.
#pragma once

#include <list>
#include <memory>
#include <mutex>

#include "heddle/core/context.hh"
#include "heddle/core/message.hh"
#include "heddle/draft/operation.hh"

namespace heddle::from_draft {

class waiters;

/// One operation's entry. Thread: its color's, but for what the lock guards.
struct waiter {
  waiter() noexcept : color(worker::running().color) {}
  std::uint32_t color;
  heddle::wait* parked = nullptr;  ///< while its function waits; its color's
  // Under the object's lock.
  bool listed = false;
  bool told = false;
};

/// Thread: any, under the lock of the object that it is part of.
class waiters {
 public:
  /// Wakes the oldest waiter, which then asks again.
  void tell_one() {
    ++changes_;
    if (list_.empty()) return;
    const std::shared_ptr<waiter> first = std::move(list_.front());
    list_.pop_front();
    first->listed = false;
    first->told = true;
    worker& w = worker::here();
    if (first->color == w.color) {
      arrive(*first, w);
    } else {
      send_message(w, first->color, [first] { arrive(*first, worker::running()); });
    }
  }
  void tell_all() {
    while (!list_.empty()) tell_one();
    ++changes_;
  }
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }
  void add(const std::shared_ptr<waiter>& x) {
    x->listed = true;
    list_.push_back(x);
  }
  /// The operation ends.
  void leave(const std::shared_ptr<waiter>& x) {
    if (x->listed) list_.remove(x);
    x->listed = false;
    if (std::exchange(x->told, false)) tell_one();
  }

 private:
  static void arrive(waiter& x, worker& w) noexcept {
    if (x.parked != nullptr) wake(*std::exchange(x.parked, nullptr), w);
  }
  std::list<std::shared_ptr<waiter>> list_;
  std::uint64_t changes_ = 0;
};

namespace detail {

/// Waits until the waiter is notified, or the context is cancelled.
class told_wait : public heddle::wait {
 public:
  explicit told_wait(waiter& x) noexcept : wait(kind_of_wait), waiter_(x) {}
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  template <frame_promise P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) noexcept {
    worker& w = worker::running();
    if (w.current_context().canceled()) return false;
    waiter_.parked = this;
    park(*this, link_of(h), w);
    return true;
  }
  void await_resume() const noexcept { waiter_.parked = nullptr; }

 private:
  static const wait_kind kind_of_wait;
  waiter& waiter_;
};
inline const wait_kind told_wait::kind_of_wait{"channel", [](heddle::wait& x, worker& w) noexcept {
                                                 auto& self = static_cast<told_wait&>(x);
                                                 self.waiter_.parked = nullptr;
                                                 wake(x, w);
                                               }};

}  // namespace detail

/// The steps of an operation on an object with a member `lock`. `try_it` gives the result or
/// nothing, under the lock; `queue` names the list to wait in.
template <class T, class Object, class Try>
class shared_steps final : public steps<T> {
 public:
  shared_steps(std::shared_ptr<Object> on, waiters Object::* queue, Try try_it)
      : on_(std::move(on)),
        queue_(queue),
        try_(std::move(try_it)),
        waiter_(std::make_shared<waiter>()) {}
  ~shared_steps() override {
    const std::scoped_lock held(on_->lock);
    ((*on_).*queue_).leave(waiter_);
  }

  std::optional<stored<T>> poll() override {
    const std::scoped_lock held(on_->lock);
    waiter_->told = false;
    std::optional<stored<T>> got = try_(*on_);
    seen_ = ((*on_).*queue_).changes();
    return got;
  }
  task<> ready() override {
    {
      const std::scoped_lock held(on_->lock);
      waiters& queue = (*on_).*queue_;
      if (queue.changes() != seen_) co_return;
      if (!waiter_->listed) queue.add(waiter_);
    }
    co_await detail::told_wait(*waiter_);
  }

 private:
  std::shared_ptr<Object> on_;
  waiters Object::* queue_;
  Try try_;
  std::shared_ptr<waiter> waiter_;
  std::uint64_t seen_ = 0;
};

/// An operation of these steps.
template <class T, class Object, class Try>
[[nodiscard]] operation<T> shared_operation(std::shared_ptr<Object> on, waiters Object::* queue,
                                            Try try_it) {
  return operation<T>(
      std::make_unique<shared_steps<T, Object, Try>>(std::move(on), queue, std::move(try_it)));
}

}  // namespace heddle::from_draft
