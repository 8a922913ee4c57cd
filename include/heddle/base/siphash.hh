// SPDX-License-Identifier: MIT
// SipHash (Aumasson and Bernstein 2012): a keyed hash whose values an outsider cannot guess. The
// number of rounds is chosen by use: 1-3 for places in a table, 2-4 for what outsiders see, such as
// sequence numbers, cookies and handles of files.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace heddle {

using siphash_key = std::array<std::uint64_t, 2>;

namespace detail {

template <int Each, int Last>
class siphash_state {
 public:
  explicit siphash_state(const siphash_key& key) noexcept
      : a_(key[0] ^ 0x736f6d6570736575u),
        b_(key[1] ^ 0x646f72616e646f6du),
        c_(key[0] ^ 0x6c7967656e657261u),
        d_(key[1] ^ 0x7465646279746573u) {}

  void take(std::uint64_t word) noexcept {
    d_ ^= word;
    for (int i = 0; i < Each; ++i) round();
    a_ ^= word;
  }
  [[nodiscard]] std::uint64_t finish() noexcept {
    c_ ^= 0xff;
    for (int i = 0; i < Last; ++i) round();
    return a_ ^ b_ ^ c_ ^ d_;
  }

 private:
  void round() noexcept {
    a_ += b_;
    b_ = std::rotl(b_, 13) ^ a_;
    a_ = std::rotl(a_, 32);
    c_ += d_;
    d_ = std::rotl(d_, 16) ^ c_;
    a_ += d_;
    d_ = std::rotl(d_, 21) ^ a_;
    c_ += b_;
    b_ = std::rotl(b_, 17) ^ c_;
    c_ = std::rotl(c_, 32);
  }

  std::uint64_t a_, b_, c_, d_;
};

}  // namespace detail

/// Hashes whole words; their number is part of the value.
template <int Each, int Last>
[[nodiscard]] inline std::uint64_t siphash(const siphash_key& key,
                                           std::span<const std::uint64_t> words) noexcept {
  detail::siphash_state<Each, Last> state(key);
  for (std::uint64_t word : words) state.take(word);
  state.take(std::uint64_t{words.size() * 8} << 56);
  return state.finish();
}

/// Hashes bytes, with the values of the published algorithm.
template <int Each, int Last>
[[nodiscard]] inline std::uint64_t siphash(const siphash_key& key,
                                           std::span<const std::byte> bytes) noexcept {
  detail::siphash_state<Each, Last> state(key);
  const auto word_at = [&](std::size_t at, std::size_t count) noexcept {
    std::uint64_t word = 0;
    if constexpr (std::endian::native == std::endian::little) {
      std::memcpy(&word, bytes.data() + at, count);
    } else {
      for (std::size_t i = 0; i < count; ++i)
        word |= std::to_integer<std::uint64_t>(bytes[at + i]) << 8 * i;
    }
    return word;
  };
  const std::size_t whole = bytes.size() / 8 * 8;
  for (std::size_t at = 0; at < whole; at += 8) state.take(word_at(at, 8));
  const std::uint64_t rest = whole == bytes.size() ? 0 : word_at(whole, bytes.size() - whole);
  state.take(rest | std::uint64_t{bytes.size()} << 56);
  return state.finish();
}

}  // namespace heddle
