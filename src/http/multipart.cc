// SPDX-License-Identifier: MIT
// The delimiter begins with a CR and contains no other. So when a partial match fails, all matched
// bytes are data, and matching starts again at the byte that failed. If the match began in an
// earlier input, its bytes are gone, but they equal the delimiter's, so the decoder hands out the
// delimiter's bytes and never stores data.
#include "heddle/http/multipart.hh"

#include <algorithm>
#include <utility>

#include "heddle/http/detail/charset.hh"
#include "heddle/http/headers.hh"

namespace heddle::http {

using kind = multipart_piece::kind;

namespace {

constexpr std::size_t boundary_bytes_max = 70;

bool boundary_valid(std::string_view text) {
  static constexpr std::string_view others = "'()+_,-./:=? ";
  if (text.empty() || text.size() > boundary_bytes_max || text.back() == ' ') return false;
  return std::ranges::all_of(text, [](char c) {
    return detail::alphanumeric(static_cast<unsigned char>(c)) || others.find(c) != others.npos;
  });
}

// Takes a quoted string or a token off `rest`.
std::string take_value(std::string_view& rest) {
  std::string value;
  if (!rest.starts_with('"')) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    value = detail::trim_ows(rest.substr(0, end));
    rest.remove_prefix(end);
    return value;
  }
  std::size_t at = 1;
  for (; at < rest.size() && rest[at] != '"'; ++at) {
    const bool escape =
        rest[at] == '\\' && at + 1 < rest.size() && (rest[at + 1] == '"' || rest[at + 1] == '\\');
    if (escape) ++at;
    value += rest[at];
  }
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return value;
}

}  // namespace

std::optional<std::string> header_parameter(std::string_view value, std::string_view name) {
  std::string_view rest = value.substr(std::min(value.find(';'), value.size()));
  while (!rest.empty()) {
    const std::size_t from = rest.find_first_not_of("; \t");
    if (from == rest.npos) break;
    rest.remove_prefix(from);
    const std::size_t end = std::min(rest.find_first_of("=;"), rest.size());
    const std::string_view found = detail::trim_ows(rest.substr(0, end));
    rest.remove_prefix(end);
    if (!rest.starts_with('=')) continue;
    rest.remove_prefix(1);
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    std::string text = take_value(rest);
    if (equal_ignoring_case(found, name)) return text;
  }
  return std::nullopt;
}

std::optional<std::string> multipart_boundary(std::string_view content_type) {
  const std::string_view type = detail::trim_ows(
      content_type.substr(0, std::min(content_type.find(';'), content_type.size())));
  if (!equal_ignoring_case(type, "multipart/form-data")) return std::nullopt;
  std::optional<std::string> boundary = header_parameter(content_type, "boundary");
  if (!boundary || !boundary_valid(*boundary)) return std::nullopt;
  return boundary;
}

multipart_decoder::multipart_decoder(std::string_view boundary, const form_limits& bounds)
    : delimiter_("\r\n--" + std::string(boundary)), bounds_(bounds) {}

multipart_piece multipart_decoder::fail(problem what, std::size_t consumed) {
  stage_ = stage::failed;
  problem_ = what;
  return {kind::failed, consumed};
}

bool multipart_decoder::finish() {
  if (stage_ == stage::done) return true;
  if (stage_ != stage::failed) fail(problem::truncated, 0);
  return false;
}

multipart_piece multipart_decoder::feed(std::string_view input) {
  std::size_t used = 0;
  for (;;) {
    multipart_piece piece = step(input.substr(used));
    piece.consumed += used;
    if (piece.what != kind::need_more || piece.consumed == input.size()) return piece;
    used = piece.consumed;
  }
}

/// Advances to the next piece, the next stage, or the end of the input.
multipart_piece multipart_decoder::step(std::string_view input) {
  switch (stage_) {
    case stage::preamble:
    case stage::data:
      return scan(input);
    case stage::after_boundary:
      return boundary_line(input);
    case stage::head:
      return head_lines(input);
    case stage::done:
      return {kind::done, 0};
    case stage::failed:
      break;
  }
  return {kind::failed, 0};
}

