// SPDX-License-Identifier: MIT
// Assembles the head of an answer in the caller's buffer. Nothing that it is given can end a line
// early: names have to be tokens and values may hold no control characters, so an answer cannot be
// split by what a request put into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "heddle/http/date.hh"

namespace heddle::http {

// Thread: one at a time.  Owns: nothing; the buffer outlives it and what it returns.
// Fails: sticky. After the first thing that does not fit or must not be sent, nothing more is
// written and finish() answers with nothing; error() says which it was.
//
//   head_writer head(buffer);
//   head.status(200).field("Content-Type", type).date(clock_line).content_length(size);
//   std::string_view bytes = head.finish();
class head_writer {
 public:
  enum class problem : std::uint8_t { none, no_room, status_bad, name_bad, value_bad };

  explicit head_writer(std::span<char> out) : out_(out) {}

  // The status line comes first. Without a phrase, the registered one is written.
  head_writer& status(int code, std::string_view phrase = {});
  head_writer& field(std::string_view name, std::string_view value);
  head_writer& field(std::string_view name, std::uint64_t number);
  head_writer& content_length(std::uint64_t bytes);
  head_writer& date(date_line& line, std::int64_t now) { return lines(line.at(now)); }
  // Whole lines that were checked when they were made, each with its line end: fields that are the
  // same in every answer, assembled once by another head_writer.
  head_writer& lines(std::string_view assembled);

  // Writes the empty line. "" if anything went wrong.
  std::string_view finish();

  // What has been written so far, without the empty line.
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

// Decimal digits at `out`, which has room for 20; returns how many were written.
std::size_t write_decimal(char* out, std::uint64_t number);

}  // namespace heddle::http
