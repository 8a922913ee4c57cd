// SPDX-License-Identifier: MIT
// The chunked transfer coding (RFC 9112 section 7.1) without copies. The decoder tells which bytes
// of a buffer are body; the encoder gives the bytes that go before and after each chunk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "heddle/http/limits.hh"
#include "heddle/http/problem.hh"

namespace heddle::http {

// The result of one call of chunked_decoder::feed.
struct chunk_piece {
  enum class kind : std::uint8_t {
    need_more,  // the input is used up, the body has not ended
    data,       // `bytes` are body
    trailer,    // `bytes` are (part of) the trailer lines, line ends included
    done,       // the body has ended; further input belongs to the next request
    failed,     // see chunked_decoder::error(); the connection cannot go on
  };
  kind what = kind::need_more;
  std::size_t consumed = 0;  // bytes of the input that the decoder has processed
  std::string_view bytes;    // a view into the input
};

// Thread: one at a time.  Owns: nothing; the limits outlive it.
// Fails: `failed`, and stays failed. The problem it reports does not depend on how the input was
//   split.
//
//   while (true) {
//     chunk_piece piece = decoder.feed(input);
//     input.remove_prefix(piece.consumed);
//     if (piece.what == chunk_piece::kind::data) take(piece.bytes);
//     else if (piece.what != chunk_piece::kind::trailer) break;
//   }
class chunked_decoder {
 public:
  explicit chunked_decoder(const limits& bounds) : bounds_(&bounds) {}

  // `input` starts after the bytes that the last call consumed. Returns at the first piece.
  chunk_piece feed(std::string_view input);
  void reset() { *this = chunked_decoder(*bounds_); }

  problem error() const { return problem_; }
  std::uint64_t body_bytes() const { return body_; }

 private:
  enum class stage : std::uint8_t {
    size_first,
    size,
    before_semicolon,
    extension_start,
    extension_name,
    after_name,
    value_start,
    value_token,
    value_quoted,
    quoted_escape,
    after_value,
    size_end,
    data,
    data_end_cr,
    data_end_lf,
    line,
    trailer_name,
    trailer_value,
    trailer_end,
    last_end,
    done,
    failed,
  };

  bool size_byte(char c);
  bool extension_byte(char c);
  bool trailer_byte(char c);
  bool fail(problem what);

  const limits* bounds_;
  std::uint64_t left_ = 0;  // bytes left of the current chunk, or its size as read so far
  std::uint64_t body_ = 0;
  std::uint32_t extension_bytes_ = 0;
  std::uint32_t trailer_bytes_ = 0;
  std::uint8_t digits_ = 0;
  stage stage_ = stage::size_first;
  problem problem_ = problem::none;
};

// The line before a chunk's data: its size and a line end. `chunk_end` follows the data.
class chunk_head {
 public:
  // `size` must not be zero, because an empty chunk would end the body.
  explicit chunk_head(std::uint64_t size);
  std::string_view text() const { return {text_.data() + at_, text_.size() - at_}; }

 private:
  std::array<char, 18> text_;
  std::size_t at_;
};

inline constexpr std::string_view chunk_end = "\r\n";
// Ends a body after its last chunk: no more chunks, no trailers.
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

// False for fields that a trailer must not carry, because the message was framed, routed and
// authorised without them (RFC 9110 section 6.5.1).
bool trailer_allowed(std::string_view name);

// The value of the first field with this name in `lines`, each "name: value\r\n"; "" if there is
// none, or if a trailer must not carry it.
std::string_view find_trailer(std::string_view lines, std::string_view name);

}  // namespace heddle::http