/// Scans data up to the next delimiter, or the preamble, which is dropped.
multipart_piece multipart_decoder::scan(std::string_view input) {
  const bool is_data = stage_ == stage::data;
  std::size_t at = 0;
  while (at < input.size()) {
    if (matched_ == 0) {
      const std::size_t end = std::min(input.find('\r', at), input.size());
      if (!is_data) {
        skipped_ += end - at;
        if (skipped_ > bounds_.preamble_bytes_max) return fail(problem::preamble_too_long, end);
      } else if (end > at) {
        return {kind::data, end, input.substr(at, end - at)};
      }
      at = end;
      if (at == input.size()) break;
    }
    while (at < input.size() && matched_ < delimiter_.size() && input[at] == delimiter_[matched_]) {
      ++at;
      ++matched_;
    }
    if (matched_ == delimiter_.size()) {
      matched_ = 0;
      lines_.clear();
      stage_ = stage::after_boundary;
      return {is_data ? kind::part_end : kind::need_more, at};
    }
    if (at == input.size()) break;
    const std::size_t was = std::exchange(matched_, 0);
    if (is_data) return {kind::data, at, std::string_view(delimiter_).substr(0, was)};
    skipped_ += was;
  }
  return {kind::need_more, input.size()};
}

/// After a boundary: expects "--" at the end of all parts, else spaces and a line end.
multipart_piece multipart_decoder::boundary_line(std::string_view input) {
  for (std::size_t at = 0; at < input.size(); ++at) {
    const char c = input[at];
    const bool after_cr = lines_.ends_with('\r');
    if (after_cr && c == '\n') {
      lines_.clear();
      stage_ = stage::head;
      return {kind::need_more, at + 1};
    }
    if (lines_ == "-" && c == '-') {
      stage_ = stage::done;
      return {kind::done, at + 1};
    }
    const bool plain = lines_.empty() || lines_ == " ";
    if (after_cr || !(plain && (detail::is_ows(c) || c == '\r' || (c == '-' && lines_.empty()))))
      return fail(problem::boundary_line_bad, at);
    // Any amount of padding is stored as one space.
    if (detail::is_ows(c)) {
      lines_ = " ";
    } else {
      lines_ += c;
    }
  }
  return {kind::need_more, input.size()};
}

multipart_piece multipart_decoder::head_lines(std::string_view input) {
  for (std::size_t at = 0; at < input.size(); ++at) {
    if (lines_.size() == bounds_.part_header_bytes_max) return fail(problem::head_too_large, at);
    lines_ += input[at];
    if (input[at] != '\n' || !(lines_ == "\r\n" || lines_.ends_with("\r\n\r\n"))) continue;
    if (parts_++ == bounds_.fields_max) return fail(problem::too_many_parts, at);
    if (const problem what = take_head(); what != problem::none) return fail(what, at);
    stage_ = stage::data;
    return {kind::part, at + 1};
  }
  return {kind::need_more, input.size()};
}

multipart_decoder::problem multipart_decoder::take_head() {
  part_ = {};
  std::string_view rest = lines_;
  bool disposed = false;
  while (rest != "\r\n") {
    const std::size_t end = rest.find("\r\n");
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 2);
    const std::size_t colon = line.find(':');
    if (colon == line.npos || !token_valid(line.substr(0, colon)) || !value_valid(line))
      return problem::head_bad;
    const std::string_view value = detail::trim_ows(line.substr(colon + 1));
    if (equal_ignoring_case(line.substr(0, colon), "content-type")) part_.type = value;
    if (!equal_ignoring_case(line.substr(0, colon), "content-disposition")) continue;
    const std::string_view what = value.substr(0, std::min(value.find(';'), value.size()));
    if (!equal_ignoring_case(detail::trim_ows(what), "form-data")) return problem::not_form_data;
    std::optional<std::string> name = header_parameter(value, "name");
    if (!name) return problem::name_missing;
    part_.name = *std::move(name);
    part_.filename = header_parameter(value, "filename");
    disposed = true;
  }
  return disposed ? problem::none : problem::not_form_data;
}

std::string_view describe(multipart_decoder::problem what) {
  using enum multipart_decoder::problem;
  switch (what) {
    case none:
      return "nothing is wrong";
    case preamble_too_long:
      return "the form does not begin with its boundary";
    case boundary_line_bad:
      return "a boundary of the form is not followed by a line end";
    case head_too_large:
      return "the lines before a field of the form take more bytes than the limit";
    case head_bad:
      return "a line before a field of the form is no header line";
    case not_form_data:
      return "a part of the form has no Content-Disposition: form-data";
    case name_missing:
      return "a field of the form has no name";
    case too_many_parts:
      return "the form has more fields than the limit";
    case truncated:
      return "the form ends before its last boundary";
  }
  return "";
}

int status_of(multipart_decoder::problem what) {
  using enum multipart_decoder::problem;
  return what == head_too_large || what == too_many_parts ? 413 : 400;
}

}  // namespace heddle::http
