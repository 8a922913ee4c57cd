// SPDX-License-Identifier: MIT
// A handler's view of its request; most functions forward to the exchange.
#include "heddle/web/incoming.hh"

#include "heddle/http/cookie.hh"
#include "heddle/http/uri.hh"
#include "heddle/web/problem_details.hh"
#include "web/exchange.hh"
#include "web/route_match.hh"

namespace heddle::http {
namespace {

// Decodes a name or value of a query or form.
std::string from_query(std::string_view raw) {
  std::string room(raw.size(), '\0');
  const auto text = decode_form(raw, room);
  if (!text) throw status_error(400, "a percent sign in the query is not followed by two digits");
  return std::string(*text);
}

}  // namespace

const request_head& request::head() const noexcept { return on_->head(); }
const address& request::peer() const noexcept { return on_->peer(); }
address request::connection_peer() const noexcept { return on_->connection_peer(); }
task<std::string_view> request::read() { return on_->read_body(); }
void request::limit_body(std::uint64_t bytes_max) noexcept { on_->budget().bytes_max = bytes_max; }
void request::limit_body_pause(nanoseconds pause_max) noexcept {
  on_->budget().pause_max = pause_max;
}
std::uint64_t request::body_limit() const noexcept { return on_->budget().bytes_max; }
cancel_source& request::draining() const noexcept { return on_->draining(); }
std::shared_ptr<cancel_source> request::kept_draining() const noexcept {
  return on_->kept_draining();
}

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

std::string_view request::trailer_lines() const noexcept { return on_->trailer_lines(); }
task<bool> request::client_ended() { return on_->client_ended(); }
client_side request::look_at_client() const noexcept { return on_->look_at_client(); }

std::string_view request::param_text(std::string_view name) const {
  HEDDLE_ASSERT(match_ != nullptr, "only a handler that a router called has path parameters");
  return match_->param(name);
}

std::optional<std::string> request::query_text(std::string_view name) const {
  std::string_view rest = query();
  for (query_pair pair; take_query_pair(rest, pair);)
    if (pair.name == name || from_query(pair.name) == name) return from_query(pair.value);
  return std::nullopt;
}

std::vector<std::string> request::query_values(std::string_view name) const {
  std::vector<std::string> all;
  std::string_view rest = query();
  for (query_pair pair; take_query_pair(rest, pair);)
    if (from_query(pair.name) == name) all.push_back(from_query(pair.value));
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
  on_->add_field(name, value);
}

task<> request::inform(response head) {
  if (!head.headers_ok() || head.status() < 102 || head.status() > 199)
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "an answer before the answer has a status from 102 to 199 and valid fields");
  HEDDLE_ASSERT(on_->started_status() == 0, "this request's answer has been started already");
  co_await on_->inform(head);
}

task<body_writer> request::start(response head) {
  co_await on_->start(std::move(head));
  co_return body_writer(*on_);
}

task<upgraded> request::upgrade(std::string_view protocol, response head) {
  return on_->upgrade(protocol, std::move(head));
}

std::string_view request::extended_protocol() const noexcept { return on_->extended_protocol(); }

task<response> request::hand_over(std::string_view protocol, response head, take_over then) {
  return on_->hand_over(protocol, std::move(head), std::move(then));
}

response request::error(int status, std::string_view detail) const {
  return on_->error(&on_->head(), status, detail);
}

void throw_bad_value(std::string_view where, std::string_view name, std::string_view kind) {
  throw status_error(
      400, std::string(where) + " \"" + std::string(name) + "\" is not " + std::string(kind));
}

}  // namespace heddle::http
