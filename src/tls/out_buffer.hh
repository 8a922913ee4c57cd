// SPDX-License-Identifier: MIT
// Sealed bytes on their way out: OpenSSL's writes are gathered here and leave in one send. The
// memory is freed when the last byte has left, so that a quiet connection holds none.
#pragma once

#include <cstdlib>
#include <cstring>
#include <utility>

#include "heddle/io/buffer.hh"

namespace heddle::tls::detail {

class out_buffer {
 public:
  out_buffer() noexcept = default;
  out_buffer(out_buffer&& other) noexcept { swap(other); }
  out_buffer& operator=(out_buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~out_buffer() { std::free(bytes_); }

  void swap(out_buffer& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(begin_, other.begin_);
    std::swap(end_, other.end_);
    std::swap(room_, other.room_);
  }
  /// Makes room for `more` further bytes; false without memory.
  [[nodiscard]] bool reserve(std::size_t more) noexcept {
    if (room_ - end_ >= more) return true;
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
  std::byte* bytes_ = nullptr;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t room_ = 0;
};

}  // namespace heddle::tls::detail
