// SPDX-License-Identifier: MIT
// Memory that must hold nothing but zeros.
#pragma once

#include <cstddef>
#include <cstring>

namespace heddle::test {

inline bool is_zero(const void* at, std::size_t bytes) {
  const auto* const first = static_cast<const std::byte*>(at);
  // Each byte is the same as the one before, and the first is zero.
  return bytes == 0 || (*first == std::byte{} && std::memcmp(first, first + 1, bytes - 1) == 0);
}

}  // namespace heddle::test
