// SPDX-License-Identifier: MIT
// URLs by RFC 3986: sections 3 (parts), 5.2 (references) and 5.2.4 (dot segments).
#include "heddle/http/url.hh"

#include <algorithm>

#include "heddle/http/detail/charset.hh"
#include "heddle/http/headers.hh"
#include "http/meaning.hh"

namespace heddle::http {
namespace {

/// The path and query as they are sent.
std::expected<std::string, url_problem> sent_form(std::string_view text) {
  constexpr char hex[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) return std::unexpected(url_problem::target_bad_byte);
    if (detail::is(c, detail::target_byte)) {
      out += c;
    } else {
      out += '%';
      out += hex[byte >> 4];
      out += hex[byte & 15];
    }
  }
  return out;
}

std::string without_dots(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/', 1), path.size());
    const std::string_view segment = path.substr(0, end);
    path.remove_prefix(end);
    if (segment == "/." || segment == "/..") {
      if (segment.size() == 3) out.erase(std::min(out.rfind('/'), out.size()));
      if (path.empty()) out += '/';
    } else {
      out += segment;
    }
  }
  return out.empty() ? "/" : out;
}

/// Sets the target from a path, which is empty or begins with a slash, and a query with its '?'.
std::expected<void, url_problem> set_target(url& to, std::string_view path_and_query) {
  const std::size_t query = std::min(path_and_query.find('?'), path_and_query.size());
  auto text = sent_form(without_dots(path_and_query.substr(0, query)) +
                        std::string(path_and_query.substr(query)));
  if (!text) return std::unexpected(text.error());
  to.target = std::move(*text);
  return {};
}

std::expected<void, url_problem> set_authority(url& to, std::string_view text) {
  if (text.find('@') != text.npos) return std::unexpected(url_problem::credentials);
  if (!authority_valid(text, true, false)) return std::unexpected(url_problem::authority_bad);
  const std::size_t after = text.front() == '[' ? text.find(']') + 1 : 0;
  const std::size_t colon = text.find(':', after);
  std::string_view host = text.substr(0, colon);
  if (after != 0) host = text.substr(1, after - 2);
  to.host.assign(host);
  for (char& c : to.host)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  to.port = to.secure ? 443 : 80;
  if (colon == text.npos || colon + 1 == text.size()) return {};
  unsigned port = 0;
  for (const char c : text.substr(colon + 1)) port = port * 10 + static_cast<unsigned>(c - '0');
  if (port == 0) return std::unexpected(url_problem::authority_bad);
  to.port = static_cast<std::uint16_t>(port);
  return {};
}

/// Parses everything after the "//".
std::expected<url, url_problem> parse_hierarchy(bool secure, std::string_view text) {
  url made;
  made.secure = secure;
  const std::size_t end = std::min(text.find_first_of("/?"), text.size());
  if (auto done = set_authority(made, text.substr(0, end)); !done)
    return std::unexpected(done.error());
  if (auto done = set_target(made, text.substr(end)); !done) return std::unexpected(done.error());
  return made;
}

/// The length of "scheme:", or 0.
std::size_t scheme_length(std::string_view text) {
  const std::size_t colon = text.find_first_of(":/?#");
  if (colon == text.npos || colon == 0 || text[colon] != ':') return 0;
  for (const char c : text.substr(0, colon))
    if (!detail::alphanumeric(static_cast<unsigned char>(c)) && !detail::one_of(c, "+-.")) return 0;
  return detail::is_digit(text.front()) ? 0 : colon + 1;
}

}  // namespace

std::string_view describe(url_problem what) {
  switch (what) {
    case url_problem::scheme_missing:
      return "the URL has no scheme; write http://HOST/PATH or https://HOST/PATH";
    case url_problem::scheme_unknown:
      return "the URL's scheme is neither http nor https";
    case url_problem::credentials:
      return "the URL contains a user name or password; send an Authorization field instead";
    case url_problem::authority_bad:
      return "the URL has no valid host with an optional port; other alphabets are written as "
             "xn--...";
    case url_problem::target_bad_byte:
      return "the URL contains a control character";
    case url_problem::too_long:
      return "the URL is longer than 8000 bytes";
  }
  return "";
}

std::expected<url, url_problem> url::parse(std::string_view text) {
  if (text.size() > bytes_max) return std::unexpected(url_problem::too_long);
  text = text.substr(0, text.find('#'));
  const std::size_t scheme = scheme_length(text);
  if (scheme == 0 || text.substr(scheme, 2) != "//")
    return std::unexpected(url_problem::scheme_missing);
  const bool secure = equal_ignoring_case(text.substr(0, scheme), "https:");
  if (!secure && !equal_ignoring_case(text.substr(0, scheme), "http:"))
    return std::unexpected(url_problem::scheme_unknown);
  return parse_hierarchy(secure, text.substr(scheme + 2));
}

std::expected<url, url_problem> url::resolve(std::string_view reference) const {
  if (reference.size() > bytes_max) return std::unexpected(url_problem::too_long);
  reference = reference.substr(0, reference.find('#'));
  if (const std::size_t scheme = scheme_length(reference); scheme != 0) {
    if (reference.substr(scheme, 2) == "//") return parse(reference);
    // "mailto:", and "http:path", which no one should send
    return std::unexpected(url_problem::scheme_unknown);
  }
  if (reference.starts_with("//")) return parse_hierarchy(secure, reference.substr(2));
  url made = *this;
  std::string merged;
  if (reference.empty()) return made;
  if (reference.front() != '/') {
    const std::string_view base = path();
    // A query alone stays on the page; a relative path replaces the last segment.
    merged = reference.front() == '?' ? base : base.substr(0, base.rfind('/') + 1);
  }
  merged += reference;
  if (auto done = set_target(made, merged); !done) return std::unexpected(done.error());
  if (made.target.size() > 3 * bytes_max) return std::unexpected(url_problem::too_long);
  return made;
}

std::string_view url::path() const noexcept {
  return std::string_view(target).substr(0, target.find('?'));
}

std::string url::authority() const {
  const bool usual = port == (secure ? 443 : 80);
  const std::string full = host_and_port();
  return usual ? full.substr(0, full.rfind(':')) : full;
}

std::string url::host_and_port() const {
  std::string text = host.find(':') == host.npos ? host : '[' + host + ']';
  text += ':';
  text += std::to_string(port);
  return text;
}

std::string url::origin() const { return (secure ? "https://" : "http://") + authority(); }

}  // namespace heddle::http
