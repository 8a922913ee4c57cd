// SPDX-License-Identifier: MIT
// Upstreams over TLS, which choose the version of HTTP by ALPN.
#include "heddle/web/websocket.hh"
#include "proxy/frames_upstream.hh"

#if HEDDLE_WITH_TLS
#include "heddle/http/proxy_protocol.hh"
#include "web/secure_server.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

using protocol_list = std::vector<std::string>;

protocol_list both_protocols() { return {"h2", "http/1.1"}; }

tls::server_context proxied_site(protocol_list offers = both_protocols()) {
  return tls::server_context(
      {.certificates = {tls_files::get().certificate("site")}, .alpn = std::move(offers)});
}

http::upstream_layer layer_offering(protocol_list offers) {
  const tls::client_context trusts(
      {.authorities = tls_files::get().authority(), .alpn = std::move(offers)});
  return [trusts](stream over, std::string host) {
    return tls::connect(std::move(over), std::move(host), trusts);
  };
}

/// Options of a proxy in front of an https upstream, which offers both versions.
http::proxy_options secure_to(address at) {
  http::proxy_options o;
  o.upstreams.push_back("https://" + at.to_string());
  o.secure_layer = layer_offering(both_protocols());
  o.secure_layer_http1 = layer_offering(protocol_list(1, "http/1.1"));
  return o;
}

task<> echo_socket(http::websocket on) {
  while (auto got = co_await on.receive()) co_await on.send(*got);
}

/// Says the version, or echoes over a WebSocket.
task<http::response> say_version(http::request& r) {
  if (r.path() == "/ws") {
    std::move_only_function<task<>(http::websocket)> talk = &echo_socket;
    co_return co_await http::hand_to_websocket(r, std::move(talk));
  }
  const std::string body = co_await r.text();
  co_return http::response(200).text("HTTP/" + std::to_string(r.head().major_version()) + " " +
                                     std::to_string(body.size()));
}

DRIVER_TEST(upstream_tls, "ALPN decides about the version, once for all who wait") {
  runtime rt(make());
  rt.run([]() -> task<> {
    for (const bool offers_h2 : {true, false}) {
      tls::server_context site =
          offers_h2 ? proxied_site() : proxied_site(protocol_list(1, "http/1.1"));
      co_await with_secure_server(say_version, std::move(site), [offers_h2](address up) -> task<> {
        http::proxy_options o = secure_to(up);
        co_await with_proxy_to(o, [offers_h2](address at, http::reverse_proxy& p) -> task<> {
          std::vector<std::string> got(20);
          scope s;
          for (std::string& each : got) s.spawn(get_beside(at, each));
          co_await s.join();
          for (const std::string& each : got)
            EXPECT_EQ(body_of(each), offers_h2 ? "HTTP/2 0" : "HTTP/1 0");
          if (offers_h2) EXPECT_EQ(p.counters(0).connections, 1u);
        });
      });
    }
  }());
}

