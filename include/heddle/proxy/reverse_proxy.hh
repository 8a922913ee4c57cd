// SPDX-License-Identifier: MIT
// A reverse proxy: a handler that sends each request to another server and its answer back to the
// client. Bodies are passed on in both directions while they arrive, and a slow receiver slows its
// sender down. docs/guide/proxy.md explains how to run one.
//
//   co_await http::serve(tcp_listener::listen(address::any(8080)),
//                        http::reverse_proxy({.upstreams = {"http://127.0.0.1:3000"}}));
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "heddle/core/task.hh"
#include "heddle/http/response.hh"
#include "heddle/probe/histogram.hh"
#include "heddle/proxy/options.hh"
#include "heddle/web/incoming.hh"

namespace heddle::http {

namespace detail {
class proxy_core;
}

/// Counts of one upstream.
struct upstream_counters {
  std::uint64_t requests = 0;     ///< sent to the upstream, repeated ones included
  std::uint64_t answers = 0;      ///< whose head came
  std::uint64_t failures = 0;     ///< refused, broken, malformed or late
  std::uint64_t connections = 0;  ///< opened
  std::uint64_t reused = 0;       ///< requests on a connection that was there
  std::uint64_t retries = 0;      ///< requests that were sent again because of it
  std::uint64_t downs = 0;        ///< how often it went down
  std::uint32_t active = 0;       ///< requests in progress
  std::uint32_t idle = 0;         ///< connections that wait for a request
  bool up = true;

  upstream_counters& operator+=(const upstream_counters& other) noexcept;
};

/// Copies share everything; the last one closes the connections.
///
/// Thread: one color, the server's. Programs with several make one in each.
/// Owns: its connections to upstreams.
/// Cancel: the upstream's connection is closed. A client that ends its connection cancels its
///   request in the same way.
/// Fails: the constructor throws failure(invalid_argument) for options that make no sense. A
///   request gets 502 if its upstream refuses, breaks or sends what is no HTTP; 503 with
///   Retry-After if no upstream is up or none has a free connection; 504 if it is late. If an
///   upstream breaks after its answer began, the client's connection is cut, so that the answer is
///   not taken for complete. A request is sent to another upstream only before the first byte of
///   its answer, and only if it cannot have been acted on (no connection was made), or its method
///   is idempotent and its body, if it has one, is still there.
class reverse_proxy {
 public:
  explicit reverse_proxy(proxy_options options);

  [[nodiscard]] task<response> operator()(request& r) const;

  /// Begins health checks now; else they begin with the first request. Call it in its color.
  void start() const;
  [[nodiscard]] std::size_t upstreams() const noexcept;
  /// As it was given in proxy_options::upstreams.
  [[nodiscard]] const std::string& name(std::size_t upstream) const noexcept;
  [[nodiscard]] upstream_counters counters(std::size_t upstream) const noexcept;

 private:
  std::shared_ptr<detail::proxy_core> core_;
};

}  // namespace heddle::http
