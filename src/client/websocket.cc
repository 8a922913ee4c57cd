// SPDX-License-Identifier: MIT
// Opens a WebSocket: as a stream of a connection of HTTP/2, or with a connection of its own.
#include "heddle/web/websocket.hh"

#include <algorithm>

#include "client/core.hh"
#include "client/http2_tunnel.hh"
#include "heddle/client/connect.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/sleep.hh"
#include "heddle/http/detail/http2_client_head.hh"
#include "heddle/web/detail/websocket_client.hh"

namespace heddle::http::detail {
namespace {

/// Replaces "ws://" and "wss://" by "http://" and "https://" (RFC 6455 section 3).
std::string as_http(std::string text) {
  if (text.size() > 2 && equal_ignoring_case(std::string_view(text).substr(0, 2), "ws") &&
      (text[2] == ':' || text[2] == 's' || text[2] == 'S'))
    text.replace(0, 2, "http");
  return text;
}

bool has_field(const websocket_options& with, std::string_view name) noexcept {
  return std::ranges::any_of(with.fields,
                             [&](const auto& f) { return equal_ignoring_case(f.first, name); });
}

/// Makes the handshake over HTTP/1.1. A failure closes the connection.
task<websocket> handshake_on(stream on, const url& to, websocket_options with) {
  const std::string host = to.authority();
  try {
    co_return co_await connect_websocket(on, host, to.target, with);
  } catch (const std::system_error&) {
    on.close();
    throw;
  }
}

}  // namespace

task<websocket> client_core::websocket_over_http1(url to, websocket_options with) {
  stream on = co_await connect(to, true);
  if (!to.secure && through_proxy(to)) on = co_await tunnel(std::move(on), to);
  ++counters.connections;
  co_return co_await handshake_on(std::move(on), to, std::move(with));
}

/// Opens a tunnel. The stream is closed if the server did nothing with the request; `refused` then
/// says why.
task<stream> client_core::open_tunnel(std::shared_ptr<http2_link> link, gate::hold permit,
                                      const url& to, const websocket_options& with,
                                      response_head& head, http2_trouble& refused) {
  const auto s = std::make_shared<client_stream>();
  s->permit = std::move(permit);
  s->tunnel = true;
  const auto end = std::make_shared<http2_client_tunnel>(link, s);  // releases the stream
  const std::string asked = "GET " + to.target + " HTTP/1.1\r\nHost: " + to.authority() + "\r\n" +
                            websocket_request_lines(with) + "\r\n";
  std::string block;
  http2_request_kind kind;
  kind.secure = to.secure;
  kind.protocol = "websocket";
  put_http2_request(block, asked, kind);
  link->open(*s, block, false);
  const time_point due = add_saturated(clock::now(), with.close_timeout);
  while (!s->has_head && !s->trouble) co_await with_deadline(s->news.wait(), due);
  if (s->trouble && s->trouble->refused) {
    refused = *s->trouble;
    co_return stream();
  }
  if (!s->has_head) throw failure(s->trouble->code, s->trouble->text);
  head = s->head;
  if (head.status() / 100 != 2)
    throw failure(
        std::make_error_code(std::errc::connection_refused),
        "the server answered " + std::to_string(head.status()) + " to the WebSocket handshake");
  co_return make_http2_stream(end);
}

task<websocket> client_core::open_websocket(std::string text, websocket_options with) {
  const std::shared_ptr<client_core> kept = shared_from_this();
  const outgoing what("GET", as_http(std::move(text)));
  check_request(what);
  const auto parsed = url::parse(what.url());
  if (!parsed)
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  what.url() + ": " + std::string(describe(parsed.error())));
  const url at = *parsed;
  static_cast<void>(websocket_request_lines(with));  // fails before anything is sent
  if (!options->user_agent.empty() && !has_field(with, "User-Agent"))
    with.fields.emplace_back("User-Agent", options->user_agent);
  if (const std::string cookies = cookies_for(at); !cookies.empty() && !has_field(with, "Cookie"))
    with.fields.emplace_back("Cookie", cookies);
  const time_point due = add_saturated(clock::now(), options->timeouts.connect);
  ++counters.requests;
  const std::shared_ptr<server_connections> of = connections_to(at);
  // A server that speaks HTTP/1.1 gets a connection beside the pool, however full that is.
  for (std::uint32_t refusals = 0; of->may_share();) {
    place on = co_await find_place(*of, what, at, due, true);
    if (on.link == nullptr) {
      stream alone = std::move(on.alone);
      on.permit.release();
      co_return co_await handshake_on(std::move(alone), at, std::move(with));
    }
    const bool settled = co_await on.link->settled(due);
    if (settled && !on.link->extended_connect()) break;
    http2_trouble refused;
    response_head head;
    const bool reused = on.reused;
    stream through =
        co_await open_tunnel(std::move(on.link), std::move(on.permit), at, with, head, refused);
    if (through) {
      if (reused) ++counters.reused;
      co_return websocket_on(std::move(through), head, with);
    }
    if (refusals++ == options->http2.refused_retries_max)
      refuse_request(what, at, refused.code, refused.text);
    if (refused.wants_http1) of->require_http1();
    ++counters.retries;
    co_await with_deadline(sleep_for(pause_after_refusal(refusals)), due);
  }
  co_return co_await with_deadline(websocket_over_http1(at, std::move(with)),
                                   add_saturated(due, with.close_timeout));
}

}  // namespace heddle::http::detail
