// SPDX-License-Identifier: MIT
//
// A log-linear histogram of nanoseconds: 64 buckets for each power of two, so a percentile
// is right within 1.6 %, and adding a value is a shift and an increment.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace load {

class histogram {
 public:
  void add(std::uint64_t ns) {
    ++counts_[index(ns)];
    ++total_;
  }

  // The upper edge of the bucket that holds the value at `share` (0 to 1) of all values.
  std::uint64_t at(double share) const {
    const auto rank = static_cast<std::uint64_t>(share * static_cast<double>(total_));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen > rank) return edge(i);
    }
    return 0;
  }

  std::uint64_t total() const { return total_; }

 private:
  static constexpr unsigned fine_bits = 6;
  static constexpr std::uint64_t fine = 1u << fine_bits;

  static std::size_t index(std::uint64_t ns) {
    if (ns < fine) return ns;
    const auto shift = static_cast<unsigned>(std::bit_width(ns)) - 1 - fine_bits;
    return (shift + 1) * fine + (ns >> shift) - fine;
  }

  static std::uint64_t edge(std::size_t i) {
    if (i < fine) return i;
    const std::size_t shift = i / fine - 1;
    return ((i % fine + fine + 1) << shift) - 1;
  }

  std::array<std::uint64_t, (64 - fine_bits + 1) * fine> counts_{};
  std::uint64_t total_ = 0;
};

}  // namespace load
