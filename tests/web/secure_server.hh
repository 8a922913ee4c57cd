// SPDX-License-Identifier: MIT
// A server over TLS beside a test's body, on a port of its own.
#pragma once

#include <exception>
#include <utility>

#include "heddle/io/tcp.hh"
#include "heddle/tls/stream.hh"
#include "heddle/web/server.hh"

namespace heddle::test {

/// Runs body(address) beside the server; its failure is the test's.
template <class Body>
task<> with_secure_server(http::handler handle, tls::server_context site, Body body) {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  const address at = door.local();
  http::server web(std::move(handle));
  scope s;
  s.spawn(web.serve(tls::listen(std::move(door), site)));
  try {
    co_await body(at);
  } catch (...) {
    s.fail(std::current_exception());
  }
  web.stop();
  co_await s.join();
}

}  // namespace heddle::test
