// SPDX-License-Identifier: MIT
// A server that sends WebSocket messages back, and frames as they are on the wire.
#pragma once

#include <string>
#include <utility>

#include "heddle/web/websocket.hh"
#include "support/websocket_wire.hh"
#include "web/harness.hh"

namespace heddle::test {

/// More than the systems on the way keep for a peer that does not read.
inline const std::string& flood() {
  static const std::string bytes(8 << 20, 'f');
  return bytes;
}

/// Sends more than its peer reads when a message has come, and receives meanwhile, or closes.
inline task<> receive_beside_flood(scope& s, http::websocket& ws, bool closes) {
  static_cast<void>(co_await ws.receive());
  s.spawn([](http::websocket& to) -> task<> {
    static_cast<void>(co_await as_expected(to.send_binary(flood())));
  }(ws));
  co_await yield();
  if (closes) co_await ws.close(4001, "enough");
  while (co_await ws.receive()) {
  }
}

inline task<http::response> echo_websocket(http::request& r) {
  http::websocket_options options;
  options.message_bytes_max = 100'000;
  options.protocols = {"b", "c"};
  options.origins = {"https://friend.example.org"};
  options.ping_after =
      r.path() == "/ping" ? std::chrono::milliseconds(20) : std::chrono::seconds(30);
  options.pong_timeout = std::chrono::milliseconds(30);
  options.close_timeout = std::chrono::milliseconds(200);
  if (r.path() == "/handed")
    co_return co_await http::hand_to_websocket(
        r,
        [](http::websocket of) -> task<> {
          while (auto m = co_await of.receive()) {
            if (m->data == "throw") throw std::runtime_error("on purpose");
            co_await of.send(*m);
          }
        },
        options);
  if (r.path() == "/handed-ends")
    co_return co_await http::hand_to_websocket(
        r, [](http::websocket of) -> task<> { co_await of.send("bye"); }, options);
  if (r.path().starts_with("/flood")) options.close_timeout = std::chrono::seconds(20);
  http::websocket ws = co_await http::accept_websocket(r, options);
  if (r.path().starts_with("/flood")) {
    co_await with_scope(&receive_beside_flood, std::ref(ws), r.path() == "/flood-closes");
    co_return ws.done();
  }
  if (r.path() == "/ends") {
    co_await ws.send("bye");
    co_return ws.done();
  }
  while (auto m = co_await ws.receive()) {
    if (m->data == "close") {
      co_await ws.close(4001, "as you like");
      break;
    }
    co_await ws.send(*m);
  }
  co_return ws.done();
}

template <class Body>
void with_echo(std::unique_ptr<driver> d, Body body) {
  runtime rt(std::move(d));
  rt.run(with_server(echo_websocket, {}, body));
}

}  // namespace heddle::test
