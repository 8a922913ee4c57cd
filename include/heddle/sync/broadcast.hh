// SPDX-License-Identifier: MIT
// broadcast<T>: every subscriber gets every value that is sent after it subscribed. The last
// `capacity` values are kept; sending never waits, and a subscriber that falls further behind
// misses the oldest ones and learns how many.
//
//   broadcast<price> prices(16);
//   broadcast<price>::subscription mine(prices);
//   while (auto p = co_await mine.next()) show(*p, mine.missed());
#pragma once

#include <cstdint>
#include <optional>

#include "heddle/sync/condition.hh"
#include "heddle/sync/detail/ring.hh"

namespace heddle {

/// Thread: one color, the first that uses it; a use in another is reported (wrong-color).
/// Resumes: subscribers later, from the queue, in the order in which they came to wait.
/// Owns: the values that are kept; subscribers get copies. It must outlive its subscriptions.
/// Cancel: next() ends and takes nothing; the value stays for the next call.
template <class T>
class broadcast {
 public:
  explicit broadcast(std::size_t capacity,
                     std::source_location made = std::source_location::current()) noexcept
      : capacity_(capacity), sent_(kind, made) {
    HEDDLE_ASSERT(capacity > 0, "a broadcast keeps at least one value");
  }

  void send(T value, std::source_location where = std::source_location::current()) {
    sent_.check_color(where);
    HEDDLE_ASSERT(!closed_, "a value is sent into a broadcast that was closed");
    if (kept_.size() == capacity_) {
      static_cast<void>(kept_.pop_front());
      ++first_;
    }
    kept_.push_back(std::move(value));
    sent_.notify_all();
  }
  /// Ends the broadcast: subscribers get the values that are kept, then nothing.
  void close(std::source_location where = std::source_location::current()) noexcept {
    sent_.check_color(where);
    closed_ = true;
    sent_.notify_all();
  }
  [[nodiscard]] bool closed() const noexcept { return closed_; }
  /// How many values were sent so far.
  [[nodiscard]] std::uint64_t count() const noexcept { return first_ + kept_.size(); }

  class subscription;

 private:
  static constexpr detail::one_color_kind kind{
      "a broadcast", "give each color a shared_channel of its own, or co_await enter() its color"};
  std::size_t capacity_;
  std::uint64_t first_ = 0;  // the number of the oldest value that is kept
  bool closed_ = false;
  ring<T> kept_;
  condition sent_;
};

/// One reader. Only one function at a time may wait for next().
template <class T>
class broadcast<T>::subscription {
 public:
  explicit subscription(broadcast& home) noexcept : home_(home), next_(home.count()) {}

  class [[nodiscard("co_await it")]] awaiter : public condition::awaiter {
   public:
    explicit awaiter(subscription& s) noexcept : condition::awaiter(s.home_.sent_), mine_(s) {}
    [[nodiscard]] bool await_ready() noexcept {
      if (refused(worker::running())) return true;
      passed_ = mine_.ready() && commit();
      return passed_;
    }
    [[nodiscard]] std::optional<T> await_resume() {
      if (!passed_) condition::awaiter::await_resume();
      return mine_.take();
    }
    [[nodiscard]] result<std::optional<T>> await_result() {
      if (!passed_)
        if (auto woken = condition::awaiter::await_result(); !woken)
          return std::unexpected(woken.error());
      return mine_.take();
    }

   private:
    subscription& mine_;
    bool passed_ = false;
  };
  /// The next value; nothing when the broadcast is closed and all have been read.
  [[nodiscard("co_await it")]] awaiter next(
      std::source_location where = std::source_location::current()) noexcept {
    home_.sent_.check_color(where);
    return awaiter(*this);
  }
  /// How many values were dropped before this subscriber read them.
  [[nodiscard]] std::uint64_t missed() const noexcept { return missed_; }

 private:
  [[nodiscard]] bool ready() const noexcept { return next_ < home_.count() || home_.closed_; }
  [[nodiscard]] std::optional<T> take() {
    if (next_ < home_.first_) {
      missed_ += home_.first_ - next_;
      next_ = home_.first_;
    }
    if (next_ == home_.count()) return std::nullopt;
    return home_.kept_.at(static_cast<std::size_t>(next_++ - home_.first_));
  }

  broadcast& home_;
  std::uint64_t next_;
  std::uint64_t missed_ = 0;
};

}  // namespace heddle
