// SPDX-License-Identifier: MIT
// The rules of RFC 6265 sections 5.1.3 to 5.4, and the prefixes of names that browsers check.
#include "heddle/client/cookie_jar.hh"

#include <algorithm>
#include <limits>

#include "heddle/http/detail/charset.hh"
#include "heddle/http/headers.hh"
#include "heddle/io/address.hh"

namespace heddle::http {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}

/// Whether the host is the domain, or below it (section 5.1.3).
bool domain_matches(std::string_view host, std::string_view domain) {
  if (host == domain) return true;
  return host.size() > domain.size() && host.ends_with(domain) &&
         host[host.size() - domain.size() - 1] == '.' && !address::parse(host);
}

bool path_matches(std::string_view asked, std::string_view path) {
  if (!asked.starts_with(path)) return false;
  return asked.size() == path.size() || path.ends_with('/') || asked[path.size()] == '/';
}

std::string default_path(const url& from) {
  const std::string_view path = from.path();
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == path.npos ? "/" : std::string(path.substr(0, slash));
}

/// Section 5.2.2: digits with an optional minus; anything else is ignored.
bool max_age_of(std::string_view text, std::int64_t& seconds) {
  const bool minus = text.starts_with('-');
  if (minus) text.remove_prefix(1);
  if (text.empty()) return false;
  constexpr std::int64_t most = 400ll * 24 * 3600;  // browsers keep no cookie longer
  std::int64_t n = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    n = std::min<std::int64_t>(n * 10 + (c - '0'), most);
  }
  seconds = minus ? 0 : n;
  return true;
}

}  // namespace

struct cookie_jar::attributes {
  std::string domain, path;
  std::int64_t expires = std::numeric_limits<std::int64_t>::max();
  bool max_age = false;  // seen: Max-Age is stronger than Expires
  bool secure = false;

  void take(std::string_view name, std::string_view value, std::int64_t now) {
    std::int64_t seconds = 0;
    if (equal_ignoring_case(name, "Max-Age")) {
      if (!max_age_of(value, seconds)) return;
      max_age = true;
      expires = seconds == 0 ? std::numeric_limits<std::int64_t>::min() : now + seconds;
    } else if (equal_ignoring_case(name, "Expires")) {
      if (!max_age && parse_cookie_date(value, seconds)) expires = seconds;
    } else if (equal_ignoring_case(name, "Domain")) {
      if (value.starts_with('.')) value.remove_prefix(1);
      domain = lower(value);
    } else if (equal_ignoring_case(name, "Path")) {
      path = value.starts_with('/') ? std::string(value) : std::string();
    } else if (equal_ignoring_case(name, "Secure")) {
      secure = true;
    }
  }
};

bool cookie_jar::is_suffix(std::string_view domain) const {
  if (bounds_.is_public_suffix) return bounds_.is_public_suffix(domain);
  const std::size_t dot = domain.find('.');
  if (dot == domain.npos) return true;
  return domain.find('.', dot + 1) == domain.npos && domain.size() - dot == 3 && dot <= 3;
}

bool cookie_jar::accept(const url& from, cookie& made, attributes& asked) const {
  if (!asked.domain.empty() && is_suffix(asked.domain)) {
    if (asked.domain != from.host) return false;
    asked.domain.clear();  // for this host alone
  }
  if (!asked.domain.empty() && !domain_matches(from.host, asked.domain)) return false;
  made.host_only = asked.domain.empty();
  made.domain = made.host_only ? from.host : asked.domain;
  made.path = asked.path.empty() ? default_path(from) : asked.path;
  made.secure = asked.secure;
  made.expires = asked.expires;
  if (made.secure && !from.secure) return false;
  const std::string start = lower(std::string_view(made.name).substr(0, 9));
  if (start.starts_with("__secure-") && !made.secure) return false;
  if (start.starts_with("__host-") && (!made.secure || !made.host_only || asked.path != "/"))
    return false;
  // Plain http must not replace what https has set ("leave secure cookies alone").
  return from.secure || std::ranges::none_of(cookies_, [&](const cookie& c) {
           return c.secure && c.name == made.name &&
                  (domain_matches(c.domain, made.domain) ||
                   domain_matches(made.domain, c.domain)) &&
                  path_matches(made.path, c.path);
         });
}

bool cookie_jar::take(const url& from, std::string_view set_cookie, std::int64_t now) {
  if (set_cookie.size() > bounds_.bytes_max || !value_valid(set_cookie)) return false;
  std::size_t end = std::min(set_cookie.find(';'), set_cookie.size());
  const std::string_view pair = set_cookie.substr(0, end);
  const std::size_t equals = pair.find('=');
  if (equals == pair.npos) return false;
  cookie made;
  made.name = detail::trim_ows(pair.substr(0, equals));
  made.value = detail::trim_ows(pair.substr(equals + 1));
  if (made.name.empty()) return false;
  attributes asked;
  while (end < set_cookie.size()) {
    set_cookie.remove_prefix(end + 1);
    end = std::min(set_cookie.find(';'), set_cookie.size());
    const std::string_view part = set_cookie.substr(0, end);
    const std::size_t sign = std::min(part.find('='), part.size());
    asked.take(detail::trim_ows(part.substr(0, sign)),
               sign == part.size() ? "" : detail::trim_ows(part.substr(sign + 1)), now);
  }
  if (!accept(from, made, asked)) return false;
  store(std::move(made), now);
  return true;
}

void cookie_jar::store(cookie made, std::int64_t now) {
  made.made = made.used = ++order_;
  std::erase_if(cookies_, [&](const cookie& c) {
    const bool same = c.name == made.name && c.domain == made.domain && c.path == made.path &&
                      c.host_only == made.host_only;
    if (same) made.made = c.made;
    return same || c.expires <= now;
  });
  if (made.expires <= now) return;
  const auto older = [](const cookie& a, const cookie& b) { return a.used < b.used; };
  const auto of_domain = [&](const cookie& c) { return c.domain == made.domain; };
  if (std::size_t(std::ranges::count_if(cookies_, of_domain)) >= bounds_.per_domain_max) {
    auto oldest = cookies_.end();
    for (auto at = cookies_.begin(); at != cookies_.end(); ++at)
      if (of_domain(*at) && (oldest == cookies_.end() || older(*at, *oldest))) oldest = at;
    if (oldest != cookies_.end()) cookies_.erase(oldest);
  } else if (cookies_.size() >= bounds_.count_max && !cookies_.empty()) {
    cookies_.erase(std::ranges::min_element(cookies_, older));
  }
  cookies_.push_back(std::move(made));
}

std::string cookie_jar::field(const url& to, std::int64_t now) {
  std::vector<cookie*> fit;
  for (cookie& c : cookies_) {
    const bool host = c.host_only ? c.domain == to.host : domain_matches(to.host, c.domain);
    if (host && path_matches(to.path(), c.path) && (to.secure || !c.secure) && c.expires > now)
      fit.push_back(&c);
  }
  std::ranges::sort(fit, [](const cookie* a, const cookie* b) {
    return a->path.size() != b->path.size() ? a->path.size() > b->path.size() : a->made < b->made;
  });
  std::string text;
  for (cookie* c : fit) {
    c->used = ++order_;
    if (!text.empty()) text += "; ";
    text += c->name + '=' + c->value;
  }
  return text;
}

}  // namespace heddle::http
