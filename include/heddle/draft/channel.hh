// SPDX-License-Identifier: MIT
// Channels, broadcasts and semaphores that threads of all colors share. They are handles: copies
// name one object, which lives as long as a handle does.
//
//   draft::channel<int> jobs(64);
//   co_await jobs.send(7);
//   const int next = co_await jobs.receive();
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "heddle/draft/waiters.hh"

namespace heddle::from_draft {

inline constexpr std::int64_t channel_size_max = 1 << 20;

/// Thread: any. A channel that holds `size` values, 1 to 1,048,576; else error.invalid.
template <class T>
class channel {
 public:
  channel() noexcept = default;
  explicit channel(std::int64_t size) : state_(std::make_shared<state>()) {
    if (size < 1 || size > channel_size_max) throw error("invalid");
    state_->size = static_cast<std::size_t>(size);
  }

  /// Waits while it is full. Fails: error.closed.
  [[nodiscard]] operation<void> send(T value) const {
    return shared_operation<void>(
        state_, &state::senders, [value = std::move(value)](state& s) mutable {
          return s.push(value) ? std::optional(std::monostate()) : std::nullopt;
        });
  }
  /// The next value. Fails: error.eof when it is closed and empty.
  [[nodiscard]] operation<T> receive() const {
    return shared_operation<T>(state_, &state::receivers, [](state& s) { return s.pop(); });
  }
  /// Throws error.full when there is no room now, and error.closed.
  void try_send(T value) const {
    const std::scoped_lock held(state_->lock);
    if (!state_->push(value)) throw error("full");
  }
  /// Throws error.empty when there is no value now, and error.eof.
  [[nodiscard]] T try_receive() const {
    const std::scoped_lock held(state_->lock);
    std::optional<T> got = state_->pop();
    if (!got) throw error("empty");
    return std::move(*got);
  }
  /// Nothing more is sent; the values in it can still be received.
  void close() const {
    const std::scoped_lock held(state_->lock);
    state_->closed = true;
    state_->senders.tell_all();
    state_->receivers.tell_all();
  }

 private:
  struct state {
    bool push(T& value) {
      if (closed) throw error("closed");
      if (values.size() == size) return false;
      values.push_back(std::move(value));
      receivers.tell_one();
      return true;
    }
    std::optional<T> pop() {
      if (values.empty()) {
        if (closed) throw error("eof");
        return std::nullopt;
      }
      std::optional<T> got(std::move(values.front()));
      values.pop_front();
      senders.tell_one();
      return got;
    }
    std::mutex lock;
    waiters senders;
    waiters receivers;
    std::deque<T> values;
    std::size_t size = 0;
    bool closed = false;
  };
  std::shared_ptr<state> state_;
};

template <class T>
class broadcast;

/// One reader of a broadcast, with a queue of its own.
template <class T>
class subscription {
 public:
  subscription() noexcept = default;
  subscription(subscription&&) noexcept = default;
  subscription& operator=(subscription&&) noexcept = default;
  ~subscription() {
    if (state_ == nullptr) return;
    const std::scoped_lock held(state_->lock);
    state_->open = false;
  }

  /// The next value. Fails: error.missed once when values were lost because they were not received.
  [[nodiscard]] operation<T> receive() const {
    return shared_operation<T>(state_, &state::receivers, [](state& s) -> std::optional<T> {
      if (std::exchange(s.missed, false)) throw error("missed");
      if (s.values.empty()) return std::nullopt;
      std::optional<T> got(std::move(s.values.front()));
      s.values.pop_front();
      return got;
    });
  }

 private:
  friend class broadcast<T>;
  struct state {
    std::mutex lock;
    waiters receivers;
    std::deque<T> values;
    std::size_t size = 0;
    bool missed = false;
    bool open = true;
  };
  explicit subscription(std::shared_ptr<state> s) noexcept : state_(std::move(s)) {}
  std::shared_ptr<state> state_;
};

/// Thread: any. A value that is sent goes to all who subscribed before.
template <class T>
class broadcast {
 public:
  /// Without subscribers. (In Draft, broadcast<T>() may fail for want of memory.)
  broadcast() : state_(std::make_shared<state>()) {}

  /// Never waits. A subscriber that is behind by its size misses the oldest value.
  void send(const T& value) const {
    const std::scoped_lock held(state_->lock);
    std::erase_if(state_->all, [&](const auto& s) {
      const std::scoped_lock inner(s->lock);
      if (!s->open) return true;
      if (s->values.size() == s->size) {
        s->values.pop_front();
        s->missed = true;
      }
      s->values.push_back(value);
      s->receivers.tell_one();
      return false;
    });
  }
  /// From now on, at most `size` values that were not received yet.
  [[nodiscard]] subscription<T> subscribe(std::int64_t size) const {
    if (size < 1 || size > channel_size_max) throw error("invalid");
    auto made = std::make_shared<typename subscription<T>::state>();
    made->size = static_cast<std::size_t>(size);
    const std::scoped_lock held(state_->lock);
    state_->all.push_back(made);
    return subscription<T>(std::move(made));
  }

 private:
  struct state {
    std::mutex lock;
    std::vector<std::shared_ptr<typename subscription<T>::state>> all;
  };
  std::shared_ptr<state> state_;
};

namespace detail {
struct semaphore_state {
  std::mutex lock;
  waiters queue;
  std::int64_t left = 0;
};
}  // namespace detail

/// One turn of a semaphore, given back at its end.
class permit {
 public:
  permit() noexcept = default;
  explicit permit(std::shared_ptr<detail::semaphore_state> of) noexcept : of_(std::move(of)) {}
  permit(permit&&) noexcept = default;
  permit& operator=(permit&& other) noexcept {
    std::swap(of_, other.of_);
    return *this;
  }
  ~permit() {
    if (of_ == nullptr) return;
    const std::scoped_lock held(of_->lock);
    ++of_->left;
    of_->queue.tell_one();
  }

 private:
  std::shared_ptr<detail::semaphore_state> of_;
};

/// Thread: any. Throws error.invalid for less than no permits.
class semaphore {
 public:
  semaphore() noexcept = default;
  explicit semaphore(std::int64_t permits) : state_(std::make_shared<detail::semaphore_state>()) {
    if (permits < 0) throw error("invalid");
    state_->left = permits;
  }
  /// Waits for a permit.
  [[nodiscard]] operation<permit> acquire() const {
    return shared_operation<permit>(
        state_, &detail::semaphore_state::queue,
        [of = state_](detail::semaphore_state& s) -> std::optional<permit> {
          if (s.left == 0) return std::nullopt;
          --s.left;
          return permit(of);
        });
  }

 private:
  std::shared_ptr<detail::semaphore_state> state_;
};

}  // namespace heddle::from_draft
