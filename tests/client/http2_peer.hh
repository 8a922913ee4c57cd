// SPDX-License-Identifier: MIT
// A server that sends frames one by one, for tests of the client's HTTP/2.
#pragma once

#include <string>
#include <utility>

#include "client/harness.hh"
#include "web/http2_client.hh"

namespace heddle::test {

inline http::client_options by_prior_knowledge() {
  http::client_options options;
  options.http2.prior_knowledge = true;
  return options;
}

/// Runs body(address, listener).
template <class Body>
task<> with_http2_peer(Body body) {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  const address at = door.local();
  co_await body(at, listener(door));
}

/// The next connection, as the server has it. Its first frame must be a SETTINGS.
inline task<http2_client> take_peer(listener door) {
  stream conn = co_await with_timeout(door.accept(), std::chrono::seconds(60));
  co_return http2_client(std::move(conn), http2_client::as_server{});
}

}  // namespace heddle::test
