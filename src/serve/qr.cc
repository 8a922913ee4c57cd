// SPDX-License-Identifier: MIT
// Draws the modules that libqrencode computes.
#include "serve/qr.hh"

#if HEDDLE_WITH_QR
#include <qrencode.h>

#include <memory>
#endif

namespace heddle::serve {

#if HEDDLE_WITH_QR

std::string qr_picture(std::string_view text) {
  constexpr int quiet = 4;  // light modules around the code, as the standard requires
  const std::unique_ptr<QRcode, decltype(&QRcode_free)> code(
      QRcode_encodeData(static_cast<int>(text.size()),
                        reinterpret_cast<const unsigned char*>(text.data()), 0, QR_ECLEVEL_L),
      &QRcode_free);
  if (code == nullptr) return {};
  const int side = code->width;
  const auto light = [&](int r, int c) {
    const bool inside = r >= 0 && c >= 0 && r < side && c < side;
    return r < side + quiet && (!inside || (code->data[r * side + c] & 1) == 0);
  };
  std::string picture;
  for (int r = -quiet; r < side + quiet; r += 2) {
    for (int c = -quiet; c < side + quiet; ++c) {
      const bool upper = light(r, c);
      const bool lower = light(r + 1, c);
      picture += upper ? (lower ? "\u2588" : "\u2580") : (lower ? "\u2584" : " ");
    }
    picture += '\n';
  }
  return picture;
}

#else

std::string qr_picture(std::string_view) { return {}; }

#endif

}  // namespace heddle::serve
