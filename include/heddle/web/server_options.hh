// SPDX-License-Identifier: MIT
// The options of a server: its limits, whose defaults are safe on a public network, and the
// functions that it calls besides its handler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string_view>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/core/task.hh"
#include "heddle/http/forwarded.hh"
#include "heddle/http/limits.hh"
#include "heddle/io/address.hh"
#include "heddle/io/network.hh"
#include "heddle/probe/callee.hh"
#include "heddle/web/overload.hh"

namespace heddle::http {

class request;
class request_head;
class response;

using handler = std::function<task<response>(request&)>;

/// Describes a handler's function, for reports.
[[nodiscard]] callee callee_of(const handler& h, site given) noexcept;

/// One answered request, for logs.
struct access {
  const request_head* head = nullptr;  ///< null when the request could not be parsed
  const address* peer = nullptr;
  int status = 0;
  std::uint64_t bytes = 0;  ///< bytes of the body
  nanoseconds took{};
};

/// Every default is safe on a public network. Each comment names the counter of how often the limit
/// was reached; limits in `bounds` count as bad_heads, uris_too_long, heads_too_large.
struct server_options {
  limits bounds = {};  ///< limits of heads and bodies; a route may set another limit for its bodies
  /// Between requests, from the turn in which the last one ended: idle_timeouts.
  nanoseconds idle_timeout = std::chrono::seconds(75);
  nanoseconds header_timeout = std::chrono::seconds(10);  ///< for a whole head: header_timeouts
  nanoseconds body_timeout = std::chrono::seconds(30);    ///< between two parts: body_timeouts
  /// A body that arrives slower than this, after body_timeout in advance, fails as after a
  /// body_timeout. 0: however slow it is.
  std::uint32_t body_bytes_per_second_min = 240;
  nanoseconds write_timeout = std::chrono::seconds(30);  ///< without a byte taken: write_timeouts
  std::size_t send_bytes_max = 256 * 1024;               ///< bytes of one send
  /// Memory for files that are read and sent in parts, of all connections together. Beyond it,
  /// parts shrink to 4 KiB: file_parts_short.
  std::size_t file_bytes_max = 16 * 1024 * 1024;
  std::size_t connections_max = 16384;  ///< further ones wait in the listener's queue: full_waits
  /// Connections from one IPv4 address or IPv6 /64 network; further ones are closed:
  /// refused_connections. 0: three quarters of connections_max. Behind a proxy, all clients have
  /// the proxy's address.
  std::size_t connections_per_address_max = 0;
  std::vector<network> trusted = {};  ///< peers limited by connections_max only, such as a proxy
  /// Proxies in front of this server, which are `trusted` too. For their requests, request::peer()
  /// and the log give the client's address as the field tells it (client_address()).
  std::vector<network> trusted_proxies = {};
  forwarded_field forwarded_by = forwarded_field::x_forwarded_for;
  std::size_t corked_bytes_max = 64 * 1024;  ///< pipelined answers in one send
  std::size_t pipeline_max = 64;  ///< requests in one turn of a connection: pipeline_pauses
  /// How much of an unread body the server reads and drops before it closes instead:
  /// bodies_abandoned.
  std::size_t drain_bytes_max = 256 * 1024;
  /// How long a client may go on sending (at most drain_bytes_max) after an answer that ends the
  /// connection, unless the client asked for the end. The server has ended its own side by then,
  /// and drops the bytes that come, so that no reset takes the answer away. It closes when the
  /// client does.
  nanoseconds linger_timeout = std::chrono::seconds(2);
  nanoseconds drain_grace = std::chrono::seconds(1);  ///< for first requests after draining began
  /// The driver's receive blocks that requests in progress may hold; the bytes of further ones are
  /// copied: block_copies. 0: a quarter of the driver's blocks.
  std::size_t blocks_max = 0;
  /// Refuses requests that would be late with 503 and delays new connections: shed, overloads.
  overload_options overload = {};
  /// Clients may speak HTTP/2 (RFC 9113), which they do by its preface or by ALPN.
  bool http2 = true;
  /// HTTP/2 clients may ask for WebSockets and other protocols by CONNECT (RFC 8441). Without it
  /// they open a connection of HTTP/1.1 for that.
  bool extended_connect = true;
  std::string_view server_name = "heddle";
  std::function<void(const access&)> log = {};
  /// Gets the request and the exception that its handler ended with, unless that is an answer
  /// (status_error), a fault of the client, or a cancellation. It replaces the report
  /// failed-handler. exception_lines() gives the lines.
  std::function<void(const request_head&, const std::exception_ptr&)> failed = {};
  /// Makes an error answer from the status and a text for the client. The head is null if the
  /// request could not be parsed. If it is not set, clients that ask for text get text, and all
  /// others get a problem document.
  std::function<response(const request_head*, int, std::string_view)> error_page = {};
};

}  // namespace heddle::http
