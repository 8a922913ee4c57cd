// SPDX-License-Identifier: MIT
// A QR code (ISO/IEC 18004) of a short text such as an address, drawn in a terminal. It uses byte
// mode, error correction level L and versions 1 to 5, which need only one block of error
// correction.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::serve {

inline constexpr std::size_t qr_text_bytes_max = 106;

/// The modules, row by row; true is dark. Empty if the text is too long.
struct qr_code {
  int side = 0;
  std::vector<bool> dark;
  [[nodiscard]] bool at(int row, int column) const {
    return dark[static_cast<std::size_t>(row * side + column)];
  }
};
[[nodiscard]] qr_code make_qr(std::string_view text);

/// Draws two rows of modules in a line of text, with the quiet zone around them. It draws the light
/// modules, so the code looks right on a dark terminal; phones read it either way.
[[nodiscard]] std::string qr_picture(std::string_view text);

}  // namespace heddle::serve
