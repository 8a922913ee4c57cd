// SPDX-License-Identifier: MIT
// An intrusive circular list. A node unlinks itself in constant time without knowing its list;
// waits, timers and events need that when they end early. An unlinked node points to itself. No
// allocation, no ownership; one thread.
#pragma once

#include <cstddef>

namespace heddle {

/// A node without a destructor: its owner unlinks it before destroying it.
class list_hook {
 public:
  list_hook() noexcept : prev_(this), next_(this) {}
  /// Selects the constructor that leaves the pointers unset; the maker links the node at once.
  struct linked_at_once {};
  // NOLINTNEXTLINE: both pointers get their values by insert_before()
  explicit list_hook(linked_at_once) noexcept {}
  list_hook(const list_hook&) = delete;
  list_hook& operator=(const list_hook&) = delete;

  void unlink() noexcept {
    take_out();
    prev_ = next_ = this;
  }
  /// Unlinks without resetting the node; it must then be linked again or destroyed.
  void take_out() noexcept {
    prev_->next_ = next_;
    next_->prev_ = prev_;
  }
  void insert_before(list_hook& other) noexcept {
    prev_ = other.prev_;
    next_ = &other;
    prev_->next_ = this;
    other.prev_ = this;
  }
  /// Moves the node from its list to the place before `other`.
  void move_before(list_hook& other) noexcept {
    take_out();
    insert_before(other);
  }
  /// Whether the node is in a list; also true while it is in an open_list.
  [[nodiscard]] bool linked() const noexcept { return next_ != this; }
  [[nodiscard]] list_hook* next() const noexcept { return next_; }
  [[nodiscard]] list_hook* prev() const noexcept { return prev_; }

 private:
  template <class T>
  friend class open_list;
  list_hook* prev_;
  list_hook* next_;
};

/// A node that unlinks itself in its destructor.
class list_node : public list_hook {
 public:
  using list_hook::list_hook;
  list_node() noexcept = default;
  list_node(const list_node&) = delete;
  list_node& operator=(const list_node&) = delete;
  ~list_node() {
    if (linked()) unlink();
  }
};

/// A list of T, where T derives from list_hook. The list does not own its nodes.
template <class T>
class list {
 public:
  void push_back(T& node) noexcept { static_cast<list_hook&>(node).insert_before(head_); }
  void push_front(T& node) noexcept { static_cast<list_hook&>(node).insert_before(*head_.next()); }
  /// Moves a node from its present list to the end of this one.
  void move_back(T& node) noexcept { static_cast<list_hook&>(node).move_before(head_); }
  [[nodiscard]] T* pop_front() noexcept {
    if (empty()) return nullptr;
    T& first = front();
    static_cast<list_hook&>(first).unlink();
    return &first;
  }
  /// Takes all nodes of `other` in one step. This list must be empty.
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
    for (const list_hook* node = head_.next(); node != &head_; node = node->next()) ++n;
    return n;
  }

  /// Calls f for each node in order; f may unlink the node that it gets, but no other.
  template <class F>
  void each(F&& f) {
    for (list_hook* node = head_.next(); node != &head_;) {
      list_hook* after = node->next();
      f(static_cast<T&>(*node));
      node = after;
    }
  }

 private:
  list_node head_;
};

/// A list of the same nodes for hot lists that are mostly empty or hold one node. A node can leave
/// only through its list. The ends are null pointers, found by branches that the processor
/// predicts; in `list`, each step waits for a pointer that the previous step has stored.
template <class T>
class open_list {
 public:
  open_list() noexcept = default;
  open_list(const open_list&) = delete;
  open_list& operator=(const open_list&) = delete;

  void push_back(T& node) noexcept {
    list_hook& n = node;
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
  /// Removes a node that its owner reaches by another pointer; it counts as linked until let_go().
  void take_out(T& node) noexcept { take(node); }
  /// As take_out(), for the first node. The list must not be empty.
  [[nodiscard]] T& take_out_front() noexcept {
    list_hook& n = *first_;
    first_ = stay_a_branch(n.next_);
    if (n.next_ == nullptr) {
      last_ = stay_a_branch(nullptr);
    } else {
      n.next_->prev_ = nullptr;
    }
    return static_cast<T&>(n);
  }
  static void let_go(T& node) noexcept {
    list_hook& n = node;
    n.prev_ = n.next_ = &n;
  }
  /// Moves a node from the list `from` to the end of this one.
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
    for (const list_hook* node = first_; node != nullptr; node = node->next_)
      f(static_cast<const T&>(*node));
  }
  /// Whether this is the address of one of the list's own two pointers.
  [[nodiscard]] bool is_end(const void* address) const noexcept {
    return address == &first_ || address == &last_;
  }
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t n = 0;
    for (const list_hook* node = first_; node != nullptr; node = node->next_) ++n;
    return n;
  }

 private:
  /// Keeps a branch in the code. Otherwise a compiler would compute the address of the store, and
  /// the store would wait for that.
  [[nodiscard]] static list_hook* stay_a_branch(list_hook* stored) noexcept {
    asm("" : "+r"(stored));
    return stored;
  }
  void take(list_hook& n) noexcept {
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

  list_hook* first_ = nullptr;
  list_hook* last_ = nullptr;
};

}  // namespace heddle
