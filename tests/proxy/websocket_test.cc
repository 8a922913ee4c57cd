// SPDX-License-Identifier: MIT
// WebSocket through a proxy: a client of HTTP/2 asks by CONNECT (RFC 8441), a client of HTTP/1.1 by
// Upgrade, and the upstream sees an upgrade of HTTP/1.1 each time.
#include "heddle/web/websocket.hh"
#include "proxy/harness.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

/// Says what it saw, then echoes.
struct telling {
  std::string saw;
  task<> operator()(http::websocket on) {
    co_await on.send(saw);
    for (;;) {
      const auto got = co_await on.receive();
      if (!got) break;
      co_await on.send(*got);
    }
  }
};

task<http::response> websocket_backend(http::request& r) {
  if (r.path() == "/refuse") co_return http::response(403);
  if (r.path() == "/plain") co_return http::response(200).text("plain");
  std::string saw = fields_of(r);
  std::move_only_function<task<>(http::websocket)> talk = telling{std::move(saw)};
  co_return co_await http::hand_to_websocket(r, std::move(talk));
}

http::client_options by_http2() {
  http::client_options o;
  o.http2.prior_knowledge = true;
  return o;
}

task<> talks(address at, http::client_options by, bool http2) {
  http::client web(std::move(by));
  http::websocket on = co_await web.open_websocket("ws://" + at.to_string() + "/room?a=b");
  const auto saw = co_await on.receive();
  EXPECT_TRUE(saw.has_value());
  const std::string text(saw->data);
  EXPECT_TRUE(text.starts_with("GET /room?a=b\n")) << text;
  EXPECT_NE(text.find("upgrade: websocket\n"), std::string::npos) << text;
  EXPECT_NE(text.find("sec-websocket-version: 13\n"), std::string::npos) << text;
  EXPECT_NE(text.find(http2 ? "via: 2 heddle\n" : "via: 1.1 heddle\n"), std::string::npos) << text;
  for (const std::size_t size : {1u, 300u, 100'000u}) {
    const std::string sent(size, 'x');
    co_await on.send(sent);
    const auto back = co_await on.receive();
    EXPECT_TRUE(back.has_value() && back->data == sent) << size;
  }
  co_await on.close();
}

DRIVER_TEST(proxy_websocket, "a WebSocket over HTTP/2 and over HTTP/1.1 reaches an upstream") {
  runtime rt(make());
  rt.run([]() -> task<> {
    co_await with_proxy(&websocket_backend, usual,
                        [](address at, http::reverse_proxy& p) -> task<> {
                          http::client_options two = by_http2();
                          co_await talks(at, std::move(two), true);
                          http::client_options one;
                          co_await talks(at, std::move(one), false);
                          while (p.counters(0).active != 0) co_await sleep_for(1ms);
                        });
  });
}

/// The error of a handshake over HTTP/2; empty if it succeeds.
task<std::string> refusal_of_handshake(address at, std::string path) {
  http::client web(by_http2());
  std::string why;
  try {
    http::websocket on = co_await web.open_websocket("ws://" + at.to_string() + path);
    co_await on.close();
  } catch (const std::system_error& e) {
    why = e.what();
  }
  co_return why;
}

bool refused_with(const std::string& why, const char* status) {
  return why.find(std::string("answered ") + status) != std::string::npos;
}

DRIVER_TEST(proxy_websocket, "an upstream that refuses or does not switch opens no tunnel") {
  runtime rt(make());
  rt.run([]() -> task<> {
    co_await with_proxy(&websocket_backend, usual, [](address at, http::reverse_proxy&) -> task<> {
      EXPECT_TRUE(refused_with(co_await refusal_of_handshake(at, "/refuse"), "403"));
      EXPECT_TRUE(refused_with(co_await refusal_of_handshake(at, "/plain"), "502"));
      EXPECT_EQ(co_await refusal_of_handshake(at, "/"), "");
    });
    http::proxy_options none;
    none.upgrades = false;
    co_await with_proxy(&websocket_backend, none, [](address at, http::reverse_proxy&) -> task<> {
      EXPECT_TRUE(refused_with(co_await refusal_of_handshake(at, "/"), "501"));
    });
    const script lines = {
        {"HTTP/1.1 101 OK\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
         "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"}};
    co_await with_script(lines, [](address up, scripted_server&) -> task<> {
      http::proxy_options o;
      o.upstreams = {url_of(up, "")};
      co_await with_proxy_to(o, [](address at, http::reverse_proxy&) -> task<> {
        EXPECT_TRUE(refused_with(co_await refusal_of_handshake(at, "/"), "502"));
      });
    });
  });
}

}  // namespace
}  // namespace heddle::test
