// SPDX-License-Identifier: MIT
// HTTP messages: their parts, query strings, and texts of codes.
#include <algorithm>

#include "heddle/http/date.hh"
#include "heddle/http/headers.hh"
#include "heddle/http/status.hh"
#include "heddle/http/uri.hh"
#include "tamer/http_text.hh"

namespace {

/// The decoded text; the text itself if an escape in it is broken.
std::string decoded(std::string_view raw) {
  std::string room(raw.size(), '\0');
  return std::string(heddle::http::decode_form(raw, room).value_or(raw));
}

}  // namespace

const char* http_errno_description(http_errno error) noexcept {
  switch (error) {
    case HPE_OK:
      return "success";
    case HPE_INVALID_EOF_STATE:
      return "the connection ended inside of a message";
    case HPE_HEADER_OVERFLOW:
      return "the head is too large";
    case HPE_INVALID_VERSION:
      return "invalid HTTP version";
    case HPE_INVALID_STATUS:
      return "invalid HTTP status code";
    case HPE_INVALID_METHOD:
      return "invalid HTTP method";
    case HPE_INVALID_URL:
      return "invalid URL";
    case HPE_INVALID_HEADER_TOKEN:
      return "invalid header";
    case HPE_INVALID_CONTENT_LENGTH:
      return "invalid Content-Length";
    case HPE_INVALID_CHUNK_SIZE:
      return "invalid chunk size";
    case HPE_UNKNOWN:
      break;
  }
  return "unknown error";
}

const char* http_method_str(http_method method) noexcept {
  for (const auto& m : tamer::detail::http_methods)
    if (m.method == method) return m.name.data();
  return "UNKNOWN";
}

namespace tamer {

using detail::one_line;

bool http_header::is(std::string_view other) const noexcept {
  return heddle::http::equal_ignoring_case(name, other);
}

std::string http_message::url_path() const { return url_.substr(0, url_.find_first_of("?#")); }
std::string http_message::url_query() const {
  const std::size_t mark = url_.find('?');
  if (mark == std::string::npos) return {};
  return url_.substr(mark + 1, url_.find('#', mark) - mark - 1);
}
bool http_message::has_header(std::string_view name) const noexcept {
  return std::any_of(headers_.begin(), headers_.end(),
                     [&](const http_header& h) { return h.is(name); });
}
std::string http_message::header(std::string_view name) const {
  for (const http_header& h : headers_)
    if (h.is(name)) return h.value;
  return {};
}
http_message::header_iterator http_message::query_begin() const {
  if (!has_query_parts_) {
    has_query_parts_ = true;
    const std::string all = url_query();
    std::string_view rest = all;
    for (heddle::http::query_pair pair; heddle::http::take_query_pair(rest, pair);)
      query_.push_back({decoded(pair.name), decoded(pair.value)});
  }
  return query_.begin();
}
http_message::header_iterator http_message::query_end() const {
  static_cast<void>(query_begin());
  return query_.end();
}
std::string http_message::query(std::string_view name) const {
  for (header_iterator it = query_begin(); it != query_end(); ++it)
    if (it->name == name) return it->value;
  return {};
}

http_message& http_message::clear() { return *this = http_message(); }
http_message& http_message::http_major(unsigned n) noexcept {
  major_ = n;
  return *this;
}
http_message& http_message::http_minor(unsigned n) noexcept {
  minor_ = n;
  return *this;
}
http_message& http_message::error(http_errno e) noexcept {
  error_ = e;
  return *this;
}
http_message& http_message::status_code(unsigned code) {
  return status_code(code, default_status_message(code));
}
http_message& http_message::status_code(unsigned code, std::string message) {
  status_ = code;
  reason_ = one_line(std::move(message));
  return *this;
}
http_message& http_message::method(http_method m) noexcept {
  method_ = m;
  return *this;
}
http_message& http_message::url(std::string u) {
  url_ = std::move(u);
  query_.clear();
  has_query_parts_ = false;
  return *this;
}
http_message& http_message::header(std::string name, std::string value) {
  remove_header(name);
  return append_header(std::move(name), std::move(value));
}
http_message& http_message::header(std::string name, std::size_t value) {
  return header(std::move(name), std::to_string(value));
}
http_message& http_message::append_header(std::string name, std::string value) {
  headers_.push_back({one_line(std::move(name)), one_line(std::move(value))});
  return *this;
}
http_message& http_message::remove_header(std::string_view name) {
  std::erase_if(headers_, [&](const http_header& h) { return h.is(name); });
  return *this;
}
http_message& http_message::date_header(std::string name, std::time_t when) {
  return header(std::move(name), date(when));
}
http_message& http_message::body(std::string b) {
  body_ = std::move(b);
  return *this;
}
http_message& http_message::append_body(std::string_view more) {
  body_ += more;
  return *this;
}
const char* http_message::default_status_message(unsigned code) noexcept {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> all(1000, "Unknown");
    for (int i = 100; i != 1000; ++i)
      if (const auto text = heddle::http::reason_of(i); !text.empty())
        all[static_cast<std::size_t>(i)] = text;
    return all;
  }();
  return texts[code < texts.size() ? code : 0].c_str();
}
std::string http_message::date(std::time_t when) {
  std::string out(heddle::http::date_bytes, '\0');
  heddle::http::write_date(when, std::span<char, heddle::http::date_bytes>(out));
  return out;
}

}  // namespace tamer
