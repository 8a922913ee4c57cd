// SPDX-License-Identifier: MIT
// Memory for a body. A sum counts its bytes until the last sender has released it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "heddle/io/chain.hh"
#include "heddle/io/page_store.hh"

namespace heddle::http {

/// The memory is ordinary, or pages from which the kernel sends without a copy.
///
/// Thread: one color. The sum is shared, because bodies may outlive its owner.
class counted_body {
 public:
  /// Bodies of at least this size use pages. For smaller ones sendfile costs more than a copy.
  static constexpr std::size_t pages_from = 16 * 1024;

  counted_body(std::shared_ptr<std::uint64_t> sum, std::string&& text)
      : sum_(std::move(sum)), text_(std::move(text)) {
    *sum_ += text_.size();
  }
  /// Memory of `size` zero bytes, which the caller fills.
  counted_body(std::shared_ptr<std::uint64_t> sum, page_store& pages, std::size_t size)
      : sum_(std::move(sum)) {
    if (size >= pages_from) pages_ = pages.allocate(size);
    if (!pages_) text_.assign(size, '\0');
    *sum_ += size;
  }
  counted_body(counted_body&& other) noexcept
      : sum_(std::move(other.sum_)),
        text_(std::move(other.text_)),
        pages_(std::move(other.pages_)) {}
  counted_body& operator=(counted_body&&) = delete;
  ~counted_body() {
    if (sum_ != nullptr) *sum_ -= bytes().size();
  }

  [[nodiscard]] byte_view bytes() const noexcept {
    return pages_ ? pages_.bytes() : byte_view(text_);
  }
  [[nodiscard]] file_place place() const noexcept { return pages_.place(); }
  [[nodiscard]] byte_span writable() noexcept {
    return pages_ ? pages_.writable() : byte_span(text_);
  }

 private:
  std::shared_ptr<std::uint64_t> sum_;
  std::string text_;
  page_block pages_;
};

}  // namespace heddle::http
