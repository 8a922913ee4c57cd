// SPDX-License-Identifier: MIT
// Limits on the memory and input that a peer may use: each is a named option with a safe default.
// The parser and the chunked decoder keep a pointer to one `limits`; a server sets it once for all
// its connections.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::http {

// The number of fields for which a request head has room; `limits::header_count_max` cannot exceed
// it.
inline constexpr std::size_t header_capacity = 128;

struct limits {
  // Bytes of method, target, version and the CRLF. RFC 9112 section 3 asks for at least 8,000.
  // Over: 414.
  std::uint32_t request_line_bytes_max = 8192;
  // Bytes of all field lines and of the empty line that ends them. Over: 431.
  std::uint32_t header_bytes_max = 16384;
  // The number of field lines. Over: 431.
  std::uint32_t header_count_max = 100;
  // Bytes of a method token; the longest registered one has 17 letters. Over: 501.
  std::uint32_t method_bytes_max = 24;
  // Empty lines skipped before a request line (RFC 9112 section 2.2 asks for one). Over: 400.
  std::uint32_t empty_lines_max = 2;
  // Body bytes without the chunk framing. Over: 413.
  std::uint64_t body_bytes_max = 1024 * 1024;
  // Bytes of the chunk extensions of a whole body, so that tiny chunks cannot carry endless
  // extensions. Over: 400.
  std::uint32_t chunk_extension_bytes_max = 4096;
  // Bytes of the trailer lines of one body and of the empty line. Over: 431.
  std::uint32_t trailer_bytes_max = 8192;
};

}  // namespace heddle::http
