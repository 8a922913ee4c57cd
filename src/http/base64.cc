// SPDX-License-Identifier: MIT
// Each three bytes become four letters.
#include "heddle/http/base64.hh"

#include <cstdint>

namespace heddle::http {
namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j)
      text += i + j <= bytes.size() ? alphabet[group >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const bool last = i + 4 == text.size();
    const std::size_t letters = last && text[i + 3] == '=' ? (text[i + 2] == '=' ? 2 : 3) : 4;
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const std::size_t value = j < letters ? alphabet.find(text[i + j]) : 0;
      if (value == alphabet.npos) return std::nullopt;
      group = group << 6 | static_cast<std::uint32_t>(value);
    }
    if ((letters == 2 && (group & 0xffff) != 0) || (letters == 3 && (group & 0xff) != 0))
      return std::nullopt;
    for (std::size_t j = 0; j + 1 < letters; ++j)
      bytes += static_cast<char>(group >> (16 - 8 * j) & 0xff);
  }
  return bytes;
}

}  // namespace heddle::http
