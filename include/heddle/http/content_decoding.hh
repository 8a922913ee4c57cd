// SPDX-License-Identifier: MIT
// Unpacks gzip as it arrives, with a bounded buffer: a body that unpacks to far more than it was
// grows no memory. The caller decides how much of the result it wants.
#pragma once

#include <memory>
#include <span>
#include <string_view>

namespace heddle::http {

/// Thread: one at a time. Owns: about 40 KB of zlib's state from the first byte on.
/// Fails: throws failure(bad_message) for text that is not gzip and for one that ends early;
///   not_supported without zlib (see can_compress()); std::bad_alloc.
///
///   gzip_reader unpack;
///   while (std::size_t n = unpack.read(packed, room)) take({room.data(), n});   // needs more
///   input unpack.finish();                                           // after the last input
class gzip_reader {
 public:
  gzip_reader();
  gzip_reader(const gzip_reader&) = delete;
  ~gzip_reader();

  /// Takes bytes off `packed` and gives how many bytes of plain text it wrote; 0 if it needs more
  /// input.
  [[nodiscard]] std::size_t read(std::string_view& packed, std::span<char> room);
  /// Checks that the text was whole.
  void finish() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace heddle::http
