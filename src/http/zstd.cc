// SPDX-License-Identifier: MIT
// zstd (RFC 8878) by libzstd, if the build has it.
#include "http/packers.hh"

#ifdef HEDDLE_WITH_ZSTD
#include <zstd.h>
#endif

namespace heddle::http {

#ifdef HEDDLE_WITH_ZSTD

namespace {
constexpr int zstd_level = 9;  // as fast as gzip at 6, and some 10 % denser
}  // namespace

std::optional<std::string> pack_zstd(std::string_view plain) {
  // If the compressed text needs more room than the plain text, the result is "not smaller". A
  // window of this level is at most 4 MiB, half of what RFC 9659 allows over HTTP.
  std::string packed(plain.size(), '\0');
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), zstd_level);
  if (ZSTD_isError(size) != 0 || size >= plain.size()) return std::nullopt;
  packed.resize(size);
  return packed;
}

#else

std::optional<std::string> pack_zstd(std::string_view) { return std::nullopt; }

#endif

}  // namespace heddle::http
