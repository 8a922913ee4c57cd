// SPDX-License-Identifier: MIT
// Memory of READs, kept for later ones. The C library takes as much as a large READ needs from the
// kernel each time, and gives it back: the kernel then clears each page before it is filled.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "heddle/io/buffer.hh"

namespace nfs {

/// Thread: any. Buffers may outlive it.
///
///   read_buffers::buffer b = buffers.take(want);
///   b.set_len(read(fd, b.room().data(), want));
///   chain.append(heddle::piece::held_by(std::move(b)));
class read_buffers {
  struct shelf;

 public:
  /// Smaller buffers are not kept: the C library does not ask the kernel for them.
  static constexpr std::size_t small_bytes = 64 << 10;

  /// Owns: its memory, which goes back with its end. Thread: one at a time.
  class buffer {
   public:
    buffer() noexcept = default;
    buffer(buffer&& other) noexcept
        : shelf_(std::move(other.shelf_)),
          memory_(std::move(other.memory_)),
          capacity_(std::exchange(other.capacity_, 0)),
          len_(std::exchange(other.len_, 0)) {}
    buffer& operator=(buffer other) noexcept {
      std::swap(shelf_, other.shelf_);
      std::swap(memory_, other.memory_);
      std::swap(capacity_, other.capacity_);
      std::swap(len_, other.len_);
      return *this;
    }
    ~buffer() {
      if (shelf_ != nullptr) give_back();
    }

    [[nodiscard]] heddle::byte_span room() noexcept { return {memory_.get(), capacity_}; }
    void set_len(std::size_t len) noexcept { len_ = len; }
    [[nodiscard]] std::size_t len() const noexcept { return len_; }
    [[nodiscard]] heddle::byte_view bytes() const noexcept { return {memory_.get(), len_}; }

   private:
    friend class read_buffers;
    void give_back() noexcept;

    std::shared_ptr<shelf> shelf_;  // null: small
    std::unique_ptr<std::byte[]> memory_;
    std::size_t capacity_ = 0;
    std::size_t len_ = 0;
  };

  /// Keeps at most `kept_max` bytes of buffers that have been given back.
  explicit read_buffers(std::size_t kept_max);

  /// A buffer with room for at least so many bytes, at most twice as many. It may hold bytes of
  /// earlier READs: fill the part that you send.
  [[nodiscard]] buffer take(std::size_t bytes);
  [[nodiscard]] std::size_t kept() const;

 private:
  struct kept_memory {
    std::unique_ptr<std::byte[]> memory;
    std::size_t capacity;
  };
  struct shelf {
    explicit shelf(std::size_t most) noexcept : kept_max(most) {}
    const std::size_t kept_max;
    std::mutex lock;
    std::size_t kept = 0;           // bytes
    std::vector<kept_memory> free;  // the last was used last
  };

  std::shared_ptr<shelf> shelf_;
};

}  // namespace nfs
