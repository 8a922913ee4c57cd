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
  /// A node that its maker puts into a list at once.
  struct linked_at_once {};
  // NOLINTNEXTLINE: both pointers get their values by insert_before()
  explicit list_node(linked_at_once) noexcept {}
  list_node(const list_node&) = delete;
  list_node& operator=(const list_node&) = delete;
  ~list_node() {
    if (linked()) unlink();
  }

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
  /// Also while it stands in an open_list.
  [[nodiscard]] bool linked() const noexcept { return next_ != this; }
  [[nodiscard]] list_node* next() const noexcept { return next_; }
  [[nodiscard]] list_node* prev() const noexcept { return prev_; }

 private:
  template <class T>
  friend class open_list;
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
  /// Takes every node of `other`, in one step. This list must be empty.
  void take_all(list& other) noexcept {
    if (other.empty()) return;
    head_.insert_before(*other.head_.next());
    other.head_.unlink();
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

/// A list of the same nodes that must be named to leave it. It ends in null pointers, so that its
/// ends are found by branches, which the processor foresees; in a list each step waits for a
/// pointer that the one before has stored. For lists that are mostly empty or hold one node, and
/// are hot.
template <class T>
class open_list {
 public:
  open_list() noexcept = default;
  open_list(const open_list&) = delete;
  open_list& operator=(const open_list&) = delete;

  void push_back(T& node) noexcept {
    list_node& n = node;
    n.prev_ = last_;
    n.next_ = nullptr;
    if (last_ == nullptr) {
      first_ = stay_a_branch(&n);
    } else {
      last_->next_ = &n;
    }
    last_ = &n;
  }
  void remove(T& node) noexcept {
    take(node);
    let_go(node);
  }
  /// Takes out a node that somebody keeps by another pointer: it counts as linked until let_go().
  void take_out(T& node) noexcept { take(node); }
  /// The same with the first one; there must be one.
  [[nodiscard]] T& take_out_front() noexcept {
    list_node& n = *first_;
    first_ = stay_a_branch(n.next_);
    if (n.next_ == nullptr) {
      last_ = stay_a_branch(nullptr);
    } else {
      n.next_->prev_ = nullptr;
    }
    return static_cast<T&>(n);
  }
  static void let_go(T& node) noexcept {
    list_node& n = node;
    n.prev_ = n.next_ = &n;
  }
  /// Takes a node that stands in `from` to the end of this one.
  void move_back(T& node, open_list& from) noexcept {
    from.take(node);
    push_back(node);
  }
  [[nodiscard]] T* pop_front() noexcept {
    if (empty()) return nullptr;
    T& first = front();
    remove(first);
    return &first;
  }
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] T& front() noexcept { return static_cast<T&>(*first_); }
  /// Calls f for each node in order; f must not change the list.
  template <class F>
  void each(F&& f) const {
    for (const list_node* node = first_; node != nullptr; node = node->next_)
      f(static_cast<const T&>(*node));
  }
  /// Whether this is the address of one of the list's own two pointers.
  [[nodiscard]] bool is_end(const void* address) const noexcept {
    return address == &first_ || address == &last_;
  }
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t n = 0;
    for (const list_node* node = first_; node != nullptr; node = node->next_) ++n;
    return n;
  }

 private:
  /// Or a compiler would calculate where to store, and the store would wait for that.
  [[nodiscard]] static list_node* stay_a_branch(list_node* stored) noexcept {
    asm("" : "+r"(stored));
    return stored;
  }
  void take(list_node& n) noexcept {
    if (n.prev_ == nullptr) {
      first_ = stay_a_branch(n.next_);
    } else {
      n.prev_->next_ = n.next_;
    }
    if (n.next_ == nullptr) {
      last_ = stay_a_branch(n.prev_);
    } else {
      n.next_->prev_ = n.prev_;
    }
  }

  list_node* first_ = nullptr;
  list_node* last_ = nullptr;
};

}  // namespace heddle
