// SPDX-License-Identifier: MIT
// The request parser: incremental and strict, without copies and allocations. Its caller feeds it
// the connection's buffer from the request's first byte on, again and again as the buffer grows.
// The parser reports when the head is complete. It reads no byte twice once it has passed it.
//
// Strict means: CRLF ends every line; no folded lines, no whitespace before a colon, no control
// characters; one length at most, and never beside a transfer coding; one valid Host. The request
// target may hold the visible ASCII characters but `"`, `#`, `<`, `>`: RFC 3986 allows fewer, but
// browsers send `|`, `{` and the like in queries as they are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "heddle/http/limits.hh"
#include "heddle/http/problem.hh"
#include "heddle/http/request.hh"

namespace heddle::http {

enum class parse_state : std::uint8_t { need_more, done, failed };

/// Remembers the last valid authority, because most requests name the same one and need no second
/// check. Thread: that of the parsers that share it.
class known_authority {
 public:
  [[nodiscard]] bool is(std::string_view text) const {
    return text.size() == size_ && std::memcmp(text.data(), text_.data(), size_) == 0;
  }
  void note(std::string_view valid) {
    if (valid.empty() || valid.size() > text_.size()) return;
    std::memcpy(text_.data(), valid.data(), valid.size());
    size_ = static_cast<std::uint8_t>(valid.size());
  }

 private:
  std::array<char, 63> text_{};
  std::uint8_t size_ = 0;
};

// Thread: one at a time.  Owns: offsets only; the limits, and `host` if there is one, outlive it.
// Fails: `failed`, with error(), and error_at() as an offset into the input. The result depends on
//   the bytes alone, never on how they were split into feeds.
//
//   request_parser parser(limits);
//   switch (parser.feed(buffer.received())) {
//     case parse_state::need_more: ... read more behind what is there, feed the whole again
//     case parse_state::failed: ... answer status_of(parser.error()), close
//     case parse_state::done: ... use parser.head(), drop parser.consumed() bytes, reset()
//   }
class request_parser {
 public:
  explicit request_parser(const limits& bounds, known_authority* host = nullptr)
      : bounds_(&bounds), host_(host) {}

  // `received` starts at the request's first byte and has grown by zero or more bytes since the
  // last feed; it may have moved. Its size is below 4 GiB, which the limits ensure. After `done` or
  // `failed` the result stays until reset().
  parse_state feed(std::string_view received);

  // Prepares for the next request on the connection.
  void reset();

  // The bytes of the head, with the empty lines before it; the body starts after them. Valid after
  // `done`, and after a failure in the meaning of a complete head (for a line in the log).
  std::size_t consumed() const { return at_; }
  const request_head& head() const { return head_; }
  request_head& head() { return head_; }

  // True before the first byte of a request line: a connection may end here without an error.
  bool idle() const { return stage_ == stage::start; }
  problem error() const { return problem_; }
  std::size_t error_at() const { return error_at_; }

 private:
  enum class stage : std::uint8_t {
    start,
    empty_line_end,
    method,
    target,
    version,
    request_line_end,
    line,
    name,
    value_lead,
    value,
    value_end,
    head_end,
    settled,
  };

  parse_state request_line(const char* end);
  parse_state field_lines(const char* end);
  bool whole_request_line(const char* end);
  void whole_field_lines(const char* end);
  parse_state version_done();
  parse_state line_too_long();
  parse_state settle();
  parse_state fail(problem what, std::size_t at);
  void take_target(std::uint32_t length);
  void add_field(header_id id, std::uint32_t name_length, std::uint32_t value_length);

  const limits* bounds_;
  known_authority* host_;
  std::uint32_t at_ = 0;        // the first byte that has not been read
  std::uint32_t token_at_ = 0;  // where the current token starts
  std::uint32_t name_at_ = 0;
  std::uint32_t name_length_ = 0;
  std::uint32_t line_at_ = 0;  // the request line, later the first field line
  std::uint32_t error_at_ = 0;
  std::uint32_t empty_lines_ = 0;
  stage stage_ = stage::start;
  problem problem_ = problem::none;
  request_head head_;
};

}  // namespace heddle::http
