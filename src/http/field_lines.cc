// SPDX-License-Identifier: MIT
// The part of the parser that reads field lines to the end of the head; parser.cc describes its
// layers.
#include <algorithm>
#include <cstdint>

#include "heddle/http/detail/charset.hh"
#include "heddle/http/parser.hh"
#include "http/header_table.hh"
#include "http/scan.hh"

namespace heddle::http {

using detail::line_ends;

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

// Parses ordinary field lines, as many as have been received whole.
void request_parser::whole_field_lines(const char* end) {
  const char* base = head_.base_;
  const char* p = base + at_;
  std::uint32_t count_max = std::min<std::uint32_t>(bounds_->header_count_max, header_capacity);
  while (head_.count_ < count_max && p != end && *p != '\r') {
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
    default:
      return parse_state::failed;
  }
}

}  // namespace heddle::http
