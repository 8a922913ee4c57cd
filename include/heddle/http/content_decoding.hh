// SPDX-License-Identifier: MIT
// Unpacks gzip, br and zstd as they arrive, with a bounded buffer: a body that unpacks to far more
// than it was grows no memory. The caller decides how much of the result it wants.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "heddle/http/content_coding.hh"

namespace heddle::http {

namespace detail {
class unpacker;
}

/// The codings that this build unpacks; each needs its library (zlib, libbrotlidec, libzstd).
[[nodiscard]] coding_set codings_read() noexcept;

/// Thread: one at a time. Owns: the library's state: some 40 KB for gzip, up to 16 MiB for br and
///   up to 8 MiB for zstd, as the sender chose its window (RFC 7932 section 9.1, RFC 9659).
/// Fails: throws failure(bad_message) for text that is not in this coding and for one that ends
///   early; not_supported for a coding that is not in codings_read(); std::bad_alloc.
///
///   content_reader unpack(content_coding::gzip);
///   while (std::size_t n = unpack.read(packed, room)) take({room.data(), n});   // needs more
///   input unpack.finish();                                           // after the last input
class content_reader {
 public:
  explicit content_reader(content_coding coding);
  content_reader(const content_reader&) = delete;
  ~content_reader();

  /// Takes bytes off `packed` and gives how many bytes of plain text it wrote; 0 if it needs more
  /// input.
  [[nodiscard]] std::size_t read(std::string_view& packed, std::span<char> room);
  /// Checks that the text was whole.
  void finish() const;

 private:
  content_coding coding_;
  std::unique_ptr<detail::unpacker> unpacker_;
};

}  // namespace heddle::http
