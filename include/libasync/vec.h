/* SPDX-License-Identifier: MIT
 * libasync's vec<T>: a growing array that gives elements away at both ends. Thread: one color.
 */
#pragma once

#include <cstddef>
#include <deque>
#include <utility>

#include "str.h"

template <class T, std::size_t N = 0>
class vec {
 public:
  using elm_t = T;

  vec() = default;

  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  [[nodiscard]] T& operator[](std::ptrdiff_t i) { return all_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const T& operator[](std::ptrdiff_t i) const {
    return all_[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] T& front() { return all_.front(); }
  [[nodiscard]] const T& front() const { return all_.front(); }
  [[nodiscard]] T& back() { return all_.back(); }
  [[nodiscard]] const T& back() const { return all_.back(); }

  /// Appends an element that is made of nothing, and gives it.
  T& push_back() { return all_.emplace_back(); }
  T& push_back(const T& value) { return all_.emplace_back(value); }
  T& push_back(T&& value) { return all_.emplace_back(std::move(value)); }
  T& push_front(const T& value) { return all_.emplace_front(value); }
  T pop_back() {
    T last = std::move(all_.back());
    all_.pop_back();
    return last;
  }
  T pop_front() {
    T first = std::move(all_.front());
    all_.pop_front();
    return first;
  }
  void popn_front(std::size_t n) {
    all_.erase(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(n));
  }
  void setsize(std::size_t n) { all_.resize(n); }
  void reserve(std::size_t) noexcept {}
  void clear() noexcept { all_.clear(); }
  void swap(vec& other) noexcept { all_.swap(other.all_); }

  [[nodiscard]] auto begin() noexcept { return all_.begin(); }
  [[nodiscard]] auto begin() const noexcept { return all_.begin(); }
  [[nodiscard]] auto end() noexcept { return all_.end(); }
  [[nodiscard]] auto end() const noexcept { return all_.end(); }

 private:
  std::deque<T> all_;  // elements stay where they are when others come or go at the ends
};

/// The strings with a separator between them.
template <std::size_t N>
[[nodiscard]] str join(const str& separator, const vec<str, N>& parts) {
  std::string all;
  for (std::size_t i = 0; i != parts.size(); ++i) {
    if (i != 0) all += separator.view();
    all += parts[static_cast<std::ptrdiff_t>(i)].view();
  }
  return all;
}
