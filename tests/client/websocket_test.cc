// SPDX-License-Identifier: MIT
// WebSocket by the client, over HTTP/1.1 and as a stream of HTTP/2 (RFC 8441), against the server
// that the tests of room http use.
#include "client/http2_peer.hh"
#include "client/http2_tunnel.hh"
#include "heddle/http/base64.hh"
#include "heddle/http/detail/http2_client_head.hh"
#include "heddle/http/detail/sha1.hh"
#include "web/websocket_peer.hh"

namespace {

using namespace heddle;
using namespace heddle::test;

/// A stream of a connection of HTTP/2 behind its extended CONNECT; the status is 0 if it failed.
struct opened_tunnel {
  stream on;
  http::response_head head;
};

task<opened_tunnel> open_tunnel(address at, std::string path, std::string lines,
                                std::string protocol = "websocket") {
  auto link = std::make_shared<http::detail::http2_link>(
      co_await connect_to(at), std::make_shared<const http::client_options>());
  spawn(http::detail::http2_link::run(link));
  const bool settled = co_await link->settled(clock::now() + std::chrono::seconds(60));
  EXPECT_TRUE(settled && link->extended_connect());
  auto s = std::make_shared<http::detail::client_stream>();
  s->tunnel = true;
  s->permit = link->permits.try_acquire();
  auto tunnel = std::make_shared<http::detail::http2_client_tunnel>(link, s);
  std::string block;
  http::http2_request_kind kind;
  kind.protocol = protocol;
  http::put_http2_request(block, "GET " + path + " HTTP/1.1\r\nHost: x\r\n" + lines + "\r\n", kind);
  link->open(*s, block, false);
  while (!s->has_head && !s->trouble) co_await s->news.wait();
  opened_tunnel made;
  if (!s->has_head) co_return made;
  made.head = s->head;
  made.on = http::make_http2_stream(std::move(tunnel));
  link->leave();
  co_return made;
}

task<stream> open_frames(address at, std::string path) {
  opened_tunnel made = co_await open_tunnel(at, std::move(path), "Sec-WebSocket-Version: 13\r\n");
  EXPECT_EQ(made.head.status(), 200);
  co_return made.on;
}
task<http::websocket> open_websocket(address at, std::string target,
                                     http::websocket_options options) {
  http::client web(by_prior_knowledge());
  co_return co_await web.open_websocket("ws://" + at.to_string() + target, options);
}

}  // namespace

#include "web/websocket_bodies.hh"

