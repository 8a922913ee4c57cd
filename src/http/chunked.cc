// SPDX-License-Identifier: MIT
// The decoder is a state machine over the bytes between the data, and hands out the data itself in
// slices. Limits count bytes of the whole body, so that many small chunks cannot exceed the sums
// allowed to a few large ones.
#include "heddle/http/chunked.hh"

#include <algorithm>

#include "heddle/http/detail/charset.hh"
#include "heddle/http/headers.hh"

namespace heddle::http {

using detail::is_ows;

bool chunked_decoder::fail(problem what) {
  stage_ = stage::failed;
  problem_ = what;
  return false;
}

chunk_piece chunked_decoder::feed(std::string_view input) {
  using kind = chunk_piece::kind;
  std::size_t at = 0;
  while (true) {
    if (stage_ == stage::done) return {kind::done, at, {}};
    if (stage_ == stage::failed) return {kind::failed, at, {}};
    if (at == input.size()) return {kind::need_more, at, {}};
    if (stage_ == stage::data) {
      auto length = static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size() - at));
      left_ -= length;
      body_ += length;
      if (left_ == 0) stage_ = stage::data_end_cr;
      return {kind::data, at + length, input.substr(at, length)};
    }
    if (stage_ < stage::data) {
      if (size_byte(input[at])) ++at;
    } else if (stage_ <= stage::data_end_lf) {
      bool cr = stage_ == stage::data_end_cr;
      if (input[at] != (cr ? '\r' : '\n')) {
        fail(problem::chunk_end_missing);
      } else {
        stage_ = cr ? stage::data_end_lf : stage::size_first;
        ++at;
      }
    } else {
      std::size_t from = at;
      while (at < input.size() && stage_ < stage::done && trailer_byte(input[at])) ++at;
      // The empty line that ends the body is not a trailer; without other lines, no trailer is
      // handed out.
      std::size_t end = at;
      if (stage_ == stage::last_end) end -= 1;
      if (stage_ == stage::done) end -= std::min<std::size_t>(end - from, 2);
      if (stage_ != stage::failed && end > from) {
        return {kind::trailer, at, input.substr(from, end - from)};
      }
    }
  }
}

bool chunked_decoder::size_byte(char c) {
  if (stage_ == stage::size_first || stage_ == stage::size) {
    int digit = detail::hex_value(c);
    if (digit >= 0) {
      // Sixteen digits fill 64 bits. Leading zeros count as digits, so that their number is limited
      // too.
      if (digits_ == 16) return fail(problem::chunk_size_overflow);
      left_ = left_ << 4 | static_cast<unsigned>(digit);
      ++digits_;
      stage_ = stage::size;
      return true;
    }
    if (stage_ == stage::size_first) return fail(problem::chunk_size_malformed);
    if (c == '\r') {
      stage_ = stage::size_end;
      return true;
    }
    if (!is_ows(c) && c != ';') {
      return fail(c == '\n' ? problem::bare_lf : problem::chunk_size_malformed);
    }
    stage_ = stage::before_semicolon;
  }
  if (stage_ == stage::size_end) {
    if (c != '\n') return fail(problem::bare_cr);
    if (left_ > bounds_->body_bytes_max - std::min(body_, bounds_->body_bytes_max)) {
      return fail(problem::body_too_large);
    }
    stage_ = left_ == 0 ? stage::line : stage::data;
    digits_ = 0;
    return true;
  }
  if (extension_bytes_ == bounds_->chunk_extension_bytes_max) {
    return fail(problem::chunk_extensions_too_large);
  }
  ++extension_bytes_;
  return extension_byte(c);
}

