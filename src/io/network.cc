// SPDX-License-Identifier: MIT
// Networks as 128 bits of which the first few count; version 4 lies within version 6.
#include "heddle/io/network.hh"

#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>

namespace heddle {
namespace {

constexpr std::size_t bits_before_v4 = 96;
constexpr std::array<std::uint8_t, 12> before_v4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

network::bits network::bits_of(const address& a) noexcept {
  bits out{};
  if (a.is_v4()) {
    ::sockaddr_in native;
    std::memcpy(&native, a.native(), sizeof native);
    std::memcpy(out.data(), before_v4.data(), before_v4.size());
    std::memcpy(out.data() + before_v4.size(), &native.sin_addr, sizeof native.sin_addr);
  } else if (a.is_v6()) {
    ::sockaddr_in6 native;
    std::memcpy(&native, a.native(), sizeof native);
    std::memcpy(out.data(), &native.sin6_addr, sizeof native.sin6_addr);
  }
  return out;
}

bool network::same_start(const bits& other) const noexcept {
  const std::size_t whole = length_ / 8;
  if (std::memcmp(first_.data(), other.data(), whole) != 0) return false;
  const unsigned rest = length_ % 8;
  return rest == 0 || ((first_[whole] ^ other[whole]) >> (8 - rest)) == 0;
}

bool network::contains(const address& a) const noexcept {
  return static_cast<bool>(a) && same_start(bits_of(a));
}

result<network> network::parse(std::string_view text) noexcept {
  const auto bad = std::unexpected(std::make_error_code(std::errc::invalid_argument));
  const std::size_t slash = text.find('/');
  const auto start = address::parse(text.substr(0, slash));
  if (!start || start->port() != 0 || text.starts_with('[')) return bad;
  const std::size_t most = start->is_v4() ? 32 : 128;
  std::size_t length = most;
  if (slash != text.npos) {
    const std::string_view digits = text.substr(slash + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
    if (error != std::errc() || end != digits.data() + digits.size() || length > most) return bad;
  }
  network n;
  n.length_ = static_cast<std::uint8_t>(start->is_v4() ? bits_before_v4 + length : length);
  const bits all = bits_of(*start);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t before = i * 8;
    const unsigned kept = before >= n.length_ ? 0 : std::min<unsigned>(n.length_ - before, 8);
    n.first_[i] = static_cast<std::uint8_t>(all[i] & (0xff00u >> kept));
  }
  if (n.first_ != all) return bad;
  return n;
}

std::string network::to_string() const {
  const bool v4 = length_ >= bits_before_v4 &&
                  std::memcmp(first_.data(), before_v4.data(), before_v4.size()) == 0;
  address start = v4 ? address::any_v4(0) : address::any(0);
  unsigned char native[sizeof(::sockaddr_in6)] = {};
  std::memcpy(native, start.native(), start.native_len());
  if (v4) {
    std::memcpy(native + offsetof(::sockaddr_in, sin_addr), first_.data() + before_v4.size(), 4);
  } else {
    std::memcpy(native + offsetof(::sockaddr_in6, sin6_addr), first_.data(), first_.size());
  }
  start = *address::from(reinterpret_cast<const ::sockaddr*>(native), start.native_len());
  return start.host() + '/' + std::to_string(v4 ? length_ - bits_before_v4 : length_);
}

}  // namespace heddle
