// SPDX-License-Identifier: MIT
// FNV-1a over 64 bits, which can go on where it stopped: tells two videos apart that differ by
// accident.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace player {

inline constexpr std::uint64_t digest_of_nothing = 0xcbf29ce484222325u;

[[nodiscard]] inline std::uint64_t digest_of(std::span<const std::byte> bytes,
                                             std::uint64_t from = digest_of_nothing) noexcept {
  for (const std::byte b : bytes) from = (from ^ static_cast<std::uint64_t>(b)) * 0x100000001b3u;
  return from;
}

}  // namespace player