namespace heddle::test {
namespace {

DRIVER_TEST(client_websocket, "a server that closes before it answers is told as that") {
  runtime rt(make());
  rt.run(with_script({{""}}, [](address at, scripted_server&) -> task<> {
    http::client web;
    try {
      static_cast<void>(co_await web.open_websocket("ws://" + at.to_string() + "/"));
      ADD_FAILURE() << "it opened";
    } catch (const std::system_error& e) {
      EXPECT_EQ(e.code(), std::errc::connection_reset) << e.what();
    }
  }));
}

/// Agrees to a handshake, and sends a message with the answer.
task<> agree_and_talk(tcp_listener door) {
  stream on = co_await door.accept();
  std::string asked;
  while (asked.find("\r\n\r\n") == asked.npos) asked += (co_await on.receive()).text();
  const std::string key = field_of(asked, "Sec-WebSocket-Key");
  const std::string accept =
      http::to_base64(http::sha1(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"));
  const std::string all =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Accept: " +
      accept + "\r\n\r\n" + wire(0x81, "early", false) + wire(0x82, "also", false);
  co_await on.write(std::string_view(all));
  while (received in = co_await on.receive()) in.release();
}

DRIVER_TEST(client_websocket, "frames that come with the 101 are messages") {
  runtime rt(make());
  rt.run([]() -> task<> {
    tcp_listener door = tcp_listener::listen(address::loopback(0));
    const address at = door.local();
    scope s;
    s.spawn(agree_and_talk(std::move(door)));
    http::client web;
    {
      http::websocket ws = co_await web.open_websocket("ws://" + at.to_string() + "/");
      const auto first = co_await ws.receive();
      const auto second = co_await ws.receive();
      EXPECT_TRUE(first && first->text && first->data == "early");
      EXPECT_TRUE(second && !second->text && second->data == "also");
    }
    co_await s.join();
  }());
}

task<http::response> echo_or_wait(http::request& r) {
  if (r.path() != "/wait") co_return co_await echo_websocket(r);
  co_await sleep_for(1s);
  co_return http::response(200).text("waited");
}

DRIVER_TEST(client_websocket, "one opens beside a pool that is full") {
  runtime rt(make());
  rt.run(with_server(echo_or_wait, {}, [](address at, http::server&) -> task<> {
    http::client_options options;
    options.per_origin_max = 1;
    http::client web(options);
    scope s;
    int answers = 0;
    s.spawn([](http::client& of, address to, int& count) -> task<> {
      EXPECT_EQ((co_await of.get(url_of(to, "/wait"))).body, "waited");
      ++count;
    }(web, at, answers));
    co_await yield();
    http::websocket ws = co_await web.open_websocket("ws://" + at.to_string() + "/");
    co_await ws.send("hello");
    const auto back = co_await ws.receive();
    EXPECT_TRUE(back && back->data == "hello");
    EXPECT_EQ(answers, 0);  // the pool is still full
    co_await ws.close();
    co_await s.join();
    EXPECT_EQ(answers, 1);
  }));
}

DRIVER_TEST(websocket_http2, "RFC 8441 5: the handshake, and what is refused") {
  with_echo(make(), [](address at, http::server& web) -> task<> {
    const std::string version = "Sec-WebSocket-Version: 13\r\n";
    {
      const opened_tunnel good =
          co_await open_tunnel(at, "/", version + "Sec-WebSocket-Protocol: a, c,b\r\n");
      EXPECT_EQ(good.head.status(), 200);
      EXPECT_EQ(good.head.value("Sec-WebSocket-Protocol"), "b");
      EXPECT_FALSE(good.head.has("Sec-WebSocket-Accept"));
    }
    const opened_tunnel old = co_await open_tunnel(at, "/", "Sec-WebSocket-Version: 12\r\n");
    EXPECT_EQ(old.head.status(), 426);
    EXPECT_EQ(old.head.value("Sec-WebSocket-Version"), "13");
    const opened_tunnel other = co_await open_tunnel(at, "/", version, "connect-udp");
    EXPECT_EQ(other.head.status(), 426);
    const opened_tunnel evil =
        co_await open_tunnel(at, "/", version + "Origin: https://evil.example.com\r\n");
    EXPECT_EQ(evil.head.status(), 403);
    // A request of HTTP/2 that is no CONNECT.
    http::client plain(by_prior_knowledge());
    http::outgoing asks("GET", url_of(at));
    asks.header("Sec-WebSocket-Version", "13");
    EXPECT_EQ((co_await plain.send(std::move(asks))).status(), 426);
    EXPECT_EQ(web.counters().errors, 0u);
  });
}

task<http::response> answer_page(http::request& r) {
  if (r.path() == "/parts") {
    http::body_writer out = co_await r.start(http::response(200));
    co_await out.write("a page");
    co_return out.done();
  }
  co_return http::response(r.path() == "/gone" ? 404 : 200).text("a page");
}

DRIVER_TEST(websocket_http2, "a page is no tunnel: a handler that opens none gives an error") {
  runtime rt(make());
  rt.run(with_server(answer_page, {}, [](address at, http::server&) -> task<> {
    for (const auto& [path, status] :
         {std::pair<std::string, int>("/", 501), {"/parts", 501}, {"/gone", 404}}) {
      const opened_tunnel got = co_await open_tunnel(at, path, "Sec-WebSocket-Version: 13\r\n");
      EXPECT_EQ(got.head.status(), status) << path;
    }
  }));
}

DRIVER_TEST(websocket_http2, "a server that gives a silent peer up ends the stream once") {
  with_echo(make(), [](address at, http::server&) -> task<> {
    http2_client c(co_await connect_to(at));
    c.headers(1,
              {{":method", "CONNECT"},
               {":protocol", "websocket"},
               {":scheme", "http"},
               {":path", "/ping"},
               {":authority", "x"},
               {"sec-websocket-version", "13"}},
              false);
    const std::string all = co_await c.until("RST_STREAM");
    EXPECT_TRUE(all.starts_with("HEADERS 1 :status=200\n")) << all;
    EXPECT_TRUE(all.ends_with("DATA 1 0 END\nRST_STREAM 1 0\n")) << all;
    EXPECT_EQ(count_of(all, "END"), 1u) << all;
  });
}

DRIVER_TEST(websocket_http2, "many share a connection with requests, and outlive the client") {
  with_echo(make(), [](address at, http::server& web) -> task<> {
    auto client = std::make_unique<http::client>(by_prior_knowledge());
    std::vector<http::websocket> all;
    for (int i = 0; i < 5; ++i)
      all.push_back(co_await client->open_websocket("ws://" + at.to_string() + "/handed"));
    EXPECT_EQ((co_await client->get(url_of(at))).status(), 426);
    EXPECT_EQ(client->counters().connections, 1u);
    EXPECT_EQ(web.counters().connections, 1u);
    client.reset();
    const std::string big(90'000, 'b');
    for (http::websocket& each : all) co_await each.send(big);
    for (http::websocket& each : all) {
      const auto back = co_await each.receive();
      EXPECT_TRUE(back && back->data == big);
      co_await each.close();
      EXPECT_EQ(each.ended().code, 1000);
    }
  });
}

DRIVER_TEST(websocket_http2, "a server without RFC 8441, or with HTTP/1.1 alone, gets RFC 6455") {
  runtime rt(make());
  rt.run([]() -> task<> {
    http::server_options old;
    old.http2 = false;
    co_await with_server(echo_websocket, old, [](address at, http::server&) -> task<> {
      http::client_options options;
      options.cookies = std::make_shared<http::cookie_jar>();
      http::client web(options);
      http::websocket ws = co_await web.open_websocket(url_of(at, "/handed"));
      co_await ws.send("over 1.1");
      const auto back = co_await ws.receive();
      EXPECT_TRUE(back && back->data == "over 1.1");
      co_await ws.close();
      const std::string said = co_await [](http::client& by, std::string url) -> task<std::string> {
        const auto got = co_await as_expected(by.open_websocket(std::move(url)));
        co_return got ? "" : got.error().message();
      }(web, "ftp://x/");
      EXPECT_EQ(said, std::make_error_code(std::errc::invalid_argument).message());
    });
    co_await with_http2_peer([](address at, listener door) -> task<> {
      http::client web(by_prior_knowledge());
      scope s;
      s.spawn([](http::client& by, std::string url) -> task<> {
        const auto got = co_await as_expected(by.open_websocket(std::move(url)));
        EXPECT_EQ(got.error(), std::errc::connection_refused);
      }(web, url_of(at)));
      http2_client peer = co_await take_peer(door);
      peer.setting(http::http2_setting::enable_push, 0);
      co_await peer.send();
      const stream plain = co_await door.accept();
      EXPECT_NE((co_await read_until(plain, "\r\n\r\n")).find("Upgrade: websocket"),
                std::string::npos);
      co_await plain.write("HTTP/1.1 404 No\r\n\r\n");
      co_await s.join();
    });
  }());
}

}  // namespace
}  // namespace heddle::test
