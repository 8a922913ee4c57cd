// SPDX-License-Identifier: MIT
// Checks UTF-8 (RFC 3629) that comes in pieces: no second spelling of a character, no surrogate,
// nothing above U+10FFFF. A character may be split between two pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace heddle::http {

class utf8_check {
 public:
  /// Checks the next piece. False as soon as the text so far cannot be the beginning of valid text.
  [[nodiscard]] bool add(std::string_view text) noexcept {
    std::size_t i = 0;
    while (i != text.size()) {
      if (left_ == 0) {
        i += ascii_at(text, i);
        if (i == text.size()) break;
        if (!begin(static_cast<unsigned char>(text[i++]))) return false;
      } else {
        const auto byte = static_cast<unsigned char>(text[i++]);
        if (byte < low_ || byte > high_) return false;
        low_ = 0x80;
        high_ = 0xbf;
        --left_;
      }
    }
    return true;
  }
  /// Whether the last character is whole.
  [[nodiscard]] bool whole() const noexcept { return left_ == 0; }
  void reset() noexcept { left_ = 0; }

 private:
  /// How many of the next bytes are ASCII, eight at a time and then one by one.
  [[nodiscard]] static std::size_t ascii_at(std::string_view text, std::size_t from) noexcept {
    std::size_t i = from;
    for (std::uint64_t eight = 0; i + sizeof eight <= text.size(); i += sizeof eight) {
      std::memcpy(&eight, text.data() + i, sizeof eight);
      if ((eight & 0x8080808080808080) != 0) break;
    }
    while (i != text.size() && static_cast<unsigned char>(text[i]) < 0x80) ++i;
    return i - from;
  }
  [[nodiscard]] bool begin(unsigned char byte) noexcept {
    if (byte < 0x80) return true;
    if (byte < 0xc2 || byte > 0xf4) return false;
    left_ = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
    low_ = byte == 0xe0 ? 0xa0 : byte == 0xf0 ? 0x90 : 0x80;
    high_ = byte == 0xed ? 0x9f : byte == 0xf4 ? 0x8f : 0xbf;
    return true;
  }

  std::uint8_t left_ = 0;  // bytes of the character that are still to come
  std::uint8_t low_ = 0x80;
  std::uint8_t high_ = 0xbf;
};

}  // namespace heddle::http
