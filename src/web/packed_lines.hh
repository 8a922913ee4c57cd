// SPDX-License-Identifier: MIT
// The fields that many answers share, kept as HPACK: a file's type, tag and dates are packed once
// and not for each answer over HTTP/2.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "heddle/io/chain.hh"

namespace heddle::http {

/// Thread: one color. Owns: at most 64 packed texts of at most 2 KiB, and shares of the lines that
/// they were made of; so no other lines can come to stand at the same address.
class packed_lines {
 public:
  /// Appends the first `bytes` bytes of the lines as HPACK.
  void put(std::string& out, const piece& lines, std::size_t bytes);

 private:
  struct entry {
    piece lines;
    std::size_t bytes = 0;
    std::string packed;
  };
  static constexpr std::size_t one_bytes_max = 2048;

  std::array<entry, 64> entries_;  // by address
};

}  // namespace heddle::http
