// SPDX-License-Identifier: MIT
// Decoding goes by four bits a step through a table of states. A state is an inner node of the
// code's tree; because every code is at least five bits long, a step gives at most one symbol.
#include "http/hpack_huffman.hh"

#include <array>
#include <cstdint>

namespace heddle::http {
namespace {

constexpr int symbols = 257;  // the bytes, and EOS
constexpr std::array<std::uint8_t, symbols> length_of = {
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6,  10, 10, 12, 13, 6,  8,  11, 10, 10, 8,  11, 8,  6,  6,  6,
    5,  5,  5,  6,  6,  6,  6,  6,  6,  6,  7,  8,  15, 6,  12, 10, 13, 6,  7,  7,  7,  7,  7,  7,
    7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  8,  7,  8,  13, 19, 13, 14, 6,
    15, 5,  6,  5,  6,  5,  6,  6,  6,  5,  7,  7,  6,  6,  6,  5,  6,  7,  6,  5,  5,  6,  7,  7,
    7,  7,  7,  15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21,
    23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24,
    21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
};

struct code_table {
  std::array<std::uint32_t, symbols> code{};
  constexpr code_table() {
    std::uint32_t next = 0;
    for (unsigned length = 1; length <= 30; ++length, next <<= 1)
      for (int s = 0; s < symbols; ++s)
        if (length_of[s] == length) code[s] = next++;
  }
};
constexpr code_table codes;

struct step {
  std::uint8_t to = 0;
  std::uint8_t symbol = 0;
  bool gives = false;
  bool fails = false;
};

/// The tree has 256 inner nodes, the root is number 0.
struct step_table {
  std::array<std::array<step, 16>, 256> at{};
  std::array<bool, 256> may_end{};

  constexpr step_table() {
    // A child is an inner node (0 to 255), a symbol (256 + s), or not there yet.
    std::array<std::array<int, 2>, 256> child{};
    for (auto& both : child) both = {-1, -1};
    int made = 1;
    for (int s = 0; s < symbols; ++s) {
      int node = 0;
      for (int bit = length_of[s] - 1; bit > 0; --bit) {
        int& next = child[node][codes.code[s] >> bit & 1];
        if (next < 0) next = made++;
        node = next;
      }
      child[node][codes.code[s] & 1] = 256 + s;
    }
    for (int from = 0; from < 256; ++from)
      for (int nibble = 0; nibble < 16; ++nibble) {
        step& found = at[from][nibble];
        int node = from;
        for (int bit = 3; bit >= 0 && !found.fails; --bit) {
          node = child[node][nibble >> bit & 1];
          if (node < 256) continue;
          found.fails = node == 256 + 256;  // EOS in the text is an error
          found.gives = true;
          found.symbol = static_cast<std::uint8_t>(node - 256);
          node = 0;
        }
        found.to = static_cast<std::uint8_t>(found.fails ? 0 : node);
      }
    // Padding is a beginning of EOS, which is all ones.
    may_end[0] = true;
    for (int node = 0, ones = 1; ones <= 7; ++ones) {
      node = child[node][1];
      may_end[node] = true;
    }
  }
};
constexpr step_table steps;

}  // namespace

std::size_t huffman_size(std::string_view text) noexcept {
  std::size_t bits = 0;
  for (const char c : text) bits += length_of[static_cast<unsigned char>(c)];
  return (bits + 7) / 8;
}

void huffman_encode(std::string_view text, std::size_t size, std::string& out) {
  const std::size_t before = out.size();
  out.resize(before + size);
  char* to = out.data() + before;
  std::uint64_t bits = 0;
  unsigned count = 0;  // the used bits of `bits`: below 32 between symbols; a code has 30
  for (const char c : text) {
    const auto symbol = static_cast<unsigned char>(c);
    bits = bits << length_of[symbol] | codes.code[symbol];
    count += length_of[symbol];
    if (count < 32) continue;
    count -= 32;
    for (const unsigned byte : {3u, 2u, 1u, 0u})
      *to++ = static_cast<char>(bits >> (count + 8 * byte));
  }
  for (; count >= 8; count -= 8) *to++ = static_cast<char>(bits >> (count - 8));
  if (count != 0) *to = static_cast<char>(bits << (8 - count) | 0xffu >> count);
}

bool huffman_decode(std::string_view code, std::string& out, std::size_t bytes_max) {
  std::uint8_t state = 0;
  const std::size_t before = out.size();
  for (const char c : code) {
    const auto byte = static_cast<unsigned char>(c);
    for (const unsigned nibble : {byte / 16u, byte % 16u}) {
      const step& next = steps.at[state][nibble];
      if (next.fails) return false;
      if (next.gives) {
        if (out.size() - before == bytes_max) return false;
        out.push_back(static_cast<char>(next.symbol));
      }
      state = next.to;
    }
  }
  return steps.may_end[state];
}

}  // namespace heddle::http
