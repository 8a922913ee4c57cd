// SPDX-License-Identifier: MIT
// A bounded queue of bytes that a stream socket or a pipe has received and that were not read yet.
// Room can be reserved for bytes that are still on their way.
#pragma once

#include <string>

#include "sim/object.hh"

namespace heddle::sim {

class byte_queue {
 public:
  explicit byte_queue(std::size_t bytes_max) : max_(bytes_max) {}

  [[nodiscard]] std::size_t len() const noexcept { return bytes_.size() - start_; }
  [[nodiscard]] std::size_t room() const noexcept {
    const std::size_t used = len() + reserved_;
    return used < max_ ? max_ - used : 0;
  }
  void set_max(std::size_t bytes_max) noexcept { max_ = bytes_max; }
  void reserve(std::size_t len) noexcept { reserved_ += len; }
  void unreserve(std::size_t len) noexcept { reserved_ -= len; }
  void append(const std::string& more) { bytes_ += more; }
  /// Moves at most t.bytes() out, or copies them when `peek`.
  std::size_t read(const transfer& t, bool peek);
  void clear() noexcept {
    bytes_.clear();
    start_ = 0;
  }

 private:
  std::string bytes_;
  std::size_t start_ = 0;  // read already; cut off once it is half of the string
  std::size_t max_;
  std::size_t reserved_ = 0;
};

}  // namespace heddle::sim
