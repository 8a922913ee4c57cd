/* SPDX-License-Identifier: MIT
 * libasync's intrusive hash table: the elements have a key and an entry, and the table owns
 * nothing. Several elements may have the same key. Thread: one color.
 */
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "async.h"

/// The place of a V in a table. A copy is in no table.
template <class V>
struct ihash_entry {
  ihash_entry() noexcept = default;
  ihash_entry(const ihash_entry&) noexcept {}
  ihash_entry& operator=(const ihash_entry&) noexcept { return *this; }
  V* next = nullptr;
  V** pprev = nullptr;
  std::size_t hash = 0;
};

template <class K, class V, K V::* Key, ihash_entry<V> V::* Entry, class H = std::hash<K>,
          class E = std::equal_to<K>>
class ihash {
 public:
  ihash() : buckets_(16) {}
  ihash(const ihash&) = delete;
  ihash& operator=(const ihash&) = delete;

  void insert(V* v) {
    if (size_ == buckets_.size()) grow();
    (v->*Entry).hash = hash_(v->*Key);
    link(v);
    ++size_;
  }
  void remove(V* v) noexcept {
    ihash_entry<V>& at = v->*Entry;
    if (at.next != nullptr) (at.next->*Entry).pprev = at.pprev;
    *at.pprev = at.next;
    at.next = nullptr;
    at.pprev = nullptr;
    --size_;
  }
  /// The element of this key that was inserted last, or null.
  [[nodiscard]] V* operator[](const K& key) const {
    const std::size_t h = hash_(key);
    return find(buckets_[h % buckets_.size()], h, key);
  }
  /// The element of the same key that was inserted before v, or null.
  [[nodiscard]] V* nextkeq(V* v) const { return find((v->*Entry).next, (v->*Entry).hash, v->*Key); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// All elements, in no order: first(), and next() until null. The table must not change.
  [[nodiscard]] V* first() const noexcept { return first_from(0); }
  [[nodiscard]] V* next(const V* v) const noexcept {
    const ihash_entry<V>& at = v->*Entry;
    return at.next != nullptr ? at.next : first_from(at.hash % buckets_.size() + 1);
  }
  /// Calls f with each element, which may remove itself.
  void traverse(const std::function<void(V*)>& f) {
    for (V* v = first(); v != nullptr;) {
      V* const after = next(v);
      f(v);
      v = after;
    }
  }
  /// Takes all elements out.
  void clear() noexcept {
    traverse([this](V* v) { remove(v); });
  }
  /// Takes all elements out, and deletes them.
  void deleteall() {
    traverse([this](V* v) { remove(v), delete v; });
  }

 private:
  [[nodiscard]] V* find(V* from, std::size_t h, const K& key) const {
    for (V* v = from; v != nullptr; v = (v->*Entry).next)
      if ((v->*Entry).hash == h && equal_(v->*Key, key)) return v;
    return nullptr;
  }
  [[nodiscard]] V* first_from(std::size_t bucket) const noexcept {
    for (; bucket < buckets_.size(); ++bucket)
      if (buckets_[bucket] != nullptr) return buckets_[bucket];
    return nullptr;
  }
  void link(V* v) noexcept {
    ihash_entry<V>& at = v->*Entry;
    V*& head = buckets_[at.hash % buckets_.size()];
    at.next = head;
    at.pprev = &head;
    if (head != nullptr) (head->*Entry).pprev = &at.next;
    head = v;
  }
  void grow() {
    const std::vector<V*> old(buckets_);
    buckets_.assign(old.size() * 2 + 1, nullptr);
    for (V* head : old) {
      V* reversed = nullptr;  // so that elements of one key keep their order
      while (head != nullptr) {
        V* const after = (head->*Entry).next;
        (head->*Entry).next = reversed;
        reversed = head;
        head = after;
      }
      while (reversed != nullptr) {
        V* const after = (reversed->*Entry).next;
        link(reversed);
        reversed = after;
      }
    }
  }
  std::vector<V*> buckets_;
  std::size_t size_ = 0;
  [[no_unique_address]] H hash_;
  [[no_unique_address]] E equal_;
};
