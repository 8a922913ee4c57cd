// SPDX-License-Identifier: MIT
// An HTTP client, for versions 1.1 and 2: one line for the common thing, parts for the rest.
//
//   http::client web;
//   const http::fetched page = co_await web.get("https://example.com/");
//   if (page.ok()) use(page.body);
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "heddle/client/answer.hh"
#include "heddle/client/options.hh"
#include "heddle/client/outgoing.hh"
#include "heddle/core/detail/closure.hh"
#include "heddle/web/websocket.hh"

namespace heddle::http {

namespace detail {
class client_core;
}

/// Counts of a client's work.
struct client_counters {
  std::uint64_t requests = 0;     ///< sent, repeated ones and redirects included
  std::uint64_t connections = 0;  ///< opened
  std::uint64_t reused = 0;       ///< requests on a connection that was there
  std::uint64_t retries = 0;      ///< requests that were sent again on another connection
  std::uint64_t redirects = 0;    ///< followed
};

/// Thread: one color, which also destroys it. Programs with several colors make one in each.
/// Owns: its connections, except those of answers that are being read.
/// Cancel: the connection of the request is closed, others stay.
/// Fails: throws failure that names the request and says what happened: invalid_argument for a bad
///   request; timed_out; too_many_symbolic_link_levels after redirects_max redirects; bad_message
///   if the server breaks the rules; message_size beyond a limit; else with the error of connecting
///   or of the connection. An answer with an error status is an answer.
/// A request is repeated only if its method is idempotent, its body is still there, and a
///   connection that was used before ended before the first byte of the answer.
class client {
 public:
  explicit client(client_options options = client_options());
  client(const client&) = delete;
  ~client();

  [[nodiscard]] task<fetched> get(std::string url);
  [[nodiscard]] task<fetched> head(std::string url);
  [[nodiscard]] task<fetched> post(std::string url, std::string type, std::string body);
  /// Sends a safe request with a body (QUERY, RFC 10008). It is repeated as GET is, and redirects
  /// with any status but 303 repeat it with its body.
  [[nodiscard]] task<fetched> query(std::string url, std::string type, std::string body);
  [[nodiscard]] task<fetched> send(outgoing what);
  /// Gives the answer as soon as its head has come. The caller reads the body.
  [[nodiscard]] task<answer> open(outgoing what);

  /// A WebSocket to a URL of ws, wss, http or https. It is a stream of the origin's connection of
  /// HTTP/2 if there is one and the server takes it (RFC 8441), else a connection of HTTP/1.1 of
  /// its own (RFC 6455), which per_origin_max does not count. It may outlive the client. Cookies
  /// are sent; redirects are not followed.
  /// Fails: as connect_websocket(), and as connecting does. timed_out past
  ///   client_timeouts::connect, or past websocket_options::close_timeout for the answer.
  [[nodiscard]] task<websocket> open_websocket(std::string url) {
    return open_websocket_with(std::move(url), websocket_options());
  }
  template <websocket_options_like Options = websocket_options>
  [[nodiscard]] task<websocket> open_websocket(std::string url, Options&& options) {
    heddle::detail::check_options<Options>();
    return open_websocket_with(std::move(url), std::forward<Options>(options));
  }

  [[nodiscard]] const client_options& options() const noexcept;
  [[nodiscard]] const client_counters& counters() const noexcept;
  /// Connections that wait for a request.
  [[nodiscard]] std::size_t idle() const noexcept;

 private:
  [[nodiscard]] task<websocket> open_websocket_with(std::string url, websocket_options options);

  std::shared_ptr<detail::client_core> core_;
};

}  // namespace heddle::http
