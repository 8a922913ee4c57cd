// SPDX-License-Identifier: MIT
// Memory for parts of files that are being sent, of all connections together.
#pragma once

#include <algorithm>
#include <cstddef>

namespace heddle::http {

/// A share of the memory limit for files that are being sent.
class file_share {
 public:
  file_share(std::size_t& held, std::size_t most) noexcept : held_(held), most_(most) {}
  ~file_share() { held_ -= size_; }
  file_share(const file_share&) = delete;

  /// The size that a part may have now; short_part if the limit is reached.
  [[nodiscard]] std::size_t take(std::size_t wanted) noexcept {
    held_ -= size_;
    size_ = held_ + wanted <= most_ ? wanted : std::min(wanted, short_part);
    held_ += size_;
    return size_;
  }

 private:
  static constexpr std::size_t short_part = 4096;  // beyond the limit

  std::size_t& held_;
  std::size_t most_;
  std::size_t size_ = 0;
};

}  // namespace heddle::http
