// SPDX-License-Identifier: MIT
// zstd (RFC 8878) to plain text by libzstd, if the build has it. Several frames in a row are one
// text.
#include <new>

#include "heddle/base/detail/freed_by.hh"
#include "http/unpackers.hh"

#ifdef HEDDLE_WITH_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif

namespace heddle::http::detail {

#ifdef HEDDLE_WITH_ZSTD

namespace {

constexpr int window_log_max = 23;  // 8 MiB, which RFC 9659 section 3 sets for HTTP

class zstd_unpacker final : public unpacker {
 public:
  zstd_unpacker() : stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, window_log_max);
  }

  std::optional<std::size_t> read(std::string_view& packed, std::span<char> room) override {
    ZSTD_outBuffer to{room.data(), room.size(), 0};
    // Even without further input, the library may hold output that had no room before.
    do {
      if (packed.empty() && between_) break;
      ZSTD_inBuffer from{packed.data(), packed.size(), 0};
      const std::size_t outcome = ZSTD_decompressStream(stream_.get(), &to, &from);
      packed.remove_prefix(from.pos);
      if (ZSTD_isError(outcome) != 0) {
        if (ZSTD_getErrorCode(outcome) == ZSTD_error_memory_allocation) throw std::bad_alloc();
        return std::nullopt;
      }
      between_ = outcome == 0;
      any_ = any_ || between_;
    } while (to.pos < to.size && !packed.empty());
    return to.pos;
  }

  bool whole() const noexcept override { return between_ && any_; }

 private:
  std::unique_ptr<ZSTD_DStream, freed_by<&ZSTD_freeDStream>> stream_;
  bool between_ = true;  // before a frame
  bool any_ = false;     // a frame has ended
};

}  // namespace

std::unique_ptr<unpacker> unpack_zstd() { return std::make_unique<zstd_unpacker>(); }

#else

std::unique_ptr<unpacker> unpack_zstd() { return nullptr; }

#endif

}  // namespace heddle::http::detail
