/* SPDX-License-Identifier: MIT
 * libasync's hash tables: qhash<K, V> from keys to values, bhash<K> of keys alone. A look-up gives
 * a pointer to the value, or null. Thread: one color.
 */
#pragma once

#include <cstddef>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "async.h"

namespace heddle::libasync {

/// Finds values by key; the program's own hash functor may replace the first parameter after V.
template <class K>
using hash_of = std::hash<K>;

}  // namespace heddle::libasync

template <class K, class V, class H = heddle::libasync::hash_of<K>, class E = std::equal_to<K>>
class qhash {
 public:
  /// The value of a key, or null. It stays where it is until the key is removed.
  [[nodiscard]] V* operator[](const K& key) {
    const auto found = all_.find(key);
    return found == all_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] const V* operator[](const K& key) const {
    const auto found = all_.find(key);
    return found == all_.end() ? nullptr : &found->second;
  }
  /// Adds a key or replaces its value, and gives the value.
  V* insert(const K& key) { return &(all_[key] = V()); }
  V* insert(const K& key, V value) { return &(all_[key] = std::move(value)); }
  void remove(const K& key) { all_.erase(key); }
  /// Removes a key. Whether it was there; its value goes to `value`, which may be null.
  bool remove(const K& key, V* value) {
    const auto found = all_.find(key);
    if (found == all_.end()) return false;
    if (value != nullptr) *value = std::move(found->second);
    all_.erase(found);
    return true;
  }
  void clear() noexcept { all_.clear(); }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  /// Calls f(key, &value) for each entry, in no order. f may remove the entry that it gets.
  template <class F>
  void traverse(F f) {
    for (auto next = all_.begin(); next != all_.end();) {
      const auto now = next++;
      f(now->first, &now->second);
    }
  }

 private:
  template <class, class, class, class>
  friend class qhash_const_iterator_t;
  std::unordered_map<K, V, H, E> all_;
};

/// Walks the keys of a table, which must not change meanwhile: next() is null at the end.
template <class K, class V, class H = heddle::libasync::hash_of<K>, class E = std::equal_to<K>>
class qhash_const_iterator_t {
 public:
  explicit qhash_const_iterator_t(const qhash<K, V, H, E>& of) : of_(&of), at_(of.all_.begin()) {}
  [[nodiscard]] const K* next(V* value = nullptr) {
    if (at_ == of_->all_.end()) return nullptr;
    const auto now = at_++;
    if (value != nullptr) *value = now->second;
    return &now->first;
  }

 private:
  const qhash<K, V, H, E>* of_;
  typename std::unordered_map<K, V, H, E>::const_iterator at_;
};

template <class K, class H = heddle::libasync::hash_of<K>, class E = std::equal_to<K>>
class bhash {
 public:
  [[nodiscard]] bool operator[](const K& key) const { return all_.contains(key); }
  /// Whether the key is new.
  bool insert(const K& key) { return all_.insert(key).second; }
  void remove(const K& key) { all_.erase(key); }
  void clear() noexcept { all_.clear(); }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  template <class F>
  void traverse(F f) const {
    for (const K& key : all_) f(key);
  }

 private:
  std::unordered_set<K, H, E> all_;
};