// chunk-ext = *( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] ), then CR. Whitespace
// is accepted only before a ';', a '=' or a name: "5 \r\n" is malformed.
bool chunked_decoder::extension_byte(char c) {
  bool token = detail::is(c, detail::token_byte);
  auto go = [this](stage next) {
    stage_ = next;
    return true;
  };
  switch (stage_) {
    case stage::before_semicolon:
      if (is_ows(c)) return true;
      if (c == ';') return go(stage::extension_start);
      break;
    case stage::extension_start:
      if (is_ows(c)) return true;
      if (token) return go(stage::extension_name);
      break;
    case stage::extension_name:
      if (token) return true;
      if (c == '\r') return go(stage::size_end);
      [[fallthrough]];
    case stage::after_name:
      if (is_ows(c)) return go(stage::after_name);
      if (c == ';') return go(stage::extension_start);
      if (c == '=') return go(stage::value_start);
      break;
    case stage::value_start:
      if (is_ows(c)) return true;
      if (c == '"') return go(stage::value_quoted);
      if (token) return go(stage::value_token);
      break;
    case stage::value_token:
      if (token) return true;
      if (c == '\r') return go(stage::size_end);
      if (is_ows(c)) return go(stage::before_semicolon);
      if (c == ';') return go(stage::extension_start);
      break;
    case stage::value_quoted:
      if (c == '"') return go(stage::after_value);
      if (c == '\\') return go(stage::quoted_escape);
      if (detail::is(c, detail::value_byte)) return true;
      break;
    case stage::quoted_escape:
      if (detail::is(c, detail::value_byte)) return go(stage::value_quoted);
      break;
    case stage::after_value:
      if (c == '\r') return go(stage::size_end);
      if (is_ows(c)) return go(stage::before_semicolon);
      if (c == ';') return go(stage::extension_start);
      break;
    default:
      break;
  }
  return fail(c == '\n' ? problem::bare_lf : problem::chunk_extension_malformed);
}

// Checks a byte of a trailer line, which has the syntax and the errors of a field line.
bool chunked_decoder::trailer_byte(char c) {
  if (trailer_bytes_ == bounds_->trailer_bytes_max) return fail(problem::trailers_too_large);
  ++trailer_bytes_;
  switch (stage_) {
    case stage::line:
      if (c == '\r') {
        stage_ = stage::last_end;
        return true;
      }
      if (c == '\n') return fail(problem::bare_lf);
      if (is_ows(c)) return fail(problem::line_folded);
      if (c == ':') return fail(problem::name_empty);
      stage_ = stage::trailer_name;
      [[fallthrough]];
    case stage::trailer_name:
      if (detail::is(c, detail::token_byte)) return true;
      if (c == ':') {
        stage_ = stage::trailer_value;
        return true;
      }
      if (is_ows(c)) return fail(problem::space_before_colon);
      return fail(c == '\r' || c == '\n' ? problem::colon_missing : problem::name_bad_byte);
    case stage::trailer_value:
      if (detail::is(c, detail::value_byte)) return true;
      if (c == '\n') return fail(problem::bare_lf);
      if (c != '\r') return fail(problem::value_bad_byte);
      stage_ = stage::trailer_end;
      return true;
    case stage::trailer_end:
      if (c != '\n') return fail(problem::bare_cr);
      stage_ = stage::line;
      return true;
    default:
      if (c != '\n') return fail(problem::bare_cr);
      stage_ = stage::done;
      return true;
  }
}

chunk_head::chunk_head(std::uint64_t size) : at_(16) {
  text_[16] = '\r';
  text_[17] = '\n';
  do {
    text_[--at_] = "0123456789abcdef"[size & 15];
    size >>= 4;
  } while (size != 0);
}

bool trailer_allowed(std::string_view name) {
  switch (header_id_of(name)) {
    case header_id::host:
    case header_id::connection:
    case header_id::content_length:
    case header_id::transfer_encoding:
    case header_id::expect:
    case header_id::upgrade:
    case header_id::te:
    case header_id::trailer:
    case header_id::keep_alive:
    case header_id::range:
    case header_id::if_match:
    case header_id::if_none_match:
    case header_id::if_modified_since:
    case header_id::if_unmodified_since:
    case header_id::if_range:
    case header_id::authorization:
    case header_id::proxy_authorization:
    case header_id::cookie:
    case header_id::cache_control:
    case header_id::content_type:
    case header_id::content_encoding:
      return false;
    default:
      return token_valid(name);
  }
}

std::string_view find_trailer(std::string_view lines, std::string_view name) {
  if (!trailer_allowed(name)) return {};
  std::string_view rest = lines;
  while (!rest.empty()) {
    const std::size_t end = rest.find("\r\n");
    if (end == rest.npos) break;
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 2);
    const std::size_t colon = line.find(':');
    if (colon == line.npos || !equal_ignoring_case(line.substr(0, colon), name)) continue;
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t'))
      value.remove_prefix(1);
    while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
    return value;
  }
  return {};
}

}  // namespace heddle::http
