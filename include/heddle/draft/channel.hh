// SPDX-License-Identifier: MIT
// Channels, broadcasts and semaphores that threads of all colors share. They are handles: copies
// name one object of heddle/abi.h, which lives as long as a handle does.
//
//   draft::channel<int> jobs(64);
//   co_await jobs.send(7);
//   const int next = co_await jobs.receive();
#pragma once

#include "heddle/draft/operation.hh"

namespace heddle::from_draft {

/// Thread: any worker's. A channel that holds `size` values, 1 to 1,048,576; else error.invalid.
template <class T>
class channel {
  using cell = detail::cell<T>;
  using raw = typename cell::raw;

 public:
  channel() noexcept = default;
  explicit channel(std::int64_t size)
      : object_(detail::made<heddle_channel>([&](heddle_channel** out) {
          return heddle_channel_new(this_worker(), size, cell::size, cell::drop, out);
        })) {}

  /// Waits while it is full. Fails: error.closed.
  [[nodiscard]] auto send(T value) const {
    return detail::ask<heddle_channel_send>(object_, detail::parcel<T>(std::move(value)));
  }
  /// The next value. Fails: error.eof when it is closed and empty.
  [[nodiscard]] auto receive() const {
    return detail::ask<heddle_channel_receive, T, raw>(object_);
  }
  /// Throws error.full when there is no room now, and error.closed.
  void try_send(T value) const {
    detail::parcel<T> sent(std::move(value));
    check_status(heddle_channel_try_send(this_worker(), object_.get(), sent.give()));
  }
  /// Throws error.empty when there is no value now, and error.eof.
  [[nodiscard]] T try_receive() const {
    raw out{};
    check_status(heddle_channel_try_receive(this_worker(), object_.get(), &out));
    return cell::take(out);
  }
  /// Nothing more is sent; the values in it can still be received.
  void close() const { heddle_channel_close(this_worker(), object_.get()); }

 private:
  detail::shared_handle<heddle_channel, heddle_channel_retain, heddle_channel_release> object_;
};

/// One reader of a broadcast, with a queue of its own.
template <class T>
class subscription {
 public:
  subscription() noexcept = default;
  explicit subscription(heddle_subscription* made) noexcept : object_(made) {}

  /// The next value. Fails: error.missed once when values were lost because they were not received.
  [[nodiscard]] auto receive() const {
    return detail::ask<heddle_subscription_receive, T, typename detail::cell<T>::raw>(
        object_.get());
  }

 private:
  detail::owned_handle<heddle_subscription, heddle_subscription_release> object_;
};

/// Thread: any worker's. A value that is sent goes to all who subscribed before.
template <class T>
class broadcast {
  using cell = detail::cell<T>;

 public:
  /// Without subscribers.
  broadcast()
      : object_(detail::made<heddle_broadcast>([](heddle_broadcast** out) {
          return heddle_broadcast_new(this_worker(), cell::size, cell::copy, cell::drop, out);
        })) {}

  /// Never waits. A subscriber that is behind by its size misses the oldest value.
  void send(T value) const {
    detail::parcel<T> copied(std::move(value));  // each subscriber gets a copy
    heddle_broadcast_send(this_worker(), object_.get(), copied.for_c());
  }
  /// From now on, at most `size` values that were not received yet.
  [[nodiscard]] subscription<T> subscribe(std::int64_t size) const {
    return subscription<T>(detail::made<heddle_subscription>([&](heddle_subscription** out) {
      return heddle_broadcast_subscribe(this_worker(), object_.get(), size, out);
    }));
  }

 private:
  detail::shared_handle<heddle_broadcast, heddle_broadcast_retain, heddle_broadcast_release>
      object_;
};

/// One turn of a semaphore, given back at its end.
class permit {
 public:
  using handle_type = heddle_semaphore;

  permit() noexcept = default;
  explicit permit(heddle_semaphore* taken) noexcept : taken_(taken) {}

 private:
  detail::owned_handle<heddle_semaphore, heddle_semaphore_give> taken_;
};

/// Thread: any worker's. Throws error.invalid for less than no permits.
class semaphore {
 public:
  semaphore() noexcept = default;
  explicit semaphore(std::int64_t permits)
      : object_(detail::made<heddle_semaphore>([&](heddle_semaphore** out) {
          return heddle_semaphore_new(this_worker(), permits, out);
        })) {}
  /// Waits for a permit.
  [[nodiscard]] auto acquire() const {
    return detail::ask<heddle_semaphore_acquire, permit>(object_);
  }

 private:
  detail::shared_handle<heddle_semaphore, heddle_semaphore_retain, heddle_semaphore_release>
      object_;
};

}  // namespace heddle::from_draft
