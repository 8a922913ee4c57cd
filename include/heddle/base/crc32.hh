// SPDX-License-Identifier: MIT
// CRC-32 of zip, gzip and PNG (ISO/IEC 8802-3: polynomial 0x04c11db7, reflected 0xedb88320): finds
// damage by accident in stored bytes. It is no protection against an attacker.
//
//   std::uint32_t sum = 0;
//   for (std::string_view part : parts) sum = crc32(part, sum);
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace heddle {

namespace detail {
inline constexpr std::array<std::uint32_t, 256> crc32_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i != 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit != 8; ++bit) c = (c & 1) != 0 ? 0xedb88320u ^ c >> 1 : c >> 1;
    table[i] = c;
  }
  return table;
}();
}  // namespace detail

/// The checksum of these bytes behind others whose checksum is `before`; 0 if there are none.
[[nodiscard]] constexpr std::uint32_t crc32(std::string_view bytes,
                                            std::uint32_t before = 0) noexcept {
  std::uint32_t c = ~before;
  for (const char each : bytes)
    c = detail::crc32_table[(c ^ static_cast<unsigned char>(each)) & 0xff] ^ c >> 8;
  return ~c;
}

}  // namespace heddle
