// SPDX-License-Identifier: MIT
// What a handler gives back: a status, header lines that were checked when they were added, and a
// body that is nothing, some shared bytes, or part of an open file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/http/open_file.hh"
#include "heddle/http/status.hh"
#include "heddle/io/chain.hh"

namespace heddle::http {

class set_cookie;

/// Thread: one color.
/// Owns: its body; a shared piece is kept until its last byte has left.
/// Fails: a header that must not be sent (bad name, line end in a value, a Content-Length,
///   Transfer-Encoding or Connection of one's own, but for "Connection: close") turns the answer
///   into a 500 when it is written; headers_ok() tells before. So do a status that is not from 200
///   to 999, and a length() that is not the body's.
///
///   co_return response(200).header("X-Answer", "42").text("hello\n");
class response {
 public:
  explicit response(int status = 200) noexcept : status_(status) {}

  response& header(std::string_view name, std::string_view value) &;
  /// A Set-Cookie line; one that cannot be sent spoils the answer as a bad header does.
  response& cookie(const set_cookie& wanted) &;
  /// Whole header lines that were checked and are shared by many answers. Their last `length_line`
  /// bytes may be the Content-Length of the body that stands here already; they are dropped again
  /// when that changes.
  response& shared_lines(piece lines, std::uint8_t length_line = 0) & noexcept {
    shared_lines_ = std::move(lines);
    length_line_ = length_line;
    return *this;
  }
  response& body(piece bytes) & noexcept {
    body_ = std::move(bytes);
    drop_length_line();
    return *this;
  }
  response& body(std::string_view type, std::string&& bytes) &;
  /// A text/plain body.
  response& text(std::string_view plain) &;
  /// `length` bytes of an open file from `offset` on.
  response& file(open_file from, std::uint64_t offset, std::uint64_t length) & noexcept;
  /// The connection ends after this answer.
  response& close() & noexcept;
  /// For request::start(): how long the body will be. Without it the body is sent in chunks.
  response& length(std::uint64_t bytes) & noexcept;

  // The same on a temporary, so that an answer can be written in one expression.
  response&& header(std::string_view name, std::string_view value) && {
    return std::move(header(name, value));
  }
  response&& cookie(const set_cookie& wanted) && { return std::move(cookie(wanted)); }
  response&& shared_lines(piece lines, std::uint8_t length_line = 0) && noexcept {
    return std::move(shared_lines(std::move(lines), length_line));
  }
  response&& body(piece bytes) && noexcept { return std::move(body(std::move(bytes))); }
  response&& body(std::string_view type, std::string&& bytes) && {
    return std::move(body(type, std::move(bytes)));
  }
  response&& text(std::string_view plain) && { return std::move(text(plain)); }
  response&& file(open_file from, std::uint64_t offset, std::uint64_t length) && noexcept {
    return std::move(file(std::move(from), offset, length));
  }
  response&& close() && noexcept { return std::move(close()); }
  response&& length(std::uint64_t bytes) && noexcept { return std::move(length(bytes)); }

  [[nodiscard]] int status() const noexcept { return status_; }
  [[nodiscard]] bool headers_ok() const noexcept { return headers_ok_; }
  [[nodiscard]] std::uint64_t length() const noexcept {
    if (has_promise_) return promise_;
    return file_ ? file_length_ : body_.size();
  }
  /// It was sent by a body_writer; only its status means something.
  [[nodiscard]] bool sent() const noexcept { return sent_; }

 private:
  friend class exchange;
  friend class body_writer;
  friend class upgraded;

  /// What it says of itself is true and may be sent.
  [[nodiscard]] bool sendable(bool without_body) const noexcept {
    const bool kept = !has_promise_ || without_body || !body_allowed(status_) ||
                      promise_ == (file_ ? file_length_ : body_.size());
    return headers_ok_ && status_final(status_) && kept;
  }
  void drop_length_line() noexcept {
    if (length_line_ == 0) return;
    shared_lines_ = shared_lines_.slice(0, shared_lines_.size() - length_line_);
    length_line_ = 0;
  }

  int status_;
  bool closes_ = false;
  bool has_promise_ = false;  // of a length, for an answer that is written bit by bit
  bool sent_ = false;         // the head has left already
  bool headers_ok_ = true;
  std::uint8_t length_line_ = 0;  // bytes at the end of shared_lines_
  std::string lines_;
  piece shared_lines_;
  piece body_;
  open_file file_;
  std::uint64_t file_offset_ = 0;
  std::uint64_t file_length_ = 0;
  std::uint64_t promise_ = 0;
};

/// The answer to a request that could not be carried out: a short text body saying what and why.
[[nodiscard]] response error_response(int status, std::string_view what);

}  // namespace heddle::http
