// SPDX-License-Identifier: MIT
// gzip to plain text by zlib, if the build has zlib. Several members in a row are one text, as
// RFC 1952 section 2.2 asks.
#include <new>

#include "http/unpackers.hh"

#ifdef HEDDLE_WITH_ZLIB
#include <zlib.h>
#endif

namespace heddle::http::detail {

#ifdef HEDDLE_WITH_ZLIB

namespace {

class gzip_unpacker final : public unpacker {
 public:
  gzip_unpacker() {
    constexpr int gzip_only = 15 + 16;  // the largest window, in a gzip wrapper
    if (inflateInit2(&stream_, gzip_only) != Z_OK) throw std::bad_alloc();
  }
  gzip_unpacker(const gzip_unpacker&) = delete;
  ~gzip_unpacker() override { inflateEnd(&stream_); }

  std::optional<std::size_t> read(std::string_view& packed, std::span<char> room) override {
    stream_.next_out = reinterpret_cast<Bytef*>(room.data());
    stream_.avail_out = static_cast<uInt>(room.size());
    // Even without further input, zlib may hold output that had no room before.
    do {
      if (between_) {
        if (packed.empty()) break;
        inflateReset(&stream_);
        between_ = false;
      }
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
      stream_.avail_in = static_cast<uInt>(packed.size());
      const int outcome = inflate(&stream_, Z_NO_FLUSH);
      packed.remove_prefix(packed.size() - stream_.avail_in);
      if (outcome == Z_STREAM_END) {
        between_ = any_ = true;
      } else if (outcome == Z_BUF_ERROR) {
        break;
      } else if (outcome == Z_MEM_ERROR) {
        throw std::bad_alloc();
      } else if (outcome != Z_OK) {
        return std::nullopt;
      }
    } while (stream_.avail_out != 0 && !packed.empty());
    return room.size() - stream_.avail_out;
  }

  bool whole() const noexcept override { return between_ && any_; }

 private:
  z_stream stream_{};
  bool between_ = true;  // before a member
  bool any_ = false;     // a member has ended
};

}  // namespace

std::unique_ptr<unpacker> unpack_gzip() { return std::make_unique<gzip_unpacker>(); }

#else

std::unique_ptr<unpacker> unpack_gzip() { return nullptr; }

#endif

}  // namespace heddle::http::detail
