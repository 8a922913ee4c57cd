// SPDX-License-Identifier: MIT
// A QR code of a text such as an address, drawn in a terminal (optional: libqrencode).
#pragma once

#include <string>
#include <string_view>

namespace heddle::serve {

/// Whether this build draws QR codes.
#if HEDDLE_WITH_QR
inline constexpr bool draws_qr = true;
#else
inline constexpr bool draws_qr = false;
#endif

/// Draws two rows of modules in a line of text, with the quiet zone around them. It draws the light
/// modules, so the code looks right on a dark terminal; phones read it either way. Empty if the
/// text is too long for a code, or if this build draws none.
[[nodiscard]] std::string qr_picture(std::string_view text);

}  // namespace heddle::serve
