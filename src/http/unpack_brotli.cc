// SPDX-License-Identifier: MIT
// br (RFC 7932) to plain text by libbrotlidec, if the build has it. The decoder takes windows of at
// most 16 MiB, because large windows are not part of the RFC.
#include <cstdint>
#include <new>

#include "heddle/base/detail/freed_by.hh"
#include "http/unpackers.hh"

#ifdef HEDDLE_WITH_BROTLI
#include <brotli/decode.h>
#endif

namespace heddle::http::detail {

#ifdef HEDDLE_WITH_BROTLI

namespace {

class brotli_unpacker final : public unpacker {
 public:
  brotli_unpacker() : state_(BrotliDecoderCreateInstance(nullptr, nullptr, nullptr)) {
    if (state_ == nullptr) throw std::bad_alloc();
  }

  std::optional<std::size_t> read(std::string_view& packed, std::span<char> room) override {
    if (whole_) {  // nothing may follow the stream
      if (packed.empty()) return 0;
      return std::nullopt;
    }
    std::size_t packed_left = packed.size(), room_left = room.size();
    auto* from = reinterpret_cast<const std::uint8_t*>(packed.data());
    auto* to = reinterpret_cast<std::uint8_t*>(room.data());
    const BrotliDecoderResult outcome =
        BrotliDecoderDecompressStream(state_.get(), &packed_left, &from, &room_left, &to, nullptr);
    packed.remove_prefix(packed.size() - packed_left);
    if (outcome == BROTLI_DECODER_RESULT_ERROR) {
      const BrotliDecoderErrorCode why = BrotliDecoderGetErrorCode(state_.get());
      if (why <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES &&
          why >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES)
        throw std::bad_alloc();
      return std::nullopt;
    }
    whole_ = outcome == BROTLI_DECODER_RESULT_SUCCESS;
    if (whole_ && !packed.empty()) return std::nullopt;
    return room.size() - room_left;
  }

  bool whole() const noexcept override { return whole_; }

 private:
  std::unique_ptr<BrotliDecoderState, freed_by<&BrotliDecoderDestroyInstance>> state_;
  bool whole_ = false;
};

}  // namespace

std::unique_ptr<unpacker> unpack_brotli() { return std::make_unique<brotli_unpacker>(); }

#else

std::unique_ptr<unpacker> unpack_brotli() { return nullptr; }

#endif

}  // namespace heddle::http::detail
