// SPDX-License-Identifier: MIT
// Builds a response.
#include "heddle/http/response.hh"

#include "heddle/http/headers.hh"
#include "heddle/http/status.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::http {

response& response::header(std::string_view name, std::string_view value) & {
  if (is_framing_field(name)) [[unlikely]] {
    // Other values would contradict what the connection sends itself.
    const bool close =
        equal_ignoring_case(name, "Connection") && equal_ignoring_case(value, "close");
    closes_ |= close;
    headers_ok_ &= close;
    return *this;
  }
  headers_ok_ &= fields_.add(name, value);
  return *this;
}

response& response::body(std::string_view type, std::string&& bytes) & {
  header("Content-Type", type);
  return body(piece(std::move(bytes)));
}

response& response::close() & noexcept {
  closes_ = true;
  return *this;
}

response& response::length(std::uint64_t bytes) & noexcept {
  drop_length_line();
  promise_ = bytes;
  has_promise_ = true;
  return *this;
}

response& response::text(std::string_view plain) & {
  return body("text/plain; charset=utf-8", std::string(plain));
}

open_file::~open_file() {
  if (fd_ >= 0) runtime::here().io().close(fd_, worker::here());
}

response& response::file(open_file from, std::uint64_t offset, std::uint64_t length) & noexcept {
  drop_length_line();
  file_ = std::move(from);
  file_offset_ = offset;
  file_length_ = length;
  return *this;
}

response error_response(int status, std::string_view what) {
  std::string text = std::to_string(status) + ' ' + std::string(reason_of(status)) + '\n';
  if (!what.empty()) (text += what) += '\n';
  response r(status);
  r.header("X-Content-Type-Options", "nosniff").text(text);
  return r;
}

}  // namespace heddle::http
