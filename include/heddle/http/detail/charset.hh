// SPDX-License-Identifier: MIT
// Classes of bytes: a table of bit sets, made at compile time from the grammars of RFC 9110 and RFC
// 3986.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace heddle::http::detail {

enum byte_class : std::uint8_t {
  token_byte = 1,        // RFC 9110 tchar
  host_byte = 2,         // RFC 3986 reg-name: unreserved, sub-delims; escapes are checked apart
  target_byte = 4,       // allowed in a request target on the wire (see parser.hh)
  value_byte = 8,        // field content: visible, space, tab, and bytes from 0x80
  plain_byte = 16,       // a literal path byte: not % . / \ and not a control
  unreserved_byte = 32,  // needs no percent-encoding in a path segment
  plain_host_byte = 64,  // a literal host byte: any but %
};

constexpr bool alphanumeric(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

constexpr bool one_of(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}

inline constexpr std::array<std::uint8_t, 256> byte_classes = [] {
  std::array<std::uint8_t, 256> classes{};
  for (unsigned i = 0; i < 256; ++i) {
    auto byte = static_cast<unsigned char>(i);
    char c = static_cast<char>(byte);
    bool visible = i > 0x20 && i < 0x7f;
    unsigned bits = 0;
    if (alphanumeric(byte) || (i != 0 && one_of(c, "!#$%&'*+-.^_`|~"))) bits |= token_byte;
    if (alphanumeric(byte) || (i != 0 && one_of(c, "-._~!$&'()*+,;=%"))) bits |= host_byte;
    if ((bits & host_byte) != 0 && c != '%') bits |= plain_host_byte;
    if (visible && !one_of(c, "\"#<>")) bits |= target_byte;
    if (visible || i == ' ' || i == '\t' || i >= 0x80) bits |= value_byte;
    if (i >= 0x20 && i != 0x7f && !one_of(c, "%./\\")) bits |= plain_byte;
    if (alphanumeric(byte) || (i != 0 && one_of(c, "-._~!$'()*,:@"))) bits |= unreserved_byte;
    classes[i] = static_cast<std::uint8_t>(bits);
  }
  return classes;
}();

inline bool is(char c, byte_class wanted) {
  return (byte_classes[static_cast<unsigned char>(c)] & wanted) != 0;
}

// True if every byte is in the class. There is no early exit: names and hosts are short, and a loop
// without a data-dependent branch processes a byte per cycle.
inline bool all(std::string_view text, byte_class wanted) {
  unsigned bits = wanted;
  for (char c : text) bits &= byte_classes[static_cast<unsigned char>(c)];
  return bits != 0;
}

constexpr bool is_ows(char c) { return c == ' ' || c == '\t'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr std::string_view trim_ows(std::string_view text) {
  while (!text.empty() && is_ows(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_ows(text.back())) text.remove_suffix(1);
  return text;
}

// The value of a hexadecimal digit, -1 for any other byte.
constexpr int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace heddle::http::detail
