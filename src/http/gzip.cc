// SPDX-License-Identifier: MIT
// gzip by zlib, if the build has zlib.
#include "heddle/http/content_coding.hh"
#include "http/packers.hh"

#ifdef HEDDLE_WITH_ZLIB
#include <zlib.h>

#include <algorithm>
#endif

namespace heddle::http {

#ifdef HEDDLE_WITH_ZLIB

namespace {
constexpr int level = 6;              // zlib's default balance of speed and size
constexpr int gzip_window = 15 + 16;  // the largest window, in a gzip wrapper
constexpr int memory_level = 8;       // zlib's default: 256 kB while it works
}  // namespace

bool can_compress() noexcept { return true; }

std::optional<std::string> pack_gzip(std::string_view plain) {
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, gzip_window, memory_level, Z_DEFAULT_STRATEGY) !=
      Z_OK)
    return std::nullopt;
  // If the compressed text needs more room than the plain text, the result is "not smaller".
  std::string packed(plain.size(), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int outcome = deflate(&stream, Z_FINISH);
  packed.resize(std::min<std::size_t>(packed.size(), stream.total_out));
  deflateEnd(&stream);
  if (outcome != Z_STREAM_END) return std::nullopt;
  return packed;
}

#else

bool can_compress() noexcept { return false; }
std::optional<std::string> pack_gzip(std::string_view) { return std::nullopt; }

#endif

}  // namespace heddle::http
