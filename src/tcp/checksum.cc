// SPDX-License-Identifier: MIT
// The Internet checksum (RFC 1071), eight bytes a step. Sums of machine words in memory order give
// the right sum in memory order, on machines of either order.
#include <bit>
#include <cstring>

#include "heddle/tcp/segment.hh"

namespace heddle::tcp {

namespace {

std::uint64_t add_carry(std::uint64_t a, std::uint64_t b) noexcept {
  a += b;
  return a + (a < b ? 1 : 0);
}

std::uint16_t fold(std::uint64_t sum) noexcept {
  sum = (sum >> 32) + (sum & 0xffffffff);
  sum = (sum >> 16) + (sum & 0xffff);
  sum = (sum >> 16) + (sum & 0xffff);
  sum = (sum >> 16) + (sum & 0xffff);
  return static_cast<std::uint16_t>(sum);
}

std::uint16_t swap16(std::uint16_t value) noexcept {
  return static_cast<std::uint16_t>(value << 8 | value >> 8);
}

}  // namespace

void checksum::add(std::span<const std::byte> bytes) noexcept {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t sum = 0;
  while (left >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    sum = add_carry(sum, word);
    at += 8;
    left -= 8;
  }
  if (left != 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, left);
    sum = add_carry(sum, word);
  }
  // A piece that starts at an odd place counts with its bytes swapped.
  std::uint16_t part = fold(sum);
  if (odd_) part = swap16(part);
  sum_ += part;
  if (bytes.size() % 2 != 0) odd_ = !odd_;
}

void checksum::add16(std::uint16_t value) noexcept {
  std::byte bytes[2];
  put16(bytes, value);
  add(bytes);
}

void checksum::add_pseudo(const ip_address& source, const ip_address& destination,
                          std::uint8_t protocol, std::uint32_t bytes) noexcept {
  const std::size_t skip = source.is_v4() ? 12 : 0;
  add(std::as_bytes(std::span(source.bytes).subspan(skip)));
  add(std::as_bytes(std::span(destination.bytes).subspan(skip)));
  add16(static_cast<std::uint16_t>(bytes >> 16));
  add16(static_cast<std::uint16_t>(bytes & 0xffff));
  add16(protocol);
}

std::uint16_t checksum::value() const noexcept {
  const auto sum = static_cast<std::uint16_t>(~fold(sum_));
  return std::endian::native == std::endian::little ? swap16(sum) : sum;
}

}  // namespace heddle::tcp