// A record of TLS that the link takes in pieces leaves whole, however long that lasts.
HEDDLE_TEST(upstream_tls, "a request leaves whole over a link that holds up its last bytes") {
  sim_options slow;
  slow.link.bytes_per_second = 3'000;
  slow.socket_buffer_bytes = 4'096;
  runtime rt(std::make_unique<sim_driver>(slow));
  rt.run([]() -> task<> {
    co_await with_secure_server(
        say_version, proxied_site(protocol_list(1, "http/1.1")), [](address up) -> task<> {
          co_await with_proxy_to(secure_to(up), [](address at, http::reverse_proxy&) -> task<> {
            http::client web;
            http::outgoing what("GET", url_of(at, "/"));
            what.header("X-Long", std::string(5'000, 's'));
            const http::fetched answer = co_await web.send(std::move(what));
            EXPECT_EQ(answer.status(), 200);
            EXPECT_EQ(answer.body, "HTTP/1 0");
          });
        });
  }());
}

task<> echo_once(address at) {
  http::client web;
  http::websocket on = co_await web.open_websocket("ws://" + at.to_string() + "/ws");
  co_await on.send(std::string(100'000, 'w'));
  const auto back = co_await on.receive();
  EXPECT_TRUE(back.has_value() && back->data.size() == 100'000);
  co_await on.close();
}

DRIVER_TEST(upstream_tls, "an upgrade has a connection of HTTP/1.1, and others keep HTTP/2") {
  runtime rt(make());
  rt.run([]() -> task<> {
    co_await with_secure_server(say_version, proxied_site(), [](address up) -> task<> {
      http::proxy_options o = secure_to(up);
      co_await with_proxy_to(o, [](address at, http::reverse_proxy& p) -> task<> {
        EXPECT_EQ(body_of(co_await ask(at, "GET /")), "HTTP/2 0");
        co_await echo_once(at);
        EXPECT_EQ(body_of(co_await ask(at, "GET /")), "HTTP/2 0");
        EXPECT_EQ(p.counters(0).connections, 2u);
        EXPECT_EQ(p.counters(0).failures, 0u);
      });
    });
  }());
}

DRIVER_TEST(upstream_tls, "with http2.enabled off an upstream gets HTTP/1.1 alone") {
  runtime rt(make());
  rt.run([]() -> task<> {
    int checks = 0;
    const http::handler backend = [&checks](http::request& r) -> task<http::response> {
      if (r.path() == "/health") ++checks;
      EXPECT_EQ(r.head().major_version(), 1) << r.path();
      co_return http::response(200);
    };
    co_await with_secure_server(backend, proxied_site(), [&checks](address up) -> task<> {
      http::proxy_options o = secure_to(up);
      o.http2.enabled = false;
      o.health = {.path = "/health", .interval = 20ms};
      co_await with_proxy_to(o, [&checks](address at, http::reverse_proxy&) -> task<> {
        EXPECT_EQ(status_of(co_await ask(at, "GET /")), "200");
        EXPECT_TRUE(co_await wait_until([&checks] { return checks != 0; }));
      });
    });
  }());
}

/// Runs body(front, proxy, door) with a proxy in front of a door over TLS with both versions.
template <class Body>
task<> with_secure_frames(Body body) {
  tcp_listener raw = tcp_listener::listen(address::loopback(0));
  http::proxy_options o = secure_to(raw.local());
  listener door = tls::listen(std::move(raw), proxied_site());
  co_await with_proxy_to(o, [&body, &door](address at, http::reverse_proxy& p) -> task<> {
    co_await body(at, p, door);
  });
}

DRIVER_TEST(upstream_tls, "an upstream that wants HTTP/1.1 gets a connection without h2") {
  runtime rt(make());
  rt.run(with_secure_frames([](address at, http::reverse_proxy& p, listener door) -> task<> {
    std::string got, second;
    scope s;
    s.spawn(ask_beside(at, "POST /a", "Content-Length: 4\r\n", "four", got));
    http2_client peer = co_await take_frames(door);
    static_cast<void>(co_await peer.until("DATA 1 4 END"));
    put_reset(peer, 1, http2_error::http_1_1_required);
    co_await peer.send();
    stream plain = co_await with_timeout(door.accept(), 60s);
    const std::string head = co_await read_until(plain, "four");
    EXPECT_TRUE(head.starts_with("POST /a HTTP/1.1\r\n")) << head;
    const tls::session session = tls::session_of(plain).value();
    EXPECT_EQ(session.alpn, "http/1.1");
    const std::string_view ok = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nplain";
    co_await plain.write(ok);
    co_await s.join();
    EXPECT_EQ(body_of(got), "plain");
    EXPECT_EQ(p.counters(0).failures, 0u);
    s.spawn(get_beside(at, second));  // later requests use HTTP/1.1 from the start
    const std::string again = co_await read_until(plain, "\r\n\r\n");
    EXPECT_TRUE(again.starts_with("GET / HTTP/1.1\r\n")) << again;
    co_await plain.write(ok);
    co_await s.join();
    EXPECT_EQ(p.counters(0).connections, 2u);
  }));
}

DRIVER_TEST(upstream_tls, "connections with the PROXY protocol are of HTTP/1.1") {
  runtime rt(make());
  rt.run([]() -> task<> {
    tcp_listener raw = tcp_listener::listen(address::loopback(0));
    http::proxy_options o = secure_to(raw.local());
    o.proxy_protocol = 1;
    http::proxy_protocol_options heralds;
    heralds.trusted.push_back(network::parse("127.0.0.0/8").value());
    listener heralded = http::listen_for_proxies(raw, heralds);
    http::server web(&say_version);
    scope s;
    s.spawn(web.serve(tls::listen(std::move(heralded), proxied_site())));
    co_await with_proxy_to(o, [](address at, http::reverse_proxy& p) -> task<> {
      for (int i = 0; i < 2; ++i) EXPECT_EQ(body_of(co_await ask(at, "GET /")), "HTTP/1 0");
      EXPECT_EQ(p.counters(0).connections, 2u);
      EXPECT_EQ(p.counters(0).idle, 0u);
    });
    web.stop();
    web.stop();
    co_await s.join();
  }());
}

}  // namespace
}  // namespace heddle::test

#endif
