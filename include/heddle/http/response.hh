// SPDX-License-Identifier: MIT
// The answer that a handler returns: a status, header fields that were checked when they were
// added, and a body that is empty, a shared piece of bytes, or part of an open file. It knows no
// framing; the connection that sends it decides about that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/http/detail/open_file.hh"
#include "heddle/http/field_list.hh"
#include "heddle/http/status.hh"
#include "heddle/io/chain.hh"

namespace heddle::http {

class set_cookie;

/// Thread: one color.
/// Owns: its body; a shared piece is kept until its last byte has left.
/// Fails: the server sends a 500 instead if a header must not be sent (a bad name, a line end in a
///   value, Content-Length, Transfer-Encoding, or a Connection other than "close"), if the status
///   is not from 200 to 999, or if a length() does not match the body. headers_ok() tells it
///   before.
///
///   co_return response(200).header("X-Answer", "42").text("hello\n");
class response {
 public:
  explicit response(int status = 200) noexcept : status_(status) {}

  response& header(std::string_view name, std::string_view value) &;
  /// Adds a Set-Cookie field; an invalid cookie counts as a bad header.
  response& cookie(const set_cookie& wanted) &;
  /// Adds checked fields that many answers share, each as "Name: value\r\n" (see checked_lines()).
  /// Their last `length_line` bytes may be the Content-Length of the body that is already set; they
  /// are dropped when the body changes.
  response& shared_lines(piece lines, std::uint8_t length_line = 0) & noexcept {
    shared_lines_ = std::move(lines);
    length_line_ = length_line;
    return *this;
  }
  /// For an answer that another server made: the server adds no Server field, and no Date field if
  /// the answer is `dated`.
  response& from_elsewhere(bool dated) & noexcept {
    from_elsewhere_ = true;
    dated_ = dated;
    return *this;
  }
  response& body(piece bytes) & noexcept {
    body_ = std::move(bytes);
    drop_length_line();
    return *this;
  }
  response& body(std::string_view type, std::string&& bytes) &;
  /// Sets a text/plain body.
  response& text(std::string_view plain) &;
  /// Sends `length` bytes of an open file from `offset` on. A part that ends above 2^63 - 1 makes
  /// the answer a 500.
  response& file(open_file from, std::uint64_t offset, std::uint64_t length) & noexcept;
  /// Closes the connection after this answer.
  response& close() & noexcept;
  /// For request::start(): promises the length of the body. Without it the body is sent in chunks.
  response& length(std::uint64_t bytes) & noexcept;

  // Adds a field to a temporary, so that one expression can build an answer.
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
  /// Whether a body_writer has sent the answer: then only the status is meaningful.
  [[nodiscard]] bool sent() const noexcept { return sent_; }

  // Questions of the connection that sends it.

  /// Whether the connection closes after it.
  [[nodiscard]] bool closes() const noexcept { return closes_; }
  /// Whether it may be sent: its fields are valid and a promised length is right.
  [[nodiscard]] bool sendable(bool without_body) const noexcept {
    const bool kept = !has_promise_ || without_body || !body_allowed(status_) ||
                      promise_ == (file_ ? file_length_ : body_.size());
    return headers_ok_ && status_final(status_) && kept && (!file_ || part_can_be());
  }
  /// Whether a length was promised for an answer that a body_writer writes.
  [[nodiscard]] bool length_promised() const noexcept { return has_promise_; }
  /// Calls f(name, value) for each field, shared ones first. A Content-Length may be the last
  /// shared one.
  template <class F>
  void each_field(F&& f) const {
    each_field_line(shared_lines_.bytes().text(), f);
    fields_.each(f);
  }
  /// Whether another server made it, and whether its fields contain Date.
  [[nodiscard]] bool from_elsewhere() const noexcept { return from_elsewhere_; }
  [[nodiscard]] bool dated() const noexcept { return dated_; }
  [[nodiscard]] const field_list& fields() const noexcept { return fields_; }
  [[nodiscard]] std::string_view shared_lines() const noexcept {
    return shared_lines_.bytes().text();
  }
  [[nodiscard]] const piece& shared_piece() const noexcept { return shared_lines_; }
  /// Size of the Content-Length line at the end of shared_lines(); 0 if it is not there.
  [[nodiscard]] std::size_t length_line() const noexcept { return length_line_; }
  [[nodiscard]] const piece& body() const noexcept { return body_; }
  [[nodiscard]] const open_file& file() const noexcept { return file_; }
  [[nodiscard]] std::uint64_t file_offset() const noexcept { return file_offset_; }
  [[nodiscard]] std::uint64_t file_length() const noexcept { return file_length_; }

 private:
  friend class body_writer;
  friend class upgraded;

  /// A placeholder for an answer that was already sent.
  [[nodiscard]] static response sent_already(int status) noexcept {
    response r(status);
    r.sent_ = true;
    return r;
  }
  /// Whether the part ends at or below 2^63 - 1, the largest offset of a file.
  [[nodiscard]] bool part_can_be() const noexcept {
    constexpr std::uint64_t end_max = ~std::uint64_t{0} >> 1;
    return file_offset_ <= end_max && file_length_ <= end_max - file_offset_;
  }
  void drop_length_line() noexcept {
    if (length_line_ == 0) return;
    shared_lines_ = shared_lines_.slice(0, shared_lines_.size() - length_line_);
    length_line_ = 0;
  }

  int status_;
  bool closes_ = false;
  bool has_promise_ = false;  // a length was promised for an answer that a body_writer writes
  bool sent_ = false;         // the head has already left
  bool headers_ok_ = true;
  bool from_elsewhere_ = false;
  bool dated_ = false;
  std::uint8_t length_line_ = 0;  // bytes at the end of shared_lines_
  field_list fields_;
  piece shared_lines_;
  piece body_;
  open_file file_;
  std::uint64_t file_offset_ = 0;
  std::uint64_t file_length_ = 0;
  std::uint64_t promise_ = 0;
};

/// The answer to a request that failed: a short text body with the error.
[[nodiscard]] response error_response(int status, std::string_view what);

}  // namespace heddle::http
