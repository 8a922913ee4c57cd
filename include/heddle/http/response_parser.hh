// SPDX-License-Identifier: MIT
// The parser of answers, for clients and proxies: as strict as the request parser, because an
// answer that two programs read differently lets one connection's user read another's answer.
//
// Strict means: CRLF ends every line; no folded lines, no whitespace before a colon, no control
// characters; one length at most, and never beside a transfer coding; no coding but one `chunked`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/http/framing.hh"
#include "heddle/http/limits.hh"
#include "heddle/http/method.hh"
#include "heddle/http/parser.hh"
#include "heddle/http/problem.hh"

namespace heddle::http {

/// The head of an answer. Thread: any; it is a value and owns its text.
class response_head {
 public:
  [[nodiscard]] int status() const noexcept { return status_; }
  /// 1, or 2 for an answer that came over HTTP/2.
  [[nodiscard]] int major_version() const noexcept { return major_version_; }
  /// 0 or 1: of HTTP/1.0 or HTTP/1.1; 0 of HTTP/2.
  [[nodiscard]] int minor_version() const noexcept { return minor_version_; }
  /// The phrase after the status; often empty.
  [[nodiscard]] std::string_view reason() const noexcept {
    return view(reason_at_, reason_length_);
  }
  [[nodiscard]] bool informational() const noexcept { return status_ < 200; }

  [[nodiscard]] std::size_t header_count() const noexcept { return fields_.size(); }
  [[nodiscard]] header header_at(std::size_t i) const noexcept;
  /// The first field of this name in any case; "" if there is none.
  [[nodiscard]] std::string_view value(std::string_view name) const noexcept;
  [[nodiscard]] bool has(std::string_view name) const noexcept;

  /// How the body ends. An answer to HEAD, and one to CONNECT that opens a tunnel, has none.
  [[nodiscard]] framing body(method asked) const noexcept;
  /// The length of a body that has one, also for an answer to HEAD that names it.
  [[nodiscard]] std::uint64_t content_length() const noexcept { return content_length_; }
  /// Whether the server keeps the connection, as far as its fields tell.
  [[nodiscard]] bool keep_alive() const noexcept { return keep_alive_; }

 private:
  friend class response_parser;
  friend struct http2_answer_meaning;
  struct field {
    std::uint32_t name_at, name_length, value_at, value_length;
  };
  [[nodiscard]] std::string_view view(std::uint32_t at, std::uint32_t length) const noexcept {
    return std::string_view(text_).substr(at, length);
  }

  std::string text_;
  std::vector<field> fields_;
  std::uint64_t content_length_ = 0;
  std::uint32_t reason_at_ = 0;
  std::uint32_t reason_length_ = 0;
  int status_ = 0;
  int major_version_ = 1;
  int minor_version_ = 1;
  framing body_ = framing::until_close;
  bool keep_alive_ = true;
};

/// Thread: one at a time. Owns: the head as far as it has come; the limits outlive it.
/// Fails: `failed`, with error(). The result depends on the bytes alone, never on how they were
///   split into feeds. Of the limits, request_line_bytes_max bounds the status line.
///
///   response_parser parser(limits);
///   parse_state now = parser.feed(bytes);      // takes what belongs to the head off `bytes`
///   if (now == parse_state::done) use(parser.take());
class response_parser {
 public:
  explicit response_parser(const limits& bounds) noexcept : bounds_(&bounds) {}

  /// Takes the next bytes off the front; the rest after `done` belongs to the body.
  parse_state feed(std::string_view& bytes);
  /// The head after `done`; the parser is then ready for the next one.
  [[nodiscard]] response_head take();

  /// Bytes of the head that have come.
  [[nodiscard]] std::size_t received() const noexcept { return head_.text_.size(); }
  [[nodiscard]] problem error() const noexcept { return problem_; }

 private:
  [[nodiscard]] problem line();
  [[nodiscard]] problem status_line(std::string_view text);
  [[nodiscard]] problem field_line(std::string_view text);
  [[nodiscard]] problem settle();
  [[nodiscard]] problem codings();
  [[nodiscard]] problem length();

  const limits* bounds_;
  response_head head_;
  std::size_t line_at_ = 0;    // where the line begins that has not ended
  std::size_t fields_at_ = 0;  // the first field line; 0 before the status line has ended
  problem problem_ = problem::none;
  bool done_ = false;
};

}  // namespace heddle::http
