// SPDX-License-Identifier: MIT
// Two layers over one position. The upper takes whole lines that are plain in every way with wide
// loads, and gives up, changing nothing, at the first thing that is not. The lower is a state
// machine over bytes: it can stop anywhere, it decides every error, and it is what a line cut in
// two, or one with anything unusual in it, goes through. So the upper layer needs no error of its
// own, and feeding byte by byte tests the one against the other.
//
// The end that both see is the nearer of what was received and what the limits allow; a token that
// reaches the limits' end fails there whether or not more has been received.
#include "heddle/http/parser.hh"

#include <algorithm>
#include <cstring>

#include "charset.hh"
#include "header_table.hh"
#include "meaning.hh"
#include "scan.hh"

namespace heddle::http {

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

bool line_ends(const char* p) { return p[0] == '\r' && p[1] == '\n'; }

}  // namespace

void request_parser::reset() {
  at_ = error_at_ = empty_lines_ = 0;
  stage_ = stage::start;
  problem_ = problem::none;
  head_.seen_ = head_.repeated_ = head_.content_length_ = 0;
  head_.path_at_ = head_.query_at_ = head_.authority_at_ = head_.count_ = 0;
  head_.method_at_ = head_.method_length_ = head_.target_at_ = head_.target_length_ = 0;
  head_.authority_length_ = 0;
  head_.verb_ = method::other;
  head_.form_ = target_form::origin;
  head_.body_ = framing::none;
  head_.minor_version_ = 1;
  head_.keep_alive_ = head_.expects_continue_ = head_.upgrade_ = false;
}

parse_state request_parser::feed(std::string_view received) {
  head_.base_ = received.data();
  const char* end = received.data() + received.size();
  if (stage_ == stage::settled) {
    return problem_ == problem::none ? parse_state::done : parse_state::failed;
  }
  if (stage_ < stage::line) {
    parse_state state = request_line(end);
    if (state != parse_state::done) return state;
  }
  return field_lines(end);
}

parse_state request_parser::fail(problem what, std::size_t at) {
  stage_ = stage::settled;
  problem_ = what;
  error_at_ = static_cast<std::uint32_t>(at);
  return parse_state::failed;
}

parse_state request_parser::line_too_long() {
  return fail(stage_ == stage::method ? problem::method_too_long : problem::target_too_long, at_);
}

