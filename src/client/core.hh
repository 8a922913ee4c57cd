// SPDX-License-Identifier: MIT
// The state that a client shares with its requests: options, pool, counters. Requests and answers
// keep it alive, so that a client may end before them.
#pragma once

#include <memory>
#include <string>

#include "client/http1_exchange.hh"
#include "client/http2_exchange.hh"
#include "client/pool.hh"
#include "heddle/client/client.hh"

namespace heddle::http::detail {

class client_core : public std::enable_shared_from_this<client_core> {
 public:
  explicit client_core(client_options options);

  /// Sends the request, follows redirects, gives the exchange whose head has come.
  [[nodiscard]] task<std::unique_ptr<client_exchange>> run(outgoing what);

  [[nodiscard]] task<websocket> open_websocket(std::string url, websocket_options with);

  const std::shared_ptr<const client_options> options;
  const std::shared_ptr<connection_pool> pool;
  client_counters counters;

 private:
  [[nodiscard]] task<std::unique_ptr<client_exchange>> attempt(const outgoing& what, const url& at,
                                                               time_point due);
  [[nodiscard]] task<std::unique_ptr<client_exchange>> follow(outgoing& what, url at,
                                                              time_point due);
  [[nodiscard]] std::string head_of(const outgoing& what, const url& at, bool unpack) const;
  [[nodiscard]] bool through_proxy(const url& at) const;
  /// Connects to a server. `http1_only`: TLS offers no other version.
  [[nodiscard]] task<stream> connect(url to, bool http1_only) const;
  [[nodiscard]] task<stream> tunnel(stream on, url to) const;
  [[nodiscard]] std::string cookies_for(const url& at) const;
  void take_cookies(const client_exchange& from) const;

  // websocket.cc
  [[nodiscard]] task<websocket> websocket_over_http1(url to, websocket_options with);
  [[nodiscard]] task<stream> open_tunnel(std::shared_ptr<http2_link> link, gate::hold permit,
                                         const url& to, const websocket_options& with,
                                         response_head& head, http2_trouble& refused);

  // places.cc
  struct dial_for;
  [[noreturn]] static void refuse_request(const outgoing& what, const url& at, std::error_code code,
                                          const std::string& why);
  [[nodiscard]] std::shared_ptr<server_connections> connections_to(const url& at) const;
  [[nodiscard]] task<place> find_place(server_connections& of, const outgoing& what, const url& at,
                                       time_point due, bool fresh);

  const secure_layer secure_;
  const std::shared_ptr<names::resolver> resolver_;
  const secure_layer secure_http1_;  // offers no other version
  std::optional<url> proxy_;
};

/// Throws failure(invalid_argument) for a request that must not be sent.
void check_request(const outgoing& what);

/// Puts TLS over a connection with room tls, if the build has it.
[[nodiscard]] secure_layer default_secure_layer(bool http2);

}  // namespace heddle::http::detail
