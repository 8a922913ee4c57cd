// SPDX-License-Identifier: MIT
// The place of an element in a vector of many, or no place. Each vector has a type of index of its
// own, so that the compiler refuses the index of a node where that of a function belongs.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace heddle::tame {

template <class T>
class index_of {
 public:
  constexpr index_of() noexcept = default;  ///< no place
  constexpr explicit index_of(std::size_t at) noexcept : at_(static_cast<std::uint32_t>(at)) {}

  [[nodiscard]] constexpr explicit operator bool() const noexcept { return at_ != none; }
  /// Call it only if there is a place.
  [[nodiscard]] constexpr std::size_t value() const noexcept { return at_; }
  friend constexpr auto operator<=>(index_of, index_of) noexcept = default;

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t at_ = none;
};

/// The index of the last element.
template <class T>
[[nodiscard]] index_of<T> last_of(const std::vector<T>& all) noexcept {
  return index_of<T>(all.size() - 1);
}

}  // namespace heddle::tame
