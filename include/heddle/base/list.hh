// SPDX-License-Identifier: MIT
// An intrusive circular list. A node unlinks itself in constant time without knowing its list,
// which is what waits, timers and events need when they end early. A node that is linked nowhere
// points to itself. No allocation, no ownership; one thread.
#pragma once

#include <cstddef>

namespace heddle {

class list_node {
 public:
  list_node() noexcept : prev_(this), next_(this) {}
  list_node(const list_node&) = delete;
  list_node& operator=(const list_node&) = delete;
  ~list_node() { unlink(); }

  void unlink() noexcept {
    prev_->next_ = next_;
    next_->prev_ = prev_;
    prev_ = next_ = this;
  }
  void insert_before(list_node& other) noexcept {
    prev_ = other.prev_;
    next_ = &other;
    prev_->next_ = this;
    other.prev_ = this;
  }
  /// unlink() and insert_before() in one.
  void move_before(list_node& other) noexcept {
    prev_->next_ = next_;
    next_->prev_ = prev_;
    insert_before(other);
  }
  [[nodiscard]] bool linked() const noexcept { return next_ != this; }
  [[nodiscard]] list_node* next() const noexcept { return next_; }
  [[nodiscard]] list_node* prev() const noexcept { return prev_; }

 private:
  list_node* prev_;
  list_node* next_;
};

/// A list of T, where T derives from list_node. The nodes belong to somebody else.
template <class T>
class list {
 public:
  void push_back(T& node) noexcept { static_cast<list_node&>(node).insert_before(head_); }
  void push_front(T& node) noexcept { static_cast<list_node&>(node).insert_before(*head_.next()); }
  /// Takes a node from the list that it is in.
  void move_back(T& node) noexcept { static_cast<list_node&>(node).move_before(head_); }
  [[nodiscard]] T* pop_front() noexcept {
    if (empty()) return nullptr;
    T& first = front();
    static_cast<list_node&>(first).unlink();
    return &first;
  }
  /// Moves every node of `other` to the end of this list.
  void splice(list& other) noexcept {
    while (T* node = other.pop_front()) push_back(*node);
  }

  [[nodiscard]] bool empty() const noexcept { return !head_.linked(); }
  [[nodiscard]] T& front() noexcept { return static_cast<T&>(*head_.next()); }
  [[nodiscard]] T& back() noexcept { return static_cast<T&>(*head_.prev()); }
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t n = 0;
    for (const list_node* node = head_.next(); node != &head_; node = node->next()) ++n;
    return n;
  }

  /// Calls f for each node in order; f may unlink the node that it is given, and no other.
  template <class F>
  void each(F&& f) {
    for (list_node* node = head_.next(); node != &head_;) {
      list_node* after = node->next();
      f(static_cast<T&>(*node));
      node = after;
    }
  }

 private:
  list_node head_;
};

}  // namespace heddle
