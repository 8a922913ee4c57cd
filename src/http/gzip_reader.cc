// SPDX-License-Identifier: MIT
// gzip to plain text by zlib, if the build has zlib. Several members in a row are one text, as
// RFC 1952 section 2.2 asks.
#include "heddle/base/error.hh"
#include "heddle/http/content_decoding.hh"

#ifdef HEDDLE_WITH_ZLIB
#include <zlib.h>
#endif

namespace heddle::http {

#ifdef HEDDLE_WITH_ZLIB

struct gzip_reader::state {
  z_stream stream{};
  bool between = true;  // before a member
  bool any = false;     // a member has ended
};

gzip_reader::gzip_reader() : state_(std::make_unique<state>()) {
  constexpr int gzip_only = 15 + 16;  // the largest window, in a gzip wrapper
  if (inflateInit2(&state_->stream, gzip_only) != Z_OK) throw std::bad_alloc();
}

gzip_reader::~gzip_reader() { inflateEnd(&state_->stream); }

std::size_t gzip_reader::read(std::string_view& packed, std::span<char> room) {
  z_stream& z = state_->stream;
  z.next_out = reinterpret_cast<Bytef*>(room.data());
  z.avail_out = static_cast<uInt>(room.size());
  // Even without further input, zlib may hold output that had no room before.
  do {
    if (state_->between) {
      if (packed.empty()) break;
      inflateReset(&z);
      state_->between = false;
    }
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    z.avail_in = static_cast<uInt>(packed.size());
    const int outcome = inflate(&z, Z_NO_FLUSH);
    packed.remove_prefix(packed.size() - z.avail_in);
    if (outcome == Z_STREAM_END) {
      state_->between = state_->any = true;
    } else if (outcome == Z_BUF_ERROR) {
      break;
    } else if (outcome == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (outcome != Z_OK) {
      throw failure(std::make_error_code(std::errc::bad_message),
                    "the body is not valid gzip although its Content-Encoding says so");
    }
  } while (z.avail_out != 0 && !packed.empty());
  return room.size() - z.avail_out;
}

void gzip_reader::finish() const {
  if (state_->between && state_->any) return;
  throw failure(std::make_error_code(std::errc::bad_message),
                "the body ended inside its gzip data; the answer is incomplete");
}

#else

struct gzip_reader::state {};
gzip_reader::gzip_reader() {
  throw failure(std::make_error_code(std::errc::not_supported), "this build has no zlib");
}
gzip_reader::~gzip_reader() = default;
std::size_t gzip_reader::read(std::string_view&, std::span<char>) { return 0; }
void gzip_reader::finish() const {}

#endif

}  // namespace heddle::http
