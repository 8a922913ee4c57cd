// SPDX-License-Identifier: MIT
// The three libraries behind content_reader, one file each: unpack_gzip.cc, unpack_brotli.cc,
// unpack_zstd.cc. Without its library a function gives nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace heddle::http::detail {

class unpacker {
 public:
  virtual ~unpacker() = default;
  /// As content_reader::read(); nothing if the bytes are not in this coding. Throws std::bad_alloc.
  [[nodiscard]] virtual std::optional<std::size_t> read(std::string_view& packed,
                                                        std::span<char> room) = 0;
  /// Whether the text may end here.
  [[nodiscard]] virtual bool whole() const noexcept = 0;
};

[[nodiscard]] std::unique_ptr<unpacker> unpack_gzip();
[[nodiscard]] std::unique_ptr<unpacker> unpack_brotli();
[[nodiscard]] std::unique_ptr<unpacker> unpack_zstd();

}  // namespace heddle::http::detail
