// SPDX-License-Identifier: MIT
// What a peer may make the HTTP room hold or read: every bound is a named option with a safe
// default. The parser and the chunked decoder keep a pointer to one of these; a server sets it
// once and shares it among its connections.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::http {

// Fields that one request head has room for; `limits::header_count_max` may only be smaller.
inline constexpr std::size_t header_capacity = 128;

struct limits {
  // Method, target, version and the CRLF. RFC 9112 section 3 asks for at least 8,000. Over: 414.
  std::uint32_t request_line_bytes_max = 8192;
  // All field lines and the empty line that ends them. Over: 431.
  std::uint32_t header_bytes_max = 16384;
  // Field lines. Over: 431.
  std::uint32_t header_count_max = 100;
  // A method token; the longest registered one has 17 letters. Over: 501.
  std::uint32_t method_bytes_max = 24;
  // Empty lines skipped before a request line (RFC 9112 section 2.2 asks for one). Over: 400.
  std::uint32_t empty_lines_max = 2;
  // Body bytes after the chunks are taken apart. Over: 413.
  std::uint64_t body_bytes_max = 1024 * 1024;
  // Chunk extensions of one whole body, so that tiny chunks cannot carry endless ones. Over: 400.
  std::uint32_t chunk_extension_bytes_max = 4096;
  // Trailer lines of one body and the empty line. Over: 431.
  std::uint32_t trailer_bytes_max = 8192;
};

}  // namespace heddle::http
