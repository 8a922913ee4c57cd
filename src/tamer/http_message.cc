// SPDX-License-Identifier: MIT
// HTTP messages: their parts, query strings, and texts of codes.
#include <algorithm>

#include "tamer/http_text.hh"

namespace {

constexpr struct {
  unsigned code;
  const char* text;
} statuses[] = {
    {100, "Continue"},
    {101, "Switching Protocols"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {426, "Upgrade Required"},
    {429, "Too Many Requests"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
};

int hex_of(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decoded(std::string_view s) {
  std::string out;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '+') {
      out += ' ';
    } else if (s[i] == '%' && i + 2 < s.size() && hex_of(s[i + 1]) >= 0 && hex_of(s[i + 2]) >= 0) {
      out += static_cast<char>(hex_of(s[i + 1]) * 16 + hex_of(s[i + 2]));
      i += 2;
    } else {
      out += s[i];
    }
  }
  return out;
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

using detail::equal_names;
using detail::one_line;

bool http_header::is(std::string_view other) const noexcept { return equal_names(name, other); }

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
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('&'), rest.size());
      const std::string_view pair = rest.substr(0, end);
      const std::size_t sign = std::min(pair.find('='), pair.size());
      if (!pair.empty())
        query_.push_back({decoded(pair.substr(0, sign)),
                          sign < pair.size() ? decoded(pair.substr(sign + 1)) : std::string()});
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
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
  for (const auto& s : statuses)
    if (s.code == code) return s.text;
  return "Unknown";
}
std::string http_message::date(std::time_t when) {
  std::tm parts{};
  ::gmtime_r(&when, &parts);
  char out[64];
  return {out, std::strftime(out, sizeof out, "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

}  // namespace tamer
