// SPDX-License-Identifier: MIT
// What a generated program draws from its seed, and from nothing else.
#pragma once

#include <chrono>
#include <cstdint>

namespace heddle::test {

/// A stream of numbers from one seed (splitmix64). Two streams of one seed differ by their number.
class draws {
 public:
  explicit draws(std::uint64_t seed, std::uint64_t stream = 0) noexcept
      : state_(seed * 0x9e3779b97f4a7c15 + stream * 0xd1342543de82ef95) {
    static_cast<void>(next());
  }
  std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// A number from 0 to n - 1.
  std::uint64_t below(std::uint64_t n) noexcept { return next() % n; }
  /// A number from `least` to `most`.
  std::uint64_t from(std::uint64_t least, std::uint64_t most) noexcept {
    return least + below(most - least + 1);
  }
  /// True once in n times.
  bool one_of(std::uint64_t n) noexcept { return below(n) == 0; }
  std::chrono::nanoseconds span(std::chrono::nanoseconds most) noexcept {
    return std::chrono::nanoseconds(below(static_cast<std::uint64_t>(most.count()) + 1));
  }

 private:
  std::uint64_t state_;
};

}  // namespace heddle::test
