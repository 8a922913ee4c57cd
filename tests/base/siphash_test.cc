// SPDX-License-Identifier: MIT
// SipHash-2-4 against the published values: key 00 to 0f, input 00, 01, 02 and so on.
#include "heddle/base/siphash.hh"

#include <array>
#include <cstdint>

#include "support/test.hh"

using heddle::siphash;
using heddle::siphash_key;

namespace {
constexpr siphash_key published_key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
}

HEDDLE_TEST(siphash, "SipHash-2-4 gives the published value for whole words") {
  const std::uint64_t word = 0x0706050403020100;
  EXPECT_EQ((siphash<2, 4>(published_key, {&word, 1})), 0x93f5f5799a932462u);
}

HEDDLE_TEST(siphash, "SipHash-2-4 gives the published values for bytes of any number") {
  std::array<std::byte, 15> input;
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<std::byte>(i);
  const auto of = [&](std::size_t count) {
    return siphash<2, 4>(published_key, std::span<const std::byte>(input.data(), count));
  };
  EXPECT_EQ(of(0), 0x726fdb47dd0e0e31u);
  EXPECT_EQ(of(1), 0x74f839c593dc67fdu);
  EXPECT_EQ(of(2), 0x0d6c8009d9a94f5au);
  EXPECT_EQ(of(8), 0x93f5f5799a932462u);
  EXPECT_EQ(of(15), 0xa129ca6149be45e5u);
}
