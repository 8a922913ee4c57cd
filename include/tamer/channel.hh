// SPDX-License-Identifier: MIT
// tamer::channel<T>: values go to the oldest live waiter, or wait in a queue without a bound.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>

#include "tamer/event.hh"

namespace tamer {

/// Thread: the runtime's.
/// Cancel: waiters whose event has ended are skipped.
template <class T>
class channel {
 public:
  using value_type = T;
  using size_type = std::size_t;

  [[nodiscard]] bool empty() const noexcept { return values_.empty(); }
  [[nodiscard]] size_type size() const noexcept { return values_.size(); }
  /// Waiters that would get the next values.
  [[nodiscard]] size_type wait_size() const noexcept {
    size_type n = 0;
    for (const event<T>& w : waiting_) n += w ? 1 : 0;
    return n;
  }

  void push_back(T value) {
    if (event<T> w = next_waiter()) return w.trigger(std::move(value));
    values_.push_back(std::move(value));
  }
  void push_front(T value) {
    if (event<T> w = next_waiter()) return w.trigger(std::move(value));
    values_.push_front(std::move(value));
  }
  void pop_front(event<T> done) {
    if (!done) return;
    if (values_.empty()) return waiting_.push_back(std::move(done));
    T value = std::move(values_.front());
    values_.pop_front();
    done.trigger(std::move(value));
  }
  void pop_back(event<T> done) {
    if (!done) return;
    if (values_.empty()) return waiting_.push_back(std::move(done));
    T value = std::move(values_.back());
    values_.pop_back();
    done.trigger(std::move(value));
  }
  void clear() { values_.clear(); }

 private:
  event<T> next_waiter() {
    while (!waiting_.empty()) {
      event<T> w = std::move(waiting_.front());
      waiting_.pop_front();
      if (w) return w;
    }
    return {};
  }
  std::deque<T> values_;
  std::deque<event<T>> waiting_;
};

}  // namespace tamer
