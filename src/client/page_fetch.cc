// SPDX-License-Identifier: MIT
// Asks other servers for the values of pages.
#include "heddle/client/page_fetch.hh"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "heddle/client/client.hh"
#include "heddle/http/url.hh"

namespace heddle::http {
namespace {

/// The state that the copies of one source share.
struct fetching {
  explicit fetching(page_fetch_options given) : options(std::move(given)), web(options.client) {}
  page_fetch_options options;
  client web;
};

failure refused_fetch(const std::string& what) {
  return failure(std::make_error_code(std::errc::invalid_argument), what);
}

/// The origin that a text names. Throws failure(invalid_argument).
std::string origin_named(const std::string& text) {
  const auto at = url::parse(text);
  if (!at || at->target != "/" || text.find_first_of("?#") != text.npos)
    throw refused_fetch("'" + text + "' is no origin: write http://HOST:PORT or https://HOST");
  return at->origin();
}

bool is_json(std::string_view type) noexcept {
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return equal_ignoring_case(type, "application/json") || type.ends_with("+json");
}

/// The URL that a source asks. Throws failure for one that it may not ask.
url checked_target(const std::vector<std::string>& origins, const source_text& by) {
  auto to = url::parse(by.filled_url());
  if (!to) throw refused_fetch("'" + by.text() + "': " + std::string(describe(to.error())));
  if (std::ranges::find(origins, to->origin()) == origins.end())
    throw refused_fetch("pages may not fetch from " + to->origin() + "; allow this origin");
  return std::move(*to);
}

/// Whether a value is in the part of the text that names the origin.
bool has_value_in_origin(std::string_view text) {
  const std::size_t begin = text.find("://");
  return begin == text.npos || text.substr(0, text.find_first_of("/?#", begin + 3)).contains('$');
}

task<page_value> fetch_value(std::shared_ptr<fetching> by, source_call call) {
  const url to = checked_target(by->options.origins, call);
  outgoing what("GET", to.text());
  what.header("Accept", "application/json, text/plain, */*");
  answer got = co_await by->web.open(std::move(what));
  if (!got.ok())
    throw failure(std::make_error_code(std::errc::protocol_error),
                  to.origin() + " answered " + std::to_string(got.status()));
  const bool json = is_json(got.header("Content-Type"));
  const std::string text = co_await got.text(by->options.answer_bytes_max);
  co_return json ? page_value::of_json(text) : page_value(text);
}

}  // namespace

page_source fetch_source(page_fetch_options options) {
  for (std::string& each : options.origins) each = origin_named(each);
  options.client.redirects_max = 0;
  return [by = std::make_shared<fetching>(std::move(options))](source_call call) {
    return fetch_value(by, std::move(call));
  };
}

page_source_check fetch_check(std::vector<std::string> origins) {
  for (std::string& each : origins) each = origin_named(each);
  return [allowed = std::move(origins)](const source_text& by) {
    if (by.known() || !has_value_in_origin(by.text()))
      static_cast<void>(checked_target(allowed, by));
  };
}

}  // namespace heddle::http
