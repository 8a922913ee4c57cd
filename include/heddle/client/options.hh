// SPDX-License-Identifier: MIT
// Options of a client. Every limit has a default that is safe against hostile servers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/client/cookie_jar.hh"
#include "heddle/core/task.hh"
#include "heddle/http/limits.hh"
#include "heddle/io/stream.hh"
#include "heddle/io/tcp_source.hh"
#include "heddle/names/resolver.hh"

namespace heddle::http {

/// Puts a layer over a connection to a host.
using secure_layer = std::function<task<stream>(stream, std::string)>;

struct client_timeouts {
  nanoseconds whole = std::chrono::seconds(60);     ///< one request, redirects included
  nanoseconds connect = std::chrono::seconds(10);   ///< name, connection, proxy and TLS
  nanoseconds answer = std::chrono::seconds(30);    ///< to the end of the answer's head
  nanoseconds transfer = std::chrono::seconds(30);  ///< in which some bytes of a body must move
  nanoseconds idle = std::chrono::seconds(30);      ///< after which an unused connection is closed
  nanoseconds stagger = std::chrono::milliseconds(250);  ///< between connects to two addresses
};

struct client_proxy {
  std::string url = {};            ///< "http://proxy.example.com:3128"; empty: none
  std::string authorization = {};  ///< a Proxy-Authorization value: "Basic ..."
  /// Hosts that are asked directly. A dot at the front includes all hosts below.
  std::vector<std::string> except = {"localhost", "127.0.0.1", "::1"};
};

/// HTTP/2 (RFC 9113). Requests to one origin share a connection, each as a stream of it.
struct client_http2 {
  /// Offers HTTP/2 to https servers by ALPN. A server that does not choose it is spoken to in
  /// HTTP/1.1. client_options::secure has to offer `h2` itself.
  bool enabled = true;
  /// Speaks HTTP/2 to http:// servers without asking (RFC 9113 section 3.3), which must understand
  /// it. Requests through a proxy that is not a tunnel stay with HTTP/1.1.
  bool prior_knowledge = false;
  /// Connections of HTTP/2 to one origin. If all streams of these are in use, requests wait.
  std::uint32_t connections_max = 1;
  std::uint32_t streams_max = 100;  ///< at once on a connection; the server may allow fewer
  /// Bytes of one answer's body that may come before they are read, and of all bodies of a
  /// connection. A connection's window below streams_max * stream_window lets answers that are not
  /// read stop the others.
  std::uint32_t stream_window = 128 * 1024;
  std::uint32_t connection_window = 16 * 1024 * 1024;
  /// A server that sends nothing for this long while requests are open gets a PING, and if nothing
  /// comes for ping_timeout either, the requests fail with timed_out. 0: never, but once in five
  /// minutes for a request that was given up when nothing had come since it was sent.
  nanoseconds ping_after = nanoseconds::zero();
  nanoseconds ping_timeout = std::chrono::seconds(10);
  /// After a server has answered HTTP_1_1_REQUIRED, requests to it go over HTTP/1.1 for so long.
  /// That ends at once when a request fails so before its answer.
  nanoseconds http1_required_time = std::chrono::minutes(10);
  /// How often one request is sent again that the server has refused without looking at it
  /// (REFUSED_STREAM, or GOAWAY with a lower number): after 1 ms, 2 ms, 4 ms and so on. Not with a
  /// body_source that has begun.
  std::uint32_t refused_retries_max = 10;

  // Limits against a hostile server. Beyond one, the connection ends, and its requests fail with
  // message_size; docs/reference/http.md names the attack that each is for.
  std::uint32_t header_block_bytes_max = 64 * 1024;  ///< a packed head; see also bounds
  std::uint32_t continuations_max = 16;              ///< CONTINUATION frames of one head
  std::uint32_t empty_frames_max = 10;               ///< DATA without bytes in a row, on one stream
  std::uint32_t acknowledgements_max = 64;           ///< answers to PING and SETTINGS not yet sent
  std::uint32_t settings_max = 20;  ///< SETTINGS at once, and settings_per_second more
  std::uint32_t settings_per_second = 10;
  std::uint32_t glitches_max = 1000;  ///< frames that do nothing, and glitches_per_second more
  std::uint32_t glitches_per_second = 33;
  /// Frames that wait to be sent. Beyond it nothing is read from the server until it takes some.
  std::size_t output_bytes_max = 256 * 1024;
};

/// Limits of heads and bodies that a server sends. Bodies count as they are after unpacking.
[[nodiscard]] constexpr limits client_limits() noexcept {
  limits bounds;
  bounds.header_bytes_max = 64 * 1024;
  bounds.body_bytes_max = std::uint64_t{1} << 40;  // a body that is read in parts
  return bounds;
}

struct client_options {
  client_timeouts timeouts = {};
  limits bounds = client_limits();
  std::uint64_t body_bytes_max = 16 * 1024 * 1024;  ///< a body that is read whole
  std::uint32_t per_origin_max = 8;           ///< connections to one origin; further requests wait
  std::uint32_t idle_max = 64;                ///< unused connections that are kept
  std::uint32_t redirects_max = 10;           ///< by one request; 0: a redirect is the answer
  std::uint32_t informational_max = 16;       ///< answers such as 103 before the real one
  std::uint64_t drain_bytes_max = 64 * 1024;  ///< read from a redirect to keep its connection
  bool redirect_to_plain = false;             ///< follows a redirect from https to http
  bool unpack = true;                         ///< asks for br, zstd and gzip, and unpacks them
  std::string user_agent = "heddle";          ///< empty: none
  client_proxy proxy = {};
  client_http2 http2 = {};
  std::shared_ptr<cookie_jar> cookies = {};  ///< null: cookies are neither kept nor sent
  /// Puts TLS over a connection to this host. Empty: room tls with the system's authorities.
  ///   .secure = [trust](stream s, std::string host) {
  ///     return tls::connect(std::move(s), std::move(host), trust); }
  secure_layer secure = {};
  /// Finds the addresses of hosts. Clients of one color may share it. Null: one of the client's
  /// own, with the default options.
  std::shared_ptr<names::resolver> resolver = {};
  /// Makes the connections, for example net::source_of(net::from_environment()). Null: the
  /// kernel's sockets.
  std::shared_ptr<tcp_source> tcp = {};
};

}  // namespace heddle::http
