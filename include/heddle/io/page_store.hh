// SPDX-License-Identifier: MIT
// Memory that the kernel sends from without copying it: a file without a name (memfd_create(2)),
// of which each block is mapped. A cache keeps bodies in it that are sent often.
//
//   page_store pages;
//   if (page_block b = pages.allocate(text.size())) {
//     std::memcpy(b.writable().data(), text.data(), text.size());
//     body = piece::held_by(std::move(b));     // sendfile(2) takes it from there
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "heddle/io/buffer.hh"
#include "heddle/io/chain.hh"

namespace heddle {

class page_block;

/// Thread: one color. Blocks may outlive it. Memory: whole pages, which count as shared memory of
/// the process; one descriptor, from the first block on.
class page_store {
 public:
  static constexpr std::size_t large_page_bytes = 2 * 1024 * 1024;

  page_store() noexcept = default;
  page_store(page_store&& other) noexcept : file_(std::exchange(other.file_, nullptr)) {}
  page_store& operator=(page_store&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~page_store();

  /// A block of zeros. One of whole large pages lies in such pages if the system gives them; the
  /// kernel sends it in fewer parts then (docs/reference/http.md has figures). Empty when
  /// the system has no memory, no descriptor or no mapping left, or knows no such files. Then use
  /// ordinary memory.
  [[nodiscard]] page_block allocate(std::size_t bytes) noexcept;

 private:
  friend class page_block;
  struct store_file;
  static void drop(store_file* file) noexcept;
  store_file* file_ = nullptr;
};

/// Thread: one color. Owns: its pages. Bytes sent from it must not be written to again.
class page_block {
 public:
  page_block() noexcept = default;
  page_block(page_block&& other) noexcept
      : file_(std::exchange(other.file_, nullptr)), bytes_(other.bytes_), at_(other.at_) {}
  page_block& operator=(page_block&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(bytes_, other.bytes_);
    std::swap(at_, other.at_);
    return *this;
  }
  ~page_block() {
    if (file_ != nullptr) give_back();
  }

  [[nodiscard]] explicit operator bool() const noexcept { return file_ != nullptr; }
  [[nodiscard]] byte_span writable() noexcept { return bytes_; }
  [[nodiscard]] byte_view bytes() const noexcept { return {bytes_.data(), bytes_.size()}; }
  [[nodiscard]] file_place place() const noexcept;

 private:
  friend class page_store;
  void give_back() noexcept;

  page_store::store_file* file_ = nullptr;
  byte_span bytes_;
  std::uint64_t at_ = 0;
};

}  // namespace heddle
