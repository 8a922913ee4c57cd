// SPDX-License-Identifier: MIT
// The part of the parser that reads empty lines and the request line; parser.cc describes its
// layers.
#include <algorithm>
#include <cstdint>

#include "heddle/http/detail/charset.hh"
#include "heddle/http/parser.hh"
#include "http/header_table.hh"
#include "http/meaning.hh"
#include "http/scan.hh"

namespace heddle::http {

using detail::line_ends;
using detail::load32;
using detail::load64;

namespace {

constexpr std::uint64_t word64(const char (&text)[9]) {
  std::uint64_t word = 0;
  for (unsigned i = 0; i < 8; ++i) {
    word |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[i])) << (8 * i);
  }
  return word;
}

constexpr std::uint32_t word32(const char (&text)[5]) {
  std::uint32_t word = 0;
  for (unsigned i = 0; i < 4; ++i) {
    word |= static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])) << (8 * i);
  }
  return word;
}

}  // namespace

parse_state request_parser::line_too_long() {
  return fail(stage_ == stage::method ? problem::method_too_long : problem::target_too_long, at_);
}

// Parses an ordinary request line: GET, HEAD, POST or PUT, a target, HTTP/1.1 or 1.0, CRLF.
bool request_parser::whole_request_line(const char* end) {
  const char* start = head_.base_ + at_;
  // "GET / HTTP/1.1\r\n" has sixteen bytes; the loads below rely on that many.
  if (end - start < 16) return false;
  std::uint32_t first = load32(start);
  std::uint32_t method_length = 3;
  if (first == word32("GET ")) {
    head_.verb_ = method::get;
  } else if (first == word32("HEAD") && start[4] == ' ') {
    head_.verb_ = method::head;
    method_length = 4;
  } else if (first == word32("POST") && start[4] == ' ') {
    head_.verb_ = method::post;
    method_length = 4;
  } else if (first == word32("PUT ")) {
    head_.verb_ = method::put;
  } else {
    return false;
  }
  const char* target = start + method_length + 1;
  const char* stop = detail::find<detail::target_end>(target, end, head_.base_);
  const char* query = nullptr;
  while (stop != end && *stop == '?') {
    if (query == nullptr) query = stop + 1;
    stop = detail::find<detail::target_end>(stop + 1, end, head_.base_);
  }
  if (end - stop < 11 || *stop != ' ' || stop == target) return false;
  std::uint64_t version = load64(stop + 1);
  if (version == word64("HTTP/1.0")) {
    head_.minor_version_ = 0;
  } else if (version != word64("HTTP/1.1")) {
    return false;
  }
  if (!line_ends(stop + 9)) {
    head_.minor_version_ = 1;
    return false;
  }
  head_.method_at_ = at_;
  head_.method_length_ = method_length;
  head_.target_at_ = at_ + method_length + 1;
  head_.target_length_ = static_cast<std::uint32_t>(stop - target);
  head_.query_at_ = query != nullptr ? static_cast<std::uint32_t>(query - head_.base_) : 0;
  at_ = static_cast<std::uint32_t>(stop + 11 - head_.base_);
  return true;
}

parse_state request_parser::request_line(const char* received_end) {
  const char* base = head_.base_;
  const char* p = base + at_;
  const char* end = received_end;
  auto bounded = [&] {
    std::size_t room = bounds_->request_line_bytes_max;
    std::size_t there = static_cast<std::size_t>(received_end - (base + line_at_));
    end = base + line_at_ + std::min(room, there);
  };
  if (stage_ >= stage::method) bounded();
  // Stops and keeps the position. If the limit ended the line, and not the input, the line is too
  // long.
  auto pause = [&] {
    at_ = static_cast<std::uint32_t>(p - base);
    bool full = stage_ >= stage::method && at_ - line_at_ >= bounds_->request_line_bytes_max;
    return full ? line_too_long() : parse_state::need_more;
  };
  auto offset = [&] { return static_cast<std::uint32_t>(p - base); };

  switch (stage_) {
    case stage::start:
    empty_lines:
      if (p == end) return pause();
      if (*p == '\n') return fail(problem::bare_lf, offset());
      if (*p != '\r') goto first_byte;
      if (++empty_lines_ > bounds_->empty_lines_max) {
        return fail(problem::empty_lines_too_many, offset());
      }
      ++p;
      stage_ = stage::empty_line_end;
      [[fallthrough]];
    case stage::empty_line_end:
      if (p == end) return pause();
      if (*p != '\n') return fail(problem::bare_cr, offset() - 1);
      ++p;
      stage_ = stage::start;
      goto empty_lines;
    first_byte:
      at_ = line_at_ = token_at_ = offset();
      stage_ = stage::method;
      bounded();
      if (whole_request_line(end)) break;
      [[fallthrough]];
    case stage::method: {
      while (p < end && detail::is(*p, detail::token_byte)) {
        if (offset() - token_at_ == bounds_->method_bytes_max) {
          return fail(problem::method_too_long, token_at_);
        }
        ++p;
      }
      if (p == end) return pause();
      if (*p != ' ' || offset() == token_at_) return fail(problem::method_bad_byte, offset());
      head_.method_at_ = token_at_;
      head_.method_length_ = offset() - token_at_;
      head_.verb_ = method_of(head_.method_text());
      token_at_ = head_.target_at_ = offset() + 1;
      head_.query_at_ = 0;
      ++p;
      stage_ = stage::target;
    }
      [[fallthrough]];
    case stage::target:
      while (p < end && detail::is(*p, detail::target_byte)) {
        if (*p == '?' && head_.query_at_ == 0) head_.query_at_ = offset() + 1;
        ++p;
      }
      if (p == end) return pause();
      if (*p != ' ') {
        if (*p == '\n') return fail(problem::bare_lf, offset());
        return fail(*p == '\r' ? problem::version_missing : problem::target_bad_byte, offset());
      }
      if (offset() == token_at_) return fail(problem::target_empty, offset());
      head_.target_length_ = offset() - token_at_;
      token_at_ = offset() + 1;
      ++p;
      stage_ = stage::version;
      [[fallthrough]];
    case stage::version: {
      while (p < end && *p != '\r' && offset() - token_at_ < 8) {
        if (*p == '\n') return fail(problem::bare_lf, offset());
        ++p;
      }
      if (p == end) return pause();
      if (*p != '\r') {
        bool bare = *p == '\n' && offset() - token_at_ == 8;
        return fail(bare ? problem::bare_lf : problem::version_malformed, offset());
      }
      at_ = offset();
      if (version_done() == parse_state::failed) return parse_state::failed;
      ++p;
      stage_ = stage::request_line_end;
    }
      [[fallthrough]];
    case stage::request_line_end:
      if (p == end) return pause();
      if (*p != '\n') return fail(problem::bare_cr, offset() - 1);
      at_ = offset() + 1;
      break;
    default:
      break;
  }
  stage_ = stage::line;
  line_at_ = at_;
  if (problem what = request_meaning::take_target(head_); what != problem::none) {
    return fail(what, head_.target_at_);
  }
  return parse_state::done;
}

parse_state request_parser::version_done() {
  std::string_view text{head_.base_ + token_at_, at_ - token_at_};
  bool shaped = text.size() == 8 && text.starts_with("HTTP/") && detail::is_digit(text[5]) &&
                text[6] == '.' && detail::is_digit(text[7]);
  if (!shaped) return fail(problem::version_malformed, token_at_);
  if (text[5] != '1') return fail(problem::version_unsupported, token_at_);
  head_.minor_version_ = text[7] == '0' ? 0 : 1;
  return parse_state::done;
}

}  // namespace heddle::http
