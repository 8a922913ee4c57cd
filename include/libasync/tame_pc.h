/* SPDX-License-Identifier: MIT
 * tame::pc_t<V>: values from producers to consumers.
 * tame::pc1_t<V>: one value from one producer to one consumer. The consumer's callback gets true
 * and the value, or false if the value has been taken, or another consumer waits.
 */
#pragma once

#include <cassert>
#include <utility>

#include "async.h"

namespace tame {

template <class V>
class pc1_t {
 public:
  using consumer = typename callback<void, bool, V>::ref;

  explicit pc1_t(const V& initial) : value_(initial) {}

  void set(const V& value) {
    assert(!set_);
    set_ = true;
    value_ = value;
    if (waiting_) give(std::exchange(waiting_, consumer()));
  }
  void get(consumer c) {
    if (set_ && !taken_) return give(std::move(c));
    if (!set_ && !waiting_) {
      waiting_ = std::move(c);
      return;
    }
    c(false, value_);
  }

 private:
  void give(consumer c) {
    taken_ = true;
    c(true, value_);
  }
  V value_;
  consumer waiting_;
  bool set_ = false;
  bool taken_ = false;
};

/// Values from producers to consumers, in their order; each waits in a queue. The producer does not
/// wait.
template <class V>
class pc_t {
 public:
  void produce(V value) {
    if (waiting_.empty()) {
      values_.push_back(std::move(value));
      return;
    }
    const event<V> next = waiting_.pop_front();
    next.trigger(std::move(value));
  }
  void consume(event<V> next) {
    if (!values_.empty()) return next.trigger(values_.pop_front());
    waiting_.push_back(std::move(next));
  }

 private:
  vec<V> values_;
  vec<event<V>> waiting_;
};

}  // namespace tame
using tame::pc1_t;
