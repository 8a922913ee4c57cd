// SPDX-License-Identifier: MIT
// Records and greetings on a connection: reading them whole, with the limits that keep a stranger
// from making us hold much, and words for what can be wrong.
#pragma once

#include <span>

#include "heddle/io/tcp.hh"
#include "record.hh"

namespace sealed {

/// A record as it came, not yet opened.
struct sealed_record {
  std::array<char, header_bytes> head;
  record_header header;
  std::string body;  ///< content and tag

  /// The content, once it is open.
  [[nodiscard]] std::string_view text() const noexcept { return {body.data(), header.size}; }
};

/// Fills `into` with the next record. False when the stream has ended between two records.
/// Fails with trouble on an unknown type, on content beyond `content_max`, and on an end within.
[[nodiscard]] heddle::task<bool> read_record(const heddle::tcp_stream& conn,
                                             std::size_t content_max, sealed_record& into);
/// Fills the whole of a greeting. False when the stream ended before.
[[nodiscard]] heddle::task<bool> read_greeting(const heddle::tcp_stream& conn,
                                               std::span<char> into);

/// A size as 8 bytes, the highest first; nothing when the text is not 8 bytes.
[[nodiscard]] std::string size_text(std::uint64_t size);
[[nodiscard]] std::optional<std::uint64_t> size_of_text(std::string_view text) noexcept;

}  // namespace sealed
