// SPDX-License-Identifier: MIT
// A count that one thread changes and any thread may read meanwhile.
#pragma once

#include <atomic>
#include <cstdint>

namespace heddle {

/// A count that is as cheap as a plain integer: because only one thread writes, it needs no locked
/// instruction.
/// Thread: changes come from one thread at a time; any thread reads.
class relaxed_count {
 public:
  relaxed_count& operator+=(std::uint64_t n) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    return *this;
  }
  relaxed_count& operator++() noexcept { return *this += 1; }
  [[nodiscard]] operator std::uint64_t() const noexcept {
    return value_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> value_{0};
};

}  // namespace heddle
