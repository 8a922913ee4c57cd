// SPDX-License-Identifier: MIT
// Options of a reverse proxy: its upstreams, the choice between them, the fields that tell them of
// the client, and limits. Every limit has a safe default.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/client/options.hh"
#include "heddle/core/task.hh"
#include "heddle/http/limits.hh"
#include "heddle/io/network.hh"
#include "heddle/io/stream.hh"
#include "heddle/io/tcp_source.hh"

namespace heddle::http {

/// How a proxy chooses an upstream for a request, among those that are up.
enum class balance : std::uint8_t {
  round_robin,     ///< one after the other
  least_requests,  ///< the one with the fewest requests in progress
  client_address,  ///< each client's address keeps its upstream while that is up
};

struct proxy_timeouts {
  nanoseconds connect = std::chrono::seconds(5);  ///< name, connection and TLS: 504
  /// From the end of the request to the end of the answer's head: 504. While the request is still
  /// being sent, transfer is the limit.
  nanoseconds answer = std::chrono::seconds(60);
  /// In which some bytes of a body must move. If the upstream takes none and has not begun its
  /// answer: 504.
  nanoseconds transfer = std::chrono::seconds(60);
  nanoseconds queue = std::chrono::seconds(5);     ///< for a free connection: 503
  nanoseconds go_ahead = std::chrono::seconds(1);  ///< for 100 Continue; the body follows then
  nanoseconds idle = std::chrono::seconds(30);     ///< an unused connection is closed after this
  nanoseconds tunnel = std::chrono::hours(1);      ///< in which an upgraded connection must move
  nanoseconds stagger = std::chrono::milliseconds(250);  ///< between connects to two addresses
};

/// Requests that the proxy sends by itself to see whether an upstream works.
struct health_checks {
  std::string path = {};  ///< "/health"; empty: none are sent
  nanoseconds interval = std::chrono::seconds(5);
  nanoseconds timeout = std::chrono::seconds(2);  ///< one check, connecting included
  std::uint32_t rise = 2;  ///< good answers (200 to 399) in a row bring an upstream back
  std::uint32_t fall = 3;  ///< failures in a row take it out
};

/// Failures of requests that take an upstream out for a while: refused or broken connections and
/// answers that come too late. If no upstream is left, those are tried all the same.
struct failure_limit {
  std::uint32_t count = 3;                        ///< so many; 0: never take one out
  nanoseconds within = std::chrono::seconds(10);  ///< in this time
  nanoseconds pause = std::chrono::seconds(10);   ///< take it out for this long
};

/// Limits of heads and bodies that an upstream sends.
[[nodiscard]] constexpr limits upstream_limits() noexcept {
  limits bounds;
  bounds.header_bytes_max = 64 * 1024;
  bounds.body_bytes_max = ~std::uint64_t{0};
  return bounds;
}

/// Connections of HTTP/2 to an upstream: as many as the requests at once need, with windows that
/// let one slow client's answer not stop the others'.
[[nodiscard]] inline client_http2 upstream_http2() noexcept {
  client_http2 all;
  all.connections_max = 16;
  return all;
}

/// Puts a layer over a connection to a host, as TLS is.
using upstream_layer = std::function<task<stream>(stream, std::string)>;

struct proxy_options {
  /// "http://127.0.0.1:3000", "https://app.example.com", "unix:/run/app.socket", or
  /// "h2c://127.0.0.1:3000" for HTTP/2 without TLS (RFC 9113 section 3.3). With https the upstream
  /// chooses between HTTP/2 and HTTP/1.1.
  std::vector<std::string> upstreams = {};
  balance by = balance::round_robin;
  proxy_timeouts timeouts = {};
  health_checks health = {};
  failure_limit failures = {};
  limits bounds = upstream_limits();
  /// Connections in use to one upstream, and over HTTP/2 streams; further requests wait.
  std::uint32_t connections_max = 1024;
  std::uint32_t idle_max = 128;  ///< unused connections to one upstream that are kept
  std::uint32_t tries_max = 3;   ///< for a request that is safe to send again
  /// The part of a body that is kept while it is sent, in case the upstream refuses the request
  /// over HTTP/2 without looking at it, or the method is idempotent and the connection ends without
  /// an answer. A request of whose body more was sent fails then.
  std::size_t repeat_bytes_max = 64 * 1024;
  std::uint32_t informational_max = 16;  ///< answers such as 103 before the real one

  bool keep_host = true;       ///< sends the client's Host; false: the upstream's name
  bool x_forwarded = true;     ///< sends X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host
  bool forwarded = true;       ///< sends Forwarded (RFC 7239)
  std::string via = "heddle";  ///< the name in Via; empty: no Via
  bool secure = false;         ///< clients come over TLS: Forwarded and X-Forwarded-Proto say https
  /// Peers whose own Forwarded and X-Forwarded fields are passed on. From all others they are
  /// replaced, because a client may write anything into them.
  std::vector<network> trusted = {};
  bool upgrades = true;  ///< passes WebSocket and other upgrades (RFC 9110 section 7.8) through
  /// Cancels a request whose client has closed its side of the connection. Clients that close only
  /// their sending side and wait for the answer need false.
  bool cancel_when_client_ends = true;
  /// Sends the client's address in front of each connection: version 1 or 2 of the PROXY protocol
  /// (proxy_protocol.hh); 0: not. Such a connection is used for one request only, over HTTP/1.1.
  int proxy_protocol = 0;
  /// Connections of HTTP/2 to one upstream, and limits of each. prior_knowledge is not used here,
  /// and enabled is for https alone.
  client_http2 http2 = upstream_http2();
  /// Puts TLS over a connection to an https upstream, and offers `h2` by ALPN or not. Empty: room
  /// tls with the system's authorities, which offers it if http2.enabled.
  upstream_layer secure_layer = {};
  /// secure_layer for requests that need HTTP/1.1, which are upgrades: it offers `http/1.1` alone.
  /// Empty: secure_layer if that is given.
  upstream_layer secure_layer_http1 = {};
  /// Makes the connections to upstreams, except those to Unix sockets, for example
  /// net::source_of(net::from_environment()). Null: the kernel's sockets.
  std::shared_ptr<tcp_source> tcp = {};
  /// Gets a line for each upstream that goes down or comes back, and for each request that fails
  /// because of an upstream, with the reason. At most `log_lines_max` of the latter a second.
  std::function<void(std::string_view)> log = {};
  std::uint32_t log_lines_max = 10;
};

}  // namespace heddle::http
