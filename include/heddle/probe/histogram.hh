// SPDX-License-Identifier: MIT
// A log-linear histogram with eight steps for each power of two, so that a value is known to within
// 12.5 %. Recording uses no floating point and no allocation. The owner chooses the unit of the
// values.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace heddle {

/// Thread: one writer; a reader on another thread needs a copy that the writer made.
class histogram {
 public:
  void record(std::uint64_t value) noexcept {
    ++buckets_[index_of(value)];
    ++count_;
    sum_ += value;
  }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t sum() const noexcept { return sum_; }

  /// The upper bound of the bucket at which this share (0 to 1) of the values is reached; 0 if
  /// empty.
  [[nodiscard]] std::uint64_t quantile(double share) const noexcept {
    const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(count_));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      seen += buckets_[i];
      if (seen > wanted || (seen == count_ && count_ != 0)) return upper_bound_of(i);
    }
    return 0;
  }

  /// Adds the counts of another histogram.
  void merge(const histogram& other) noexcept {
    for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    sum_ += other.sum_;
  }

 private:
  static constexpr unsigned step_bits = 3;
  static constexpr std::size_t steps = std::size_t{1} << step_bits;

  [[nodiscard]] static std::size_t index_of(std::uint64_t value) noexcept {
    if (value < steps) return static_cast<std::size_t>(value);
    const auto exponent = static_cast<unsigned>(std::bit_width(value)) - 1 - step_bits;
    return (exponent + 1) * steps + ((value >> exponent) & (steps - 1));
  }
  [[nodiscard]] static std::uint64_t upper_bound_of(std::size_t index) noexcept {
    if (index < steps) return index;
    const auto exponent = static_cast<unsigned>(index / steps - 1);
    const std::uint64_t first = (steps + index % steps) << exponent;
    return first + ((std::uint64_t{1} << exponent) - 1);
  }

  std::array<std::uint64_t, (64 - step_bits + 1) * steps> buckets_{};
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
};

}  // namespace heddle
