// SPDX-License-Identifier: MIT
// The receive blocks of an io_uring driver, and the ring through which the kernel takes them. The
// ring is first-in first-out, so giving it all blocks would walk through all their memory; instead
// it holds a window of them, refilled from the block that came back last, which is still warm. The
// window doubles when a turn uses more than half of it, and shrinks when it was far too large for
// long: memory is touched as it is needed. While blocks are short the ring holds a few only, so
// that streams without a reader cannot take many before they are stopped.
#pragma once

#include <liburing.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle {

/// Thread: the driver's. Owns: the memory of all blocks, until it dies.
class uring_blocks {
 public:
  static constexpr int group = 0;  ///< the only buffer group of the ring

  /// `count` is rounded up to a power of two, at most 32768. Throws failure.
  uring_blocks(io_uring& ring, std::uint32_t count, std::uint32_t bytes);
  ~uring_blocks();
  uring_blocks(const uring_blocks&) = delete;
  uring_blocks& operator=(const uring_blocks&) = delete;

  /// Notes that the kernel filled this block, which now belongs to its reader.
  void taken() noexcept {
    --in_ring_;
    ++used_;
  }
  /// Takes a block back from its reader.
  void give(std::uint32_t block) noexcept { spare_.push_back(static_cast<std::uint16_t>(block)); }

  /// Refills the ring up to the window. Called once a turn, before the kernel is entered.
  void refill() noexcept {
    if (in_ring_ < window_) top_up();
  }
  /// Notes that a receive found the ring empty.
  void starved() noexcept;
  /// Notes that blocks are short, from now until half of them are free.
  void run_short() noexcept { short_ = true; }
  [[nodiscard]] bool short_of_blocks() const noexcept { return short_; }

  [[nodiscard]] std::byte* at(std::uint32_t block) const noexcept {
    return memory_ + std::size_t{block} * stride_;
  }
  /// Blocks that the kernel has or will have at the next refill.
  [[nodiscard]] std::uint32_t available() const noexcept {
    return in_ring_ + static_cast<std::uint32_t>(spare_.size());
  }
  [[nodiscard]] std::uint32_t in_ring() const noexcept { return in_ring_; }
  [[nodiscard]] std::uint32_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint32_t window() const noexcept { return window_; }

 private:
  void top_up() noexcept;

  io_uring& ring_;
  io_uring_buf_ring* entries_ = nullptr;
  std::byte* memory_ = nullptr;
  std::uint32_t count_;
  std::uint32_t bytes_;
  std::uint32_t stride_;
  std::uint32_t window_;
  std::uint32_t in_ring_ = 0;
  std::uint32_t used_ = 0;       // since the last refill
  std::uint32_t most_used_ = 0;  // between two refills, since the window was last looked at
  bool short_ = false;
  bool grown_ = false;                // for a receive that starved, since the last refill
  std::uint32_t turns_left_;          // until it is looked at again
  std::vector<std::uint16_t> spare_;  // capacity count_: never grows
};

}  // namespace heddle
