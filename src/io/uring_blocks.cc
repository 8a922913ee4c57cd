// SPDX-License-Identifier: MIT
// Memory for the blocks, registration of their ring, and the size of the window.
#include "io/uring_blocks.hh"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "heddle/base/error.hh"

namespace heddle {
namespace {

constexpr std::uint32_t count_max = 32768;  // entries of a buffer ring: the kernel's limit
constexpr std::uint32_t line_bytes = 64;
constexpr std::uint32_t window_min = 32;
constexpr std::uint32_t short_window_min = 8;
// Long enough that a lull of a few milliseconds at full load does not shrink the window.
constexpr std::uint32_t turns_between_looks = 4096;

void* map(std::size_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw failure(kernel_error(-errno), "no address space for receive blocks");
  return at;
}

std::size_t ring_bytes(std::uint32_t count) { return count * sizeof(io_uring_buf); }

}  // namespace

uring_blocks::uring_blocks(io_uring& ring, std::uint32_t count, std::uint32_t bytes)
    : ring_(ring),
      count_(std::bit_ceil(std::clamp(count, 1U, count_max))),
      bytes_(std::max(bytes, 1U)),
      // One line more than a block: blocks of 4096 bytes would begin in one set of the first-level
      // cache, and short messages use little more than their beginnings.
      stride_((bytes_ + line_bytes - 1) / line_bytes * line_bytes + line_bytes),
      window_(std::min(count_, window_min)),
      turns_left_(turns_between_looks) {
  spare_.reserve(count_);
  for (std::uint32_t i = count_; i-- > 0;) spare_.push_back(static_cast<std::uint16_t>(i));
  memory_ = static_cast<std::byte*>(map(std::size_t{count_} * stride_));
  // Huge pages would make memory of all blocks when the first ones are used.
  static_cast<void>(::madvise(memory_, std::size_t{count_} * stride_, MADV_NOHUGEPAGE));
  int answer = 0;
  try {
    entries_ = static_cast<io_uring_buf_ring*>(map(ring_bytes(count_)));
    io_uring_buf_ring_init(entries_);
    io_uring_buf_reg registration{};
    registration.ring_addr = reinterpret_cast<std::uint64_t>(entries_);
    registration.ring_entries = count_;
    registration.bgid = group;
    answer = io_uring_register_buf_ring(&ring_, &registration, 0);
    if (answer < 0) throw failure(kernel_error(answer), "the kernel has no provided buffer rings");
  } catch (...) {
    if (entries_ != nullptr) ::munmap(entries_, ring_bytes(count_));
    ::munmap(memory_, std::size_t{count_} * stride_);
    throw;
  }
}

uring_blocks::~uring_blocks() {
  (void)io_uring_unregister_buf_ring(&ring_, group);  // refused elsewhere than on the ring's thread
  ::munmap(entries_, ring_bytes(count_));
  ::munmap(memory_, std::size_t{count_} * stride_);
}

void uring_blocks::top_up() noexcept {
  most_used_ = std::max(most_used_, used_);
  if (2 * used_ > window_) window_ = std::min(2 * window_, count_);
  used_ = 0;
  grown_ = false;
  if (--turns_left_ == 0) {
    if (8 * most_used_ < window_) window_ = std::max(window_ / 2, std::min(count_, window_min));
    most_used_ = 0;
    turns_left_ = turns_between_looks;
  }
  if (short_ && available() >= count_ / 2) short_ = false;
  const std::uint32_t wanted =
      short_ ? std::min(window_, std::max(count_ / 16, short_window_min)) : window_;
  if (in_ring_ >= wanted) return;
  const auto added =
      static_cast<std::uint32_t>(std::min<std::size_t>(wanted - in_ring_, spare_.size()));
  if (added == 0) return;
  const int mask = io_uring_buf_ring_mask(count_);
  for (std::uint32_t i = 0; i != added; ++i) {
    const std::uint16_t block = spare_.back();
    spare_.pop_back();
    io_uring_buf_ring_add(entries_, at(block), bytes_, block, mask, static_cast<int>(i));
  }
  io_uring_buf_ring_advance(entries_, static_cast<int>(added));
  in_ring_ += added;
}

void uring_blocks::starved() noexcept {
  // Many receives may find it empty at once: that is one reason to grow, not many.
  if (!std::exchange(grown_, true)) window_ = std::min(2 * window_, count_);
}

}  // namespace heddle
