// SPDX-License-Identifier: MIT
// A handler's view of its request: mostly a door to the exchange.
#include "heddle/http/incoming.hh"

#include "heddle/http/cookie.hh"
#include "heddle/http/problem_details.hh"
#include "heddle/http/uri.hh"
#include "http/exchange.hh"
#include "http/route_match.hh"

namespace heddle::http {
namespace {

// A name or value of a query or form.
std::string decoded(std::string_view raw) {
  std::string room(raw.size(), '\0');
  const auto text = decode_form(raw, room);
  if (!text) throw status_error(400, "a percent sign in the query is not followed by two digits");
  return std::string(*text);
}

}  // namespace

const request_head& request::head() const noexcept { return on_->head(); }
const address& request::peer() const noexcept { return on_->peer(); }
task<std::string_view> request::read() { return on_->read_body(); }
void request::limit_body(std::uint64_t bytes_max) noexcept { on_->limit_body(bytes_max); }
void request::limit_body_pause(nanoseconds pause_max) noexcept { on_->limit_body_pause(pause_max); }
std::uint64_t request::body_limit() const noexcept { return on_->body_limit(); }
cancel_source& request::draining() const noexcept { return on_->draining(); }

task<std::string> request::text() {
  std::string all;
  for (;;) {
    const std::string_view part = co_await on_->read_body();
    if (part.empty()) co_return all;
    all += part;
  }
}

std::string_view request::trailer(std::string_view name) const noexcept {
  return on_->trailer(name);
}

std::string_view request::param_text(std::string_view name) const {
  HEDDLE_ASSERT(match_ != nullptr, "only a handler that a router called has path parameters");
  return match_->param(name);
}

std::optional<std::string> request::query_text(std::string_view name) const {
  std::string_view rest = query();
  for (query_pair pair; take_query_pair(rest, pair);)
    if (pair.name == name || decoded(pair.name) == name) return decoded(pair.value);
  return std::nullopt;
}

std::vector<std::string> request::query_values(std::string_view name) const {
  std::vector<std::string> all;
  std::string_view rest = query();
  for (query_pair pair; take_query_pair(rest, pair);)
    if (decoded(pair.name) == name) all.push_back(decoded(pair.value));
  return all;
}

std::optional<std::string_view> request::cookie(std::string_view name) const noexcept {
  const request_head& lines = head();
  constexpr auto id = header_id::cookie;
  for (std::size_t i = lines.next(id, 0); i < lines.header_count(); i = lines.next(id, i + 1)) {
    std::string_view rest = lines.header_at(i).value;
    for (cookie_pair pair; take_cookie(rest, pair);)
      if (pair.name == name) return pair.value;
  }
  return std::nullopt;
}

void request::add_header(std::string_view name, std::string_view value) {
  on_->add_header(name, value);
}

task<body_writer> request::start(response head) {
  co_await on_->start(std::move(head));
  co_return body_writer(*on_);
}

task<upgraded> request::upgrade(std::string_view protocol, response head) {
  return on_->upgrade(protocol, std::move(head));
}

response request::error(int status, std::string_view detail) const {
  return on_->error(&on_->head(), status, detail);
}

void throw_bad_value(std::string_view where, std::string_view name, std::string_view kind) {
  throw status_error(
      400, std::string(where) + " \"" + std::string(name) + "\" is not " + std::string(kind));
}

}  // namespace heddle::http
