// SPDX-License-Identifier: MIT
// Sends each WebSocket message back.
//
//   build/release/examples/echo_websocket 8080
#include <cstdio>
#include <cstdlib>

#include "heddle/heddle.hh"
#include "heddle/net/provider.hh"
#include "heddle/web/router.hh"
#include "heddle/web/websocket.hh"

using namespace heddle;

task<> echo(http::websocket ws) {
  while (auto m = co_await ws.receive()) co_await ws.send(*m);
}

task<http::response> welcome(http::request& r) { return http::hand_to_websocket(r, &echo); }

task<> serve(std::uint16_t port) {
  http::router routes;
  routes.get("/echo", welcome);
  auto [door, at] = net::from_environment().listen(address::loopback(port));
  std::printf("ws://%s/echo\n", at.to_string().c_str());
  std::fflush(stdout);
  co_await http::serve_until_signal(std::move(door), routes);
}

int main(int argc, char** argv) {
  runtime rt;
  rt.run(serve(static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 8080)));
}
