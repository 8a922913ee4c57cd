/* SPDX-License-Identifier: MIT
 * libasync's intrusive lists: list has a head, tailq also a tail. An element has an entry for each
 * list that it can be in, and is in one list of an entry at a time. A list owns nothing.
 */
#pragma once

#include <functional>

/// The place of a T in a list. A copy is in no list.
template <class T>
struct list_entry {
  list_entry() noexcept = default;
  list_entry(const list_entry&) noexcept {}
  list_entry& operator=(const list_entry&) noexcept { return *this; }
  T* next = nullptr;
  T** pprev = nullptr;  ///< the pointer that leads to this element; null outside of a list
};
template <class T>
struct tailq_entry : list_entry<T> {};

namespace heddle::libasync {

template <class List, class T>
struct walked_list {
  /// Calls f with each element, which may remove itself.
  void traverse(const std::function<void(T*)>& f) {
    for (T* e = static_cast<List*>(this)->first; e != nullptr;) {
      T* const after = List::next(e);
      f(e);
      e = after;
    }
  }
  /// Takes all elements out, and deletes them.
  void deleteall() {
    List& all = static_cast<List&>(*this);
    while (all.first != nullptr) delete all.remove(all.first);
  }
};

}  // namespace heddle::libasync

template <class T, list_entry<T> T::* Entry>
struct list : heddle::libasync::walked_list<list<T, Entry>, T> {
  list() noexcept = default;
  list(const list&) = delete;
  list& operator=(const list&) = delete;

  T* first = nullptr;

  T* insert_head(T* e) noexcept {
    list_entry<T>& at = e->*Entry;
    at.next = first;
    at.pprev = &first;
    if (first != nullptr) (first->*Entry).pprev = &at.next;
    return first = e;
  }
  /// Takes the element out of the list that it is in.
  static T* remove(T* e) noexcept {
    list_entry<T>& at = e->*Entry;
    if (at.next != nullptr) (at.next->*Entry).pprev = at.pprev;
    *at.pprev = at.next;
    at.next = nullptr;
    at.pprev = nullptr;
    return e;
  }
  [[nodiscard]] static T* next(T* e) noexcept { return (e->*Entry).next; }
};

template <class T, tailq_entry<T> T::* Entry>
struct tailq : heddle::libasync::walked_list<tailq<T, Entry>, T> {
  tailq() noexcept = default;
  tailq(const tailq&) = delete;
  tailq& operator=(const tailq&) = delete;

  T* first = nullptr;
  T** plast = &first;  ///< the pointer after the last element

  T* insert_head(T* e) noexcept {
    tailq_entry<T>& at = e->*Entry;
    at.next = first;
    at.pprev = &first;
    if (first != nullptr)
      (first->*Entry).pprev = &at.next;
    else
      plast = &at.next;
    return first = e;
  }
  T* insert_tail(T* e) noexcept {
    tailq_entry<T>& at = e->*Entry;
    at.next = nullptr;
    at.pprev = plast;
    *plast = e;
    plast = &at.next;
    return e;
  }
  T* remove(T* e) noexcept {
    tailq_entry<T>& at = e->*Entry;
    if (at.next != nullptr)
      (at.next->*Entry).pprev = at.pprev;
    else
      plast = at.pprev;
    *at.pprev = at.next;
    at.next = nullptr;
    at.pprev = nullptr;
    return e;
  }
  [[nodiscard]] static T* next(T* e) noexcept { return (e->*Entry).next; }
};
