// SPDX-License-Identifier: MIT
// shared_channel<T>: a channel whose ends may be in any colors. It lives in a color of its own.
// push() and pop() enter that color and come back with the answer (core/enter.hh). Values move with
// the calling function: nothing is locked.
//
//   shared_channel<job> jobs(color(1), 64);
//   spawn(color(7), feed(jobs));            // co_await jobs.push(j);
//   while (auto j = co_await jobs.pop()) work(*j);
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "heddle/core/detail/message.hh"
#include "heddle/core/enter.hh"
#include "heddle/sync/channel.hh"

namespace heddle {

/// Thread: any color's; it must not be in use when it ends. A visit costs two
/// messages (with one worker about 40 ns, across cores two hand-overs of a cache line); push_many
/// and pop_many spread that over many values. Cancel, Fails: as channel<T>.
template <class T>
class shared_channel {
 public:
  /// `home` is a color that does little else.
  explicit shared_channel(color home, std::size_t capacity) noexcept
      : home_(home), inner_(capacity) {}
  shared_channel(const shared_channel&) = delete;
  shared_channel& operator=(const shared_channel&) = delete;

  [[nodiscard]] color home() const noexcept { return home_; }

  /// Pushes a value; waits while the channel is full.
  [[nodiscard]] task<> push(T value) {
    co_await enter(home_);
    co_await inner_.push(std::move(value));
  }
  /// Pops a value; gives nothing if the channel is closed and empty.
  [[nodiscard]] task<std::optional<T>> pop() {
    co_await enter(home_);
    co_return co_await inner_.pop();
  }
  /// Pushes all values in order. `values` must stay until the call has ended.
  [[nodiscard]] task<> push_many(std::span<T> values) {
    co_await enter(home_);
    co_await inner_.push_many(values);
  }
  /// Pops one value or more, up to `most`, as far as they are ready; none if the channel is closed
  /// and empty.
  [[nodiscard]] task<std::vector<T>> pop_many(std::size_t most) {
    co_await enter(home_);
    std::vector<T> out;
    static_cast<void>(co_await inner_.pop_many(out, most));
    co_return out;
  }
  /// Closes the channel, behind the pushes of this color. The channel must stay until all its users
  /// have seen that it is closed.
  void close() {
    post(home_, [this] { inner_.close(); });
  }

 private:
  color home_;
  channel<T> inner_;
};

}  // namespace heddle
