// SPDX-License-Identifier: MIT
// SipHash with a number of rounds by choice: a keyed hash whose values an outsider cannot guess.
// 1-3 places connections in the table, 2-4 makes sequence numbers and cookies.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace heddle::tcp {

using hash_key = std::array<std::uint64_t, 2>;

/// Hashes whole words; their number is part of the value.
template <int Each, int Last>
[[nodiscard]] inline std::uint64_t siphash(const hash_key& key,
                                           std::span<const std::uint64_t> words) noexcept {
  std::uint64_t a = key[0] ^ 0x736f6d6570736575u, b = key[1] ^ 0x646f72616e646f6du;
  std::uint64_t c = key[0] ^ 0x6c7967656e657261u, d = key[1] ^ 0x7465646279746573u;
  const auto round = [&]() noexcept {
    a += b;
    b = std::rotl(b, 13) ^ a;
    a = std::rotl(a, 32);
    c += d;
    d = std::rotl(d, 16) ^ c;
    a += d;
    d = std::rotl(d, 21) ^ a;
    c += b;
    b = std::rotl(b, 17) ^ c;
    c = std::rotl(c, 32);
  };
  const auto take = [&](std::uint64_t word) noexcept {
    d ^= word;
    for (int i = 0; i < Each; ++i) round();
    a ^= word;
  };
  for (std::uint64_t word : words) take(word);
  take(std::uint64_t{words.size() * 8} << 56);
  c ^= 0xff;
  for (int i = 0; i < Last; ++i) round();
  return a ^ b ^ c ^ d;
}

}  // namespace heddle::tcp
