// SPDX-License-Identifier: MIT
// A pool of buffers for answers. The allocator returns a large buffer to the system when it is
// freed, and the next one then costs page faults; so the next answer uses the same buffer.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace heddle::http::detail {

/// Thread: one color. Owns: at most `count_max` empty strings with a capacity from OneMin to
/// OneMax bytes each, together at most AllMax.
template <std::size_t OneMin, std::size_t OneMax, std::size_t AllMax>
class spare_buffers {
  static_assert(OneMin > 22 && OneMin <= OneMax, "shorter strings have no allocation to keep");

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
    if (size < OneMin || size > OneMax || bytes_ + size > AllMax || all_.size() == count_max)
        [[unlikely]]
      return;
    bytes_ += size;
    used.clear();
    all_.push_back(std::move(used));
  }

 private:
  static constexpr std::size_t count_max = 64;

  std::vector<std::string> all_;
  std::size_t bytes_ = 0;  // the capacity of all of them
};

}  // namespace heddle::http::detail
