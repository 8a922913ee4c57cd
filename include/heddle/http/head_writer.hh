// SPDX-License-Identifier: MIT
// Assembles the head of an answer in the caller's buffer. It refuses names that are not tokens and
// values with control characters, so text from a request cannot end a line early and split the
// answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "heddle/http/date.hh"

namespace heddle::http {

// Thread: one at a time.  Owns: nothing; the buffer outlives it and the views that it returns.
// Fails: sticky. After the first text that does not fit or must not be sent, it writes nothing more
//   and finish() returns an empty view; error() gives the reason.
//
//   head_writer head(buffer);
//   head.status(200).field("Content-Type", type).date(clock_line).content_length(size);
//   std::string_view bytes = head.finish();
class head_writer {
 public:
  enum class problem : std::uint8_t { none, no_room, status_bad, name_bad, value_bad };

  explicit head_writer(std::span<char> out) : out_(out) {}

  // Writes the status line, which must come first. Without a phrase, it writes the registered one.
  head_writer& status(int code, std::string_view phrase = {});
  head_writer& field(std::string_view name, std::string_view value);
  head_writer& field(std::string_view name, std::uint64_t number);
  head_writer& content_length(std::uint64_t bytes);
  head_writer& date(date_line& line, std::int64_t now) { return lines(line.at(now)); }
  // Appends whole lines with their line ends, which another head_writer has checked: fields that
  // are the same in every answer.
  head_writer& lines(std::string_view assembled);

  // Writes the empty line and returns the head; "" after an error.
  std::string_view finish();

  // The head as written so far, without the empty line.
  std::string_view text() const { return {out_.data(), length_}; }
  problem error() const { return problem_; }

 private:
  head_writer& fail(problem what);
  bool room(std::size_t bytes);
  void put(std::string_view text);

  std::span<char> out_;
  std::size_t length_ = 0;
  problem problem_ = problem::none;
};

std::string_view describe(head_writer::problem what);

// Writes decimal digits to `out`, which needs room for 20; returns their number.
std::size_t write_decimal(char* out, std::uint64_t number);

}  // namespace heddle::http
