// SPDX-License-Identifier: MIT
// The buffer of channels: a ring of values with both ends open, which doubles when it is full.
// Memory comes from the heap in one piece and is kept until the ring dies.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace heddle {

/// Thread: one. A moved value must not throw.
template <class T>
class ring {
 public:
  static_assert(std::is_nothrow_move_constructible_v<T>, "a value is moved while others wait");

  ring() noexcept = default;
  ring(const ring&) = delete;
  ring& operator=(const ring&) = delete;
  ~ring() {
    while (!empty()) static_cast<void>(pop_front());
    if (room_ != 0) memory().deallocate(cells_, room_);
  }

  [[nodiscard]] bool empty() const noexcept { return len_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return len_; }
  /// How many values fit before the ring needs more memory.
  [[nodiscard]] std::size_t room() const noexcept { return room_; }
  /// Whether the next push needs more memory.
  [[nodiscard]] bool grows() const noexcept { return len_ == room_; }
  /// The value at this index, counted from the front.
  [[nodiscard]] T& at(std::size_t i) noexcept { return cells_[(first_ + i) & mask_]; }

  void push_back(T&& value) {
    if (grows()) [[unlikely]]
      grow();
    push_back_in_room(std::move(value));
  }
  /// As push_back(), if the ring need not grow.
  void push_back_in_room(T&& value) noexcept {
    std::construct_at(&at(len_), std::move(value));
    ++len_;
  }
  void push_front(T&& value) {
    if (grows()) [[unlikely]]
      grow();
    first_ = (first_ - 1) & mask_;
    std::construct_at(cells_ + first_, std::move(value));
    ++len_;
  }
  /// The ring must not be empty.
  [[nodiscard]] T pop_front() noexcept {
    T& cell = cells_[first_];
    T value = std::move(cell);
    std::destroy_at(&cell);
    first_ = (first_ + 1) & mask_;
    --len_;
    return value;
  }
  [[nodiscard]] T pop_back() noexcept {
    T& cell = at(len_ - 1);
    T value = std::move(cell);
    std::destroy_at(&cell);
    --len_;
    return value;
  }

 private:
  [[nodiscard]] static std::allocator<T> memory() noexcept { return {}; }
  [[gnu::noinline]] void grow() {
    const std::size_t room = room_ == 0 ? 8 : 2 * room_;
    T* const cells = memory().allocate(room);
    const std::size_t len = len_;
    for (std::size_t i = 0; i < len; ++i) std::construct_at(cells + i, pop_front());
    if (room_ != 0) memory().deallocate(cells_, room_);
    cells_ = cells;
    room_ = room;
    mask_ = room - 1;
    first_ = 0;
    len_ = len;
  }

  T* cells_ = nullptr;
  std::size_t room_ = 0;  // a power of two, or 0
  std::size_t mask_ = 0;  // room_ less one, or 0
  std::size_t first_ = 0;
  std::size_t len_ = 0;
};

}  // namespace heddle
