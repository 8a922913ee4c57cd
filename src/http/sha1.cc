// SPDX-License-Identifier: MIT
// One block of 64 bytes at a time.
#include "heddle/http/detail/sha1.hh"

#include <array>
#include <bit>
#include <cstdint>

namespace heddle::http {
namespace {

using state = std::array<std::uint32_t, 5>;

void add_block(state& h, std::string_view block) noexcept {
  std::uint32_t w[80];
  for (std::size_t t = 0; t != 16; ++t) {
    w[t] = 0;
    for (std::size_t i = 0; i != 4; ++i)
      w[t] = w[t] << 8 | static_cast<unsigned char>(block[4 * t + i]);
  }
  for (std::size_t t = 16; t != 80; ++t)
    w[t] = std::rotl(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
  auto [a, b, c, d, e] = h;
  for (std::size_t t = 0; t != 80; ++t) {
    std::uint32_t f = b ^ c ^ d;
    std::uint32_t k = t < 40 ? 0x6ed9eba1 : 0xca62c1d6;
    if (t < 20) {
      f = (b & c) | (~b & d);
      k = 0x5a827999;
    } else if (t >= 40 && t < 60) {
      f = (b & c) | (b & d) | (c & d);
      k = 0x8f1bbcdc;
    }
    const std::uint32_t next = std::rotl(a, 5) + f + e + k + w[t];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  h = {h[0] + a, h[1] + b, h[2] + c, h[3] + d, h[4] + e};
}

}  // namespace

std::string sha1(std::string_view bytes) {
  std::string padded(bytes);
  padded += static_cast<char>(0x80);
  while (padded.size() % 64 != 56) padded += '\0';
  const std::uint64_t bits = std::uint64_t{8} * bytes.size();
  for (int shift = 56; shift >= 0; shift -= 8) padded += static_cast<char>(bits >> shift & 0xff);
  state h = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  for (std::size_t at = 0; at != padded.size(); at += 64)
    add_block(h, std::string_view(padded).substr(at, 64));
  std::string digest;
  for (const std::uint32_t word : h)
    for (int shift = 24; shift >= 0; shift -= 8) digest += static_cast<char>(word >> shift & 0xff);
  return digest;
}

}  // namespace heddle::http
