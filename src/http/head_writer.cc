// SPDX-License-Identifier: MIT
// Writes heads of answers: one check of the remaining room per line, then plain copies.
#include "heddle/http/head_writer.hh"

#include <cstring>

#include "heddle/http/headers.hh"
#include "heddle/http/status.hh"
#include "http/decimal.hh"

namespace heddle::http {
head_writer& head_writer::fail(problem what) {
  if (problem_ == problem::none) problem_ = what;
  return *this;
}

bool head_writer::room(std::size_t bytes) {
  if (problem_ != problem::none) return false;
  if (out_.size() - length_ >= bytes) return true;
  fail(problem::no_room);
  return false;
}

void head_writer::put(std::string_view text) {
  // An empty view may have a null address, which memcpy must not get.
  if (text.empty()) return;
  std::memcpy(out_.data() + length_, text.data(), text.size());
  length_ += text.size();
}

head_writer& head_writer::status(int code, std::string_view phrase) {
  if (!status_valid(code)) return fail(problem::status_bad);
  if (std::string_view line = status_line(code); phrase.empty() && !line.empty()) {
    return lines(line);
  }
  if (!value_valid(phrase)) return fail(problem::value_bad);
  if (!room(phrase.size() + 15)) return *this;
  put("HTTP/1.1 ");
  length_ += detail::write_decimal(out_.data() + length_, static_cast<unsigned>(code));
  put(" ");
  put(phrase);
  put("\r\n");
  return *this;
}

head_writer& head_writer::field(std::string_view name, std::string_view value) {
  if (!token_valid(name)) return fail(problem::name_bad);
  if (!value_valid(value)) return fail(problem::value_bad);
  if (!room(name.size() + value.size() + 4)) return *this;
  put(name);
  put(": ");
  put(value);
  put("\r\n");
  return *this;
}

head_writer& head_writer::field(std::string_view name, std::uint64_t number) {
  char digits[detail::decimal_bytes_max];
  return field(name, std::string_view{digits, detail::write_decimal(digits, number)});
}

head_writer& head_writer::content_length(std::uint64_t bytes) {
  constexpr std::string_view name = "Content-Length: ";
  char digits[detail::decimal_bytes_max];
  std::size_t count = detail::write_decimal(digits, bytes);
  if (!room(name.size() + count + 2)) return *this;
  put(name);
  put({digits, count});
  put("\r\n");
  return *this;
}

head_writer& head_writer::lines(std::string_view assembled) {
  if (room(assembled.size())) put(assembled);
  return *this;
}

std::string_view head_writer::finish() {
  if (!room(2)) return {};
  put("\r\n");
  return text();
}

std::string_view describe(head_writer::problem what) {
  switch (what) {
    case head_writer::problem::none:
      return "nothing is wrong";
    case head_writer::problem::no_room:
      return "the head is longer than its buffer";
    case head_writer::problem::status_bad:
      return "the status is not a number of three digits";
    case head_writer::problem::name_bad:
      return "a field name is not a token";
    case head_writer::problem::value_bad:
      return "a field value contains a control character";
  }
  return "";
}

std::size_t write_decimal(char* out, std::uint64_t number) {
  return detail::write_decimal(out, number);
}

}  // namespace heddle::http
