// SPDX-License-Identifier: MIT
// Chance for the simulation: one 64-bit counter stepped by the golden ratio and mixed (splitmix).
// Each purpose has a stream of its own, so that drawing more for one of them does not move the
// others.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/base/clock.hh"

namespace heddle::sim {

/// Spreads every bit of x over the whole word.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Choices of a fuzzer: drawn first, by all streams that share the tape.
struct tape {
  std::vector<std::uint8_t> bytes;
  std::size_t used = 0;
  [[nodiscard]] bool left() const noexcept { return used < bytes.size(); }
};

/// Draws of a stream, numbered from 1, that are calm: below() gives 0 and chance() says no. So 0
/// must be what changes least: the first one, at once, no delay.
struct calm_range {
  std::uint64_t first, last;
};
using calm_ranges = std::vector<calm_range>;

class random_stream {
 public:
  random_stream(std::uint64_t seed, std::uint64_t purpose, tape* first = nullptr,
                const calm_ranges* calm = nullptr) noexcept
      : state_(mix(seed + mix(purpose))), tape_(first), calm_(calm) {}

  std::uint64_t next() noexcept {
    ++draws_;
    return mix(state_ += 0x9e3779b97f4a7c15u);
  }
  /// Draws a number from 0 to limit - 1; limit must not be 0.
  std::uint64_t below(std::uint64_t limit) noexcept {
    if (limit == 1) return 0;
    if (tape_ != nullptr && tape_->left()) return from_tape(limit);
    const std::uint64_t drawn = next();
    if (is_calm()) return 0;
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(drawn) * limit) >> 64);
  }
  /// Draws nothing when the answer is certain, so that a rate of 0 leaves the run as it was.
  bool chance(double rate) noexcept {
    if (rate <= 0) return false;
    if (rate >= 1) return true;
    if (tape_ != nullptr && tape_->left()) return tape_->bytes[tape_->used++] < rate * 256;
    const std::uint64_t drawn = next();
    return !is_calm() && static_cast<double>(drawn >> 11) * 0x1.0p-53 < rate;
  }
  nanoseconds up_to(nanoseconds longest) noexcept {
    if (longest.count() <= 0) return nanoseconds{0};
    return nanoseconds{
        static_cast<nanoseconds::rep>(below(static_cast<std::uint64_t>(longest.count()) + 1))};
  }
  /// How many numbers were drawn.
  [[nodiscard]] std::uint64_t draws() const noexcept { return draws_; }

 private:
  /// Whether the number that was just drawn is to be calm.
  [[nodiscard]] bool is_calm() const noexcept {
    if (calm_ == nullptr) return false;
    for (const calm_range& range : *calm_)
      if (draws_ >= range.first && draws_ <= range.last) return true;
    return false;
  }
  /// One byte for a small choice, so that a fuzzer sees what each of its bytes does.
  std::uint64_t from_tape(std::uint64_t limit) noexcept {
    std::uint64_t value = 0;
    for (std::uint64_t reach = 1; reach < limit && tape_->left(); reach <<= 8) {
      value = (value << 8) | tape_->bytes[tape_->used++];
      if (reach >> 56 != 0) break;
    }
    return value % limit;
  }

  std::uint64_t state_;
  std::uint64_t draws_ = 0;
  tape* tape_ = nullptr;
  const calm_ranges* calm_ = nullptr;
};

}  // namespace heddle::sim
