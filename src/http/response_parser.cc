// SPDX-License-Identifier: MIT
// Reads an answer's head line by line. A line is looked at when it is whole, or when it has become
// too long, so the way in which the bytes were split cannot change the result. Only the beginning
// of the status line is looked at before.
#include "heddle/http/response_parser.hh"

#include <cstring>
#include <utility>

#include "heddle/http/detail/charset.hh"
#include "http/decimal.hh"

namespace heddle::http {
namespace {

/// Whether these bytes can begin a status line. Others are refused before their line ends, because
/// it might never end.
bool may_begin_status(std::string_view text) noexcept {
  constexpr std::string_view start = "HTTP/";
  return text.substr(0, start.size()) == start.substr(0, text.size());
}

}  // namespace

header response_head::header_at(std::size_t i) const noexcept {
  const field& f = fields_[i];
  const std::string_view name = view(f.name_at, f.name_length);
  return {name, view(f.value_at, f.value_length), header_id_of(name)};
}

std::string_view response_head::value(std::string_view name) const noexcept {
  for (const field& f : fields_)
    if (equal_ignoring_case(view(f.name_at, f.name_length), name))
      return view(f.value_at, f.value_length);
  return {};
}

bool response_head::has(std::string_view name) const noexcept {
  for (const field& f : fields_)
    if (equal_ignoring_case(view(f.name_at, f.name_length), name)) return true;
  return false;
}

framing response_head::body(method asked) const noexcept {
  const bool tunnel = asked == method::connect && status_ / 100 == 2;
  if (asked == method::head || tunnel || status_ < 200 || status_ == 204 || status_ == 304)
    return framing::none;
  return body_;
}

parse_state response_parser::feed(std::string_view& bytes) {
  if (problem_ != problem::none) return parse_state::failed;
  while (!done_ && !bytes.empty()) {
    const auto* const end = static_cast<const char*>(std::memchr(bytes.data(), '\n', bytes.size()));
    std::size_t size =
        end == nullptr ? bytes.size() : static_cast<std::size_t>(end - bytes.data()) + 1;
    const bool first = fields_at_ == 0;
    const std::size_t most = first ? bounds_->request_line_bytes_max : bounds_->header_bytes_max;
    if (head_.text_.size() - fields_at_ + size > most) {
      problem_ = first ? problem::status_line_malformed : problem::headers_too_large;
      return parse_state::failed;
    }
    head_.text_.append(bytes.substr(0, size));
    bytes.remove_prefix(size);
    if (first && !may_begin_status(head_.text_)) {
      problem_ = problem::status_line_malformed;
      return parse_state::failed;
    }
    if (end == nullptr) break;
    problem_ = line();
    if (problem_ != problem::none) return parse_state::failed;
    line_at_ = head_.text_.size();
  }
  return done_ ? parse_state::done : parse_state::need_more;
}

response_head response_parser::take() {
  response_head taken = std::move(head_);
  *this = response_parser(*bounds_);
  return taken;
}

problem response_parser::line() {
  std::string_view text = std::string_view(head_.text_).substr(line_at_);
  if (text.size() < 2 || text[text.size() - 2] != '\r') return problem::bare_lf;
  text.remove_suffix(2);
  if (text.find('\r') != text.npos) return problem::bare_cr;
  if (fields_at_ == 0) {
    const problem what = status_line(text);
    fields_at_ = head_.text_.size();
    return what;
  }
  if (!text.empty()) return field_line(text);
  done_ = true;
  return settle();
}

/// Reads "HTTP/1.1 200 OK" (RFC 9112 section 4). The space before an empty phrase may be missing,
/// because several servers leave it out.
problem response_parser::status_line(std::string_view text) {
  if (text.size() < 12 || !text.starts_with("HTTP/") || text[6] != '.' || text[8] != ' ' ||
      !detail::is_digit(text[5]) || !detail::is_digit(text[7]))
    return problem::status_line_malformed;
  if (text[5] != '1' || text[7] > '1') return problem::version_unsupported;
  head_.minor_version_ = text[7] - '0';
  for (const char c : text.substr(9, 3))
    if (!detail::is_digit(c)) return problem::status_line_malformed;
  head_.status_ = (text[9] - '0') * 100 + (text[10] - '0') * 10 + (text[11] - '0');
  if (head_.status_ < 100) return problem::status_line_malformed;
  if (text.size() > 12 && text[12] != ' ') return problem::status_line_malformed;
  const std::string_view reason = text.size() > 12 ? text.substr(13) : std::string_view();
  if (!detail::all(reason, detail::value_byte)) return problem::value_bad_byte;
  head_.reason_at_ = static_cast<std::uint32_t>(text.size() - reason.size());
  head_.reason_length_ = static_cast<std::uint32_t>(reason.size());
  return problem::none;
}

problem response_parser::field_line(std::string_view text) {
  if (detail::is_ows(text.front())) return problem::line_folded;
  if (head_.fields_.size() >= bounds_->header_count_max) return problem::headers_too_many;
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return problem::colon_missing;
  if (colon == 0) return problem::name_empty;
  const std::string_view name = text.substr(0, colon);
  if (detail::is_ows(name.back())) return problem::space_before_colon;
  if (!detail::all(name, detail::token_byte)) return problem::name_bad_byte;
  const std::string_view value = detail::trim_ows(text.substr(colon + 1));
  if (!detail::all(value, detail::value_byte)) return problem::value_bad_byte;
  const auto at = [&](std::string_view part) {
    return static_cast<std::uint32_t>(part.data() - head_.text_.data());
  };
  head_.fields_.push_back({at(name), static_cast<std::uint32_t>(name.size()), at(value),
                           static_cast<std::uint32_t>(value.size())});
  return problem::none;
}

/// Applies RFC 9112 section 6.3. If it lets a client repair an answer, this parser refuses the
/// answer.
problem response_parser::settle() {
  bool close = false, stay = head_.minor_version_ == 1, length_seen = false, coded = false;
  for (std::size_t i = 0; i < head_.header_count(); ++i) {
    const header h = head_.header_at(i);
    if (h.id == header_id::transfer_encoding) coded = true;
    if (h.id == header_id::content_length && std::exchange(length_seen, true))
      return problem::length_repeated;
    if (h.id != header_id::connection) continue;
    std::string_view list = h.value, element;
    while (take_list_element(list, element)) {
      close |= equal_ignoring_case(element, "close");
      stay |= equal_ignoring_case(element, "keep-alive");
    }
  }
  head_.keep_alive_ = stay && !close;
  if (coded && length_seen) return problem::length_and_encoding;
  if (coded && head_.minor_version_ == 0) return problem::encoding_in_http10;
  if (coded) return codings();
  return length_seen ? length() : problem::none;
}

problem response_parser::codings() {
  std::size_t count = 0;
  for (std::size_t i = 0; i < head_.header_count(); ++i) {
    const header h = head_.header_at(i);
    if (h.id != header_id::transfer_encoding) continue;
    std::string_view list = h.value, element;
    const std::size_t before = count;
    while (take_list_element(list, element)) {
      ++count;
      if (!equal_ignoring_case(element, "chunked")) return problem::encoding_unknown;
    }
    if (count == before) return problem::encoding_not_chunked;
  }
  head_.body_ = framing::chunked;
  return count == 1 ? problem::none : problem::encoding_chunked_twice;
}

problem response_parser::length() {
  const std::string_view text = head_.value("content-length");
  bool overflow;
  if (!detail::read_decimal(text, head_.content_length_, overflow))
    return text.find(',') != text.npos ? problem::length_repeated : problem::length_malformed;
  head_.body_ = framing::length;
  return overflow ? problem::length_overflow : problem::none;
}

}  // namespace heddle::http
