// SPDX-License-Identifier: MIT
// A queue in a circle that grows by doubling and keeps its memory, with access by number. For small
// plain records; inserting and erasing in the middle moves the shorter side.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>

#include "heddle/base/error.hh"

namespace heddle::tcp {

template <class T>
class ring {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return at_[(first_ + i) & mask_]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept {
    return at_[(first_ + i) & mask_];
  }
  [[nodiscard]] T& front() noexcept { return (*this)[0]; }
  [[nodiscard]] T& back() noexcept { return (*this)[count_ - 1]; }
  [[nodiscard]] const T& back() const noexcept { return (*this)[count_ - 1]; }

  void push_back(const T& value) {
    if (count_ == capacity_) grow();
    ++count_;
    back() = value;
  }
  void pop_front() noexcept {
    first_ = (first_ + 1) & mask_;
    --count_;
  }
  void pop_back() noexcept { --count_; }
  void insert(std::size_t i, const T& value) {
    if (count_ == capacity_) grow();
    ++count_;
    if (i < count_ / 2) {
      first_ = (first_ - 1) & mask_;
      for (std::size_t k = 0; k < i; ++k) (*this)[k] = (*this)[k + 1];
    } else {
      for (std::size_t k = count_ - 1; k > i; --k) (*this)[k] = (*this)[k - 1];
    }
    (*this)[i] = value;
  }
  void erase(std::size_t i) noexcept {
    if (i < count_ / 2) {
      for (std::size_t k = i; k > 0; --k) (*this)[k] = (*this)[k - 1];
      first_ = (first_ + 1) & mask_;
    } else {
      for (std::size_t k = i; k + 1 < count_; ++k) (*this)[k] = (*this)[k + 1];
    }
    --count_;
  }
  void clear() noexcept { first_ = count_ = 0; }
  /// Gives memory back that is more than `kept` records.
  void trim(std::size_t kept) noexcept {
    if (count_ == 0 && capacity_ > kept) {
      at_.reset();
      capacity_ = mask_ = first_ = 0;
    }
  }

 private:
  void grow() {
    const std::size_t capacity = capacity_ == 0 ? 8 : capacity_ * 2;
    std::unique_ptr<T[]> wider(new T[capacity]);
    for (std::size_t i = 0; i < count_; ++i) wider[i] = (*this)[i];
    at_ = std::move(wider);
    capacity_ = capacity;
    mask_ = capacity - 1;
    first_ = 0;
  }

  std::unique_ptr<T[]> at_;
  std::size_t capacity_ = 0;
  std::size_t mask_ = 0;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

}  // namespace heddle::tcp