// GET, HEAD, POST or PUT, a target, HTTP/1.1 or 1.0, CRLF, all received.
bool request_parser::whole_request_line(const char* end) {
  const char* start = head_.base_ + at_;
  // "GET / HTTP/1.1\r\n" has sixteen bytes, and the loads below rely on them.
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
  // Stops with the position kept; the line is too long when the limit, not the data, ended it.
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
    default: break;
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

void request_parser::add_field(header_id id, std::uint32_t name_length,
                               std::uint32_t value_length) {
  std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(id);
  if ((head_.seen_ & bit) == 0) {
    head_.first_[static_cast<unsigned>(id)] = static_cast<std::uint8_t>(head_.count_);
  }
  head_.repeated_ |= head_.seen_ & bit;
  head_.seen_ |= bit;
  head_.fields_[head_.count_++] = {name_at_, token_at_, value_length,
                                   name_length | static_cast<std::uint32_t>(id) << 24};
}

// Field lines without anything unusual, as many as have been received whole.
void request_parser::whole_field_lines(const char* end) {
  const char* base = head_.base_;
  const char* p = base + at_;
  std::uint32_t count_max = std::min<std::uint32_t>(bounds_->header_count_max, header_capacity);
  while (head_.count_ < count_max) {
    const char* colon = detail::find<detail::name_end>(p, end, base);
    if (end - colon < 4 || *colon != ':' || colon == p) break;
    auto length = static_cast<std::size_t>(colon - p);
    header_id id = detail::recognise(p, length);
    if (id == header_id::other && !detail::all({p, length}, detail::token_byte)) break;
    const char* value = colon + 1;
    value += *value == ' ';
    const char* stop = detail::find<detail::value_end>(value, end, base);
    if (end - stop < 2 || !line_ends(stop)) break;
    if (value != stop && (*value == ' ' || stop[-1] == ' ')) break;
    name_at_ = static_cast<std::uint32_t>(p - base);
    token_at_ = static_cast<std::uint32_t>(value - base);
    add_field(id, static_cast<std::uint32_t>(length), static_cast<std::uint32_t>(stop - value));
    p = stop + 2;
  }
  at_ = static_cast<std::uint32_t>(p - base);
}

parse_state request_parser::field_lines(const char* received_end) {
  const char* base = head_.base_;
  std::size_t room = bounds_->header_bytes_max;
  std::size_t there = static_cast<std::size_t>(received_end - (base + line_at_));
  const char* end = base + line_at_ + std::min(room, there);
  const char* p = base + at_;
  auto offset = [&] { return static_cast<std::uint32_t>(p - base); };
  auto pause = [&] {
    at_ = offset();
    bool full = at_ - line_at_ >= bounds_->header_bytes_max;
    return full ? fail(problem::headers_too_large, at_) : parse_state::need_more;
  };

  switch (stage_) {
    case stage::line:
    next_line:
      at_ = offset();
      whole_field_lines(end);
      p = base + at_;
      if (p == end) return pause();
      if (*p == '\r') goto last_line;
      if (*p == '\n') return fail(problem::bare_lf, offset());
      if (detail::is_ows(*p)) return fail(problem::line_folded, offset());
      if (*p == ':') return fail(problem::name_empty, offset());
      if (head_.count_ >= bounds_->header_count_max || head_.count_ >= header_capacity) {
        return fail(problem::headers_too_many, offset());
      }
      name_at_ = offset();
      stage_ = stage::name;
      [[fallthrough]];
    case stage::name:
      while (p < end && detail::is(*p, detail::token_byte)) ++p;
      if (p == end) return pause();
      if (*p != ':') {
        if (detail::is_ows(*p)) return fail(problem::space_before_colon, offset());
        bool ended = *p == '\r' || *p == '\n';
        return fail(ended ? problem::colon_missing : problem::name_bad_byte, offset());
      }
      name_length_ = offset() - name_at_;
      ++p;
      stage_ = stage::value_lead;
      [[fallthrough]];
    case stage::value_lead:
      while (p < end && detail::is_ows(*p)) ++p;
      if (p == end) return pause();
      token_at_ = offset();
      stage_ = stage::value;
      [[fallthrough]];
    case stage::value:
      while (p < end && detail::is(*p, detail::value_byte)) ++p;
      if (p == end) return pause();
      if (*p == '\n') return fail(problem::bare_lf, offset());
      if (*p != '\r') return fail(problem::value_bad_byte, offset());
      ++p;
      stage_ = stage::value_end;
      [[fallthrough]];
    case stage::value_end: {
      if (p == end) return pause();
      if (*p != '\n') return fail(problem::bare_cr, offset() - 1);
      const char* stop = p - 1;
      while (stop > base + token_at_ && detail::is_ows(stop[-1])) --stop;
      const char* name = base + name_at_;
      header_id id = detail::recognise(name, name_length_);
      add_field(id, name_length_, static_cast<std::uint32_t>(stop - (base + token_at_)));
      ++p;
      stage_ = stage::line;
      goto next_line;
    }
    last_line:
      ++p;
      stage_ = stage::head_end;
      [[fallthrough]];
    case stage::head_end:
      if (p == end) return pause();
      if (*p != '\n') return fail(problem::bare_cr, offset() - 1);
      at_ = offset() + 1;
      return settle();
    default: return parse_state::failed;
  }
}

parse_state request_parser::settle() {
  stage_ = stage::settled;
  std::uint32_t where = at_;
  problem what = request_meaning::take_fields(head_, *bounds_, where);
  return what == problem::none ? parse_state::done : fail(what, where);
}

}  // namespace heddle::http
