// SPDX-License-Identifier: MIT
// Sealed bytes on their way out: OpenSSL's writes are gathered here and leave in one send. The
// memory is freed when the last byte has left, so that a quiet connection holds none. Each thread
// keeps a few buffers of the usual size for its next sends: the allocator would return them to the
// system, and their pages would be mapped and zeroed again for every send.
#pragma once

#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "heddle/io/buffer.hh"

namespace heddle::tls::detail {

class out_buffer {
 public:
  /// Room for the records of gather_bytes of plaintext. A record adds at most 30 bytes; two records
  /// more than full ones can begin and end the plaintext.
  static constexpr std::size_t gather_bytes = 128 * 1024;
  static constexpr std::size_t usual_bytes = gather_bytes + (gather_bytes / (16 * 1024) + 2) * 64;

  out_buffer() noexcept = default;
  out_buffer(out_buffer&& other) noexcept { swap(other); }
  out_buffer& operator=(out_buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~out_buffer() { free(); }

  void swap(out_buffer& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(begin_, other.begin_);
    std::swap(end_, other.end_);
    std::swap(room_, other.room_);
  }
  /// Makes room for `more` further bytes; false without memory.
  [[nodiscard]] bool reserve(std::size_t more) noexcept {
    if (room_ - end_ >= more) return true;
    if (bytes_ == nullptr && more >= 8 * 1024 && more <= usual_bytes) {
      bytes_ = spares().take();
      room_ = bytes_ != nullptr ? usual_bytes : 0;
      return bytes_ != nullptr;
    }
    void* const grown = std::realloc(bytes_, end_ + more);
    if (grown == nullptr) return false;
    bytes_ = static_cast<std::byte*>(grown);
    room_ = end_ + more;
    return true;
  }
  [[nodiscard]] bool append(const void* bytes, std::size_t count) noexcept {
    if (!reserve(count)) return false;
    std::memcpy(bytes_ + end_, bytes, count);
    end_ += count;
    return true;
  }
  /// Where reserved bytes are written; grow() adds them.
  [[nodiscard]] std::byte* end() noexcept { return bytes_ + end_; }
  void grow(std::size_t count) noexcept { end_ += count; }
  void drop_prefix(std::size_t count) noexcept {
    begin_ += count;
    if (begin_ == end_) *this = out_buffer();
  }
  [[nodiscard]] byte_view bytes() const noexcept { return {bytes_ + begin_, end_ - begin_}; }
  [[nodiscard]] bool empty() const noexcept { return begin_ == end_; }

 private:
  /// Buffers that this thread used last, of usual_bytes each.
  class spare_memory {
   public:
    spare_memory() noexcept = default;
    spare_memory(const spare_memory&) = delete;
    ~spare_memory() {
      while (count_ != 0) std::free(kept_[--count_]);
    }
    /// A buffer, or null without memory.
    [[nodiscard]] std::byte* take() noexcept {
      if (count_ != 0) return kept_[--count_];
      return static_cast<std::byte*>(std::malloc(usual_bytes));
    }
    void give_back(std::byte* used) noexcept {
      if (count_ == kept_.size()) {
        std::free(used);
      } else {
        kept_[count_++] = used;
      }
    }

   private:
    std::array<std::byte*, 4> kept_;
    std::size_t count_ = 0;
  };

  [[nodiscard]] static spare_memory& spares() noexcept {
    thread_local spare_memory here;
    return here;
  }
  void free() noexcept {
    if (room_ == usual_bytes) {
      spares().give_back(bytes_);
    } else {
      std::free(bytes_);
    }
  }

  std::byte* bytes_ = nullptr;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t room_ = 0;
};

}  // namespace heddle::tls::detail
