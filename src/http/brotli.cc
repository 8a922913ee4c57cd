// SPDX-License-Identifier: MIT
// br (RFC 7932) by libbrotlienc, if the build has it.
#include "http/packers.hh"

#ifdef HEDDLE_WITH_BROTLI
#include <brotli/encode.h>
#endif

namespace heddle::http {

#ifdef HEDDLE_WITH_BROTLI

namespace {
constexpr int brotli_quality = 5;  // as fast as gzip at 6, and some 15 % denser
constexpr int brotli_window = 22;  // as much as every decoder must take (RFC 7932 section 9.1)
}  // namespace

std::optional<std::string> pack_brotli(std::string_view plain) {
  // If the compressed text needs more room than the plain text, the result is "not smaller".
  std::string packed(plain.size(), '\0');
  std::size_t size = packed.size();
  if (BrotliEncoderCompress(brotli_quality, brotli_window, BROTLI_MODE_TEXT, plain.size(),
                            reinterpret_cast<const std::uint8_t*>(plain.data()), &size,
                            reinterpret_cast<std::uint8_t*>(packed.data())) != BROTLI_TRUE ||
      size >= plain.size())
    return std::nullopt;
  packed.resize(size);
  return packed;
}

#else

std::optional<std::string> pack_brotli(std::string_view) { return std::nullopt; }

#endif

}  // namespace heddle::http
