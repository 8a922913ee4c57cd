// SPDX-License-Identifier: MIT
// Addresses as text, without the system's library.
#include "heddle/tcp/address.hh"

#include <charconv>

namespace heddle::tcp {

namespace {

bool read_v4(std::string_view text, std::uint8_t* out) {
  for (int i = 0; i < 4; ++i) {
    unsigned value = 256;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value > 255 || end - text.data() > 3) return false;
    out[i] = static_cast<std::uint8_t>(value);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (i == 3) return text.empty();
    if (text.empty() || text[0] != '.') return false;
    text.remove_prefix(1);
  }
  return false;
}

/// Groups of 16 bits up to the text's end; the number of bytes, or -1.
int read_groups(std::string_view text, std::uint8_t* out, int room) {
  int count = 0;
  while (!text.empty()) {
    const std::size_t colon = text.find(':');
    const std::string_view group = text.substr(0, colon);
    if (colon == std::string_view::npos && group.find('.') != std::string_view::npos) {
      if (count + 4 > room || !read_v4(group, out + count)) return -1;
      return count + 4;
    }
    unsigned value = 0;
    const auto [end, error] = std::from_chars(group.data(), group.data() + group.size(), value, 16);
    if (error != std::errc() || end != group.data() + group.size() || group.size() > 4) return -1;
    if (count + 2 > room) return -1;
    out[count++] = static_cast<std::uint8_t>(value >> 8);
    out[count++] = static_cast<std::uint8_t>(value & 0xff);
    if (colon == std::string_view::npos) return count;
    text.remove_prefix(colon + 1);
    if (text.empty()) return -1;
  }
  return count;
}

}  // namespace

std::optional<ip_address> ip_address::parse(std::string_view text) {
  if (text.find(':') == std::string_view::npos) {
    ip_address a = v4(0, 0, 0, 0);
    if (!read_v4(text, a.bytes.data() + 12)) return std::nullopt;
    return a;
  }
  ip_address a;
  const std::size_t gap = text.find("::");
  if (gap == std::string_view::npos) {
    if (read_groups(text, a.bytes.data(), 16) != 16) return std::nullopt;
    return a;
  }
  std::uint8_t tail[16] = {};
  const int front = read_groups(text.substr(0, gap), a.bytes.data(), 14);
  const int back = read_groups(text.substr(gap + 2), tail, 14);
  if (front < 0 || back < 0 || front + back > 14) return std::nullopt;
  std::memcpy(a.bytes.data() + 16 - back, tail, static_cast<std::size_t>(back));
  return a;
}

bool ip_address::is_unicast() const noexcept {
  if (is_v4()) {
    const std::uint8_t first = bytes[12];
    return first != 0 && first < 224;
  }
  static constexpr std::array<std::uint8_t, 16> unspecified{};
  return bytes[0] != 0xff && bytes != unspecified;
}

bool ip_address::is_loopback() const noexcept {
  if (is_v4()) return bytes[12] == 127;
  static constexpr std::array<std::uint8_t, 16> one = {0, 0, 0, 0, 0, 0, 0, 0,
                                                       0, 0, 0, 0, 0, 0, 0, 1};
  return bytes == one;
}

std::string ip_address::text() const {
  if (is_v4()) {
    std::string out;
    for (std::size_t i = 12; i < 16; ++i) {
      if (i > 12) out += '.';
      out += std::to_string(bytes[i]);
    }
    return out;
  }
  // The longest run of zero groups becomes "::" (RFC 5952).
  int best = -1, best_length = 1;
  for (int i = 0; i < 8; ++i) {
    int n = 0;
    while (i + n < 8 && bytes[2 * static_cast<std::size_t>(i + n)] == 0 &&
           bytes[2 * static_cast<std::size_t>(i + n) + 1] == 0)
      ++n;
    if (n > best_length) {
      best = i;
      best_length = n;
    }
  }
  std::string out;
  for (int i = 0; i < 8; ++i) {
    if (i == best) {
      out += "::";
      i += best_length - 1;
      continue;
    }
    if (!out.empty() && out.back() != ':') out += ':';
    char digits[8];
    const auto at = static_cast<std::size_t>(2 * i);
    const unsigned group = static_cast<unsigned>(bytes[at]) << 8 | bytes[at + 1];
    const auto done = std::to_chars(digits, digits + sizeof digits, group, 16);
    out.append(digits, done.ptr);
  }
  return out;
}

}  // namespace heddle::tcp
