// SPDX-License-Identifier: MIT
// Putting an answer together.
#include "heddle/http/response.hh"

#include <array>

#include "heddle/http/head_writer.hh"
#include "heddle/http/status.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::http {

response& response::header(std::string_view name, std::string_view value) & {
  // The checks are the writer's; its status line is not wanted.
  std::string line(64 + name.size() + value.size(), '\0');
  head_writer checked(line);
  checked.status(200).field(name, value);
  if (checked.error() != head_writer::problem::none) {
    headers_ok_ = false;
    return *this;
  }
  const std::string_view text = checked.text();
  lines_ += text.substr(text.find('\n') + 1);
  return *this;
}

response& response::body(std::string_view type, std::string&& bytes) & {
  header("Content-Type", type);
  body_ = piece(std::move(bytes));
  return *this;
}

response& response::shared_lines(piece lines) & noexcept {
  shared_lines_ = std::move(lines);
  return *this;
}

response& response::body(piece bytes) & noexcept {
  body_ = std::move(bytes);
  return *this;
}

response& response::close() & noexcept {
  closes_ = true;
  return *this;
}

response& response::text(std::string_view plain) & {
  return body("text/plain; charset=utf-8", std::string(plain));
}

open_file::~open_file() {
  if (fd_ >= 0) runtime::here().io().close(fd_, worker::here());
}

response& response::file(open_file from, std::uint64_t offset, std::uint64_t length) & noexcept {
  file_ = std::move(from);
  file_offset_ = offset;
  file_length_ = length;
  return *this;
}

response error_response(int status, std::string_view what) {
  std::string text = std::to_string(status) + ' ' + std::string(reason_of(status)) + '\n';
  if (!what.empty()) (text += what) += '\n';
  response r(status);
  r.text(text);
  return r;
}

}  // namespace heddle::http
