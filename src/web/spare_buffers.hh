// SPDX-License-Identifier: MIT
// A pool of buffers for gathered answers. A burst of requests passes its buffer to the next one, so
// that an answer needs no allocation.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace heddle::http {

/// Thread: one color. Owns: at most `count_max` empty strings with capacity, at most `bytes_max`
/// together: enough for one turn under load.
class spare_buffers {
 public:
  spare_buffers() { all_.reserve(count_max); }

  /// An empty string, with capacity if the pool has any.
  [[nodiscard]] std::string take() noexcept {
    if (all_.empty()) return {};
    std::string out = std::move(all_.back());
    all_.pop_back();
    bytes_ -= out.capacity();
    return out;
  }
  /// Keeps the capacity of a string that is no longer needed.
  void give_back(std::string&& used) noexcept {
    const std::size_t size = used.capacity();
    const bool some = size > std::string().capacity();  // else it has no allocation
    if (!some || size > one_bytes_max || bytes_ + size > bytes_max || all_.size() >= count_max)
        [[unlikely]]
      return;
    bytes_ += size;
    used.clear();
    all_.push_back(std::move(used));
  }

 private:
  static constexpr std::size_t count_max = 64;
  static constexpr std::size_t one_bytes_max = 320 * 1024;  // twice the output of HTTP/2
  static constexpr std::size_t bytes_max = 768 * 1024;

  std::vector<std::string> all_;
  std::size_t bytes_ = 0;  // the capacity of all of them
};

}  // namespace heddle::http
