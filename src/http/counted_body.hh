// SPDX-License-Identifier: MIT
// Memory of a body that counts in a sum for as long as anybody sends it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "heddle/io/chain.hh"

namespace heddle::http {

/// Thread: one color. The sum outlives whoever reads it, so it is shared.
class counted_body {
 public:
  counted_body(std::shared_ptr<std::uint64_t> sum, std::string&& text)
      : sum_(std::move(sum)), text_(std::move(text)) {
    *sum_ += text_.size();
  }
  counted_body(counted_body&& other) noexcept
      : sum_(std::move(other.sum_)), text_(std::move(other.text_)) {}
  counted_body& operator=(counted_body&&) = delete;
  ~counted_body() {
    if (sum_ != nullptr) *sum_ -= text_.size();
  }

  [[nodiscard]] byte_view bytes() const noexcept { return byte_view(text_); }
  /// For the one who fills it; its size is fixed.
  [[nodiscard]] char* writable() noexcept { return text_.data(); }

 private:
  std::shared_ptr<std::uint64_t> sum_;
  std::string text_;
};

}  // namespace heddle::http
