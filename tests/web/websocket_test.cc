// SPDX-License-Identifier: MIT
// WebSocket, by the sections of RFC 6455: the handshake, frames, messages, control frames, closing.
#include "heddle/web/websocket.hh"

#include "heddle/http/base64.hh"
#include "heddle/http/detail/sha1.hh"
#include "web/harness.hh"
#include "web/websocket_peer.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

/// The status of a handshake from this page on this host.
task<std::string> status_of_origin(address at, std::string host, std::string origin) {
  co_return status_of(co_await talk(
      at,
      "GET /ends HTTP/1.1\r\nHost: " + host + "\r\nOrigin: " + origin +
          "\r\nUpgrade: websocket\r\nConnection: Upgrade, close\r\nSec-WebSocket-Version: 13\r\n"
          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nContent-Length: 0\r\n\r\n"));
}

std::string hello(std::string path = "/", std::string more = "") {
  return "GET " + path +
         " HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n" +
         more + "\r\n";
}

/// The answer of the server to a head, and the connection.
task<std::string> greet(stream conn, std::string head) {
  co_await conn.write(std::string_view(head));
  co_return co_await read_until(conn, "\r\n\r\n");
}

/// A connection behind its handshake.
task<stream> open_frames(address at, std::string path) {
  stream conn = co_await connect_to(at);
  static_cast<void>(co_await greet(conn, hello(std::move(path))));
  co_return conn;
}
task<http::websocket> open_websocket(address at, std::string target,
                                     http::websocket_options options) {
  co_return co_await http::connect_websocket(co_await connect_to(at), "x", std::move(target),
                                             options);
}

}  // namespace

#include "web/websocket_bodies.hh"

HEDDLE_TEST(websocket_handshake, "SHA-1 and Base64 give what their standards' examples do") {
  EXPECT_EQ(http::to_base64(http::sha1("abc")), "qZk+NkcGgWq6PiVxeFDCbJzQ2J0=");
  EXPECT_EQ(http::to_base64(http::sha1("")), "2jmj7l5rSw0yVb/vlWAYkK/YBwk=");
  EXPECT_EQ(http::to_base64(http::sha1(std::string(200, 'a'))), "5hz//g2RlaUl/GzwbKLXcRnCSkA=");
  for (const char* text : {"", "f", "fo", "foo", "foob", "fooba", "foobar"})
    EXPECT_EQ(http::from_base64(http::to_base64(text)), text);
  EXPECT_EQ(http::to_base64("fooba"), "Zm9vYmE=");
  for (const char* bad : {"Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zg==Zg==", "Zm9v\n"})
    EXPECT_FALSE(http::from_base64(bad)) << bad;
}

DRIVER_TEST(websocket, "RFC 6454 4: a port that the scheme implies makes no other origin") {
  with_echo(make(), [](address at, http::server&) -> task<> {
    const std::tuple<const char*, const char*, const char*> asked[] = {
        {"h", "https://h", "101"},
        {"h:443", "https://h", "101"},
        {"h", "https://h:443", "101"},
        {"h:80", "http://h", "101"},
        {"[::1]:80", "http://[::1]", "101"},
        {"h:443", "http://h", "403"},
        {"h:80", "https://h", "403"},
        {"h:8443", "https://h", "403"},
        {"h", "https://h:8443", "403"},
        {"h", "http://evil", "403"},
        {"x", "https://friend.example.org:443", "101"}};
    for (const auto& [host, origin, status] : asked)
      EXPECT_EQ(co_await status_of_origin(at, host, origin), status) << host << " " << origin;
  });
}

DRIVER_TEST(websocket, "RFC 6455 1.3 and 4.2: the handshake, and what is refused") {
  with_echo(make(), [](address at, http::server&) -> task<> {
    {
      stream conn = co_await connect_to(at);
      const std::string answer =
          co_await greet(conn, hello("/", "Sec-WebSocket-Protocol: a, c,b\r\n"));
      EXPECT_EQ(status_of(answer), "101");
      EXPECT_EQ(field_of(answer, "Sec-WebSocket-Accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
      EXPECT_EQ(field_of(answer, "Sec-WebSocket-Protocol"), "b");
      EXPECT_EQ(field_of(answer, "Sec-WebSocket-Extensions"), "");
    }
    std::string old = hello();
    old.replace(old.find(": 13"), 4, ": 12");
    stream outdated = co_await connect_to(at);
    const std::string other = co_await greet(outdated, old);
    EXPECT_EQ(status_of(other), "426");
    EXPECT_EQ(field_of(other, "Sec-WebSocket-Version"), "13");
    EXPECT_EQ(status_of(co_await ask(at, "GET /")), "426");
    std::string short_key = hello();
    short_key.replace(short_key.find("dGhl"), 4, "");
    std::string post = hello();
    post.replace(0, 3, "POST");
    for (std::string each :
         {short_key, post, hello("/", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n")}) {
      stream conn = co_await connect_to(at);
      EXPECT_EQ(status_of(co_await greet(conn, each)), "400") << each;
    }
    for (const auto& [origin, status] :
         {std::pair("http://x", "101"), std::pair("https://friend.example.org", "101"),
          std::pair("https://evil.example.com", "403"), std::pair("null", "403"),
          std::pair("http://x.evil.example.com", "403")}) {
      stream conn = co_await connect_to(at);
      EXPECT_EQ(
          status_of(co_await greet(conn, hello("/", "Origin: " + std::string(origin) + "\r\n"))),
          status)
          << origin;
    }
  });
}

DRIVER_TEST(websocket, "RFC 6455 4.1: a client believes no wrong answer") {
  runtime rt(make());
  rt.run([]() -> task<> {
    auto [door, at] = open_door();
    const std::string good =
        "HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: ";
    for (const std::string& answer :
         {std::string("HTTP/1.1 200 OK\r\n\r\n"), good + "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
          std::string("nonsense\r\n\r\n"), std::string(20'000, 'x'), std::string("HTTP/1.1 101")}) {
      scope s;
      s.spawn([](listener& from, std::string bytes) -> task<> {
        stream conn = co_await from.accept();
        static_cast<void>(co_await read_until(conn, "\r\n\r\n"));
        static_cast<void>(co_await as_expected(conn.write(std::string_view(bytes))));
      }(door, answer));
      const auto got =
          co_await as_expected(http::connect_websocket(co_await connect_to(at), "x", "/"));
      EXPECT_FALSE(got) << answer;
      co_await s.join();
    }
    const auto bad = co_await as_expected(http::connect_websocket(stream(), "x\r\nY: z", "/"));
    EXPECT_EQ(bad.error(), std::errc::invalid_argument);
  }());
}

DRIVER_TEST(websocket, "it goes on when its request is gone, with what has come already") {
  with_echo(make(), [](address at, http::server& web) -> task<> {
    const std::string code("\x03\xe8", 2);
    const std::string frames = wire(0x81, "one") + wire(0x82, "two") + wire(0x88, code);
    const std::string got = co_await talk(at, hello("/handed") + frames);
    EXPECT_EQ(body_of(got),
              wire(0x81, "one", false) + wire(0x82, "two", false) + wire(0x88, code, false));
    EXPECT_EQ(status_of(co_await ask(at, "GET /handed")), "426");
    EXPECT_EQ(web.counters().errors, 0u);
    static_cast<void>(co_await exchange_frames(at, wire(0x81, "throw"), "/handed"));
    EXPECT_EQ(web.counters().errors, 1u);
    EXPECT_EQ(web.counters().open, 0u);
    // It is closed with the others when the server stops.
    stream conn = co_await connect_to(at);
    static_cast<void>(co_await greet(conn, hello("/handed")));
    web.stop();
    EXPECT_NE((co_await read_until(conn, "stops")).find("the server stops"), std::string::npos);
  });
}

namespace {

task<http::response> polls(http::request& r) {
  co_return co_await http::hand_to_websocket(r, [](http::websocket ws) -> task<> {
    auto sends = [&]() -> task<> { co_await ws.send_binary(std::string(12'000'000, 'a')); };
    auto receives = [&]() -> task<> {
      for (;;) {
        auto m = co_await as_expected(with_timeout(ws.receive(), 20ms));
        if (m && !*m) break;
        if (!m && m.error() != std::errc::timed_out) break;
      }
    };
    co_await all(sends(), receives());
  });
}

}  // namespace

DRIVER_TEST(websocket, "a receive() that gives up cuts no pong") {
  runtime rt(make());
  rt.run(with_server(polls, {}, [](address at, http::server& web) -> task<> {
    stream conn = co_await connect_to(at);
    co_await conn.write(
        "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n");
    co_await sleep_for(50ms);
    co_await conn.write(std::string("\x89\x80\0\0\0\0", 6));  // a ping; nothing is read meanwhile
    co_await sleep_for(200ms);
    std::size_t bytes = 0;
    while (bytes < 12'000'000) {
      auto in = co_await as_expected(with_timeout(conn.receive(), 20s));
      if (!in || in->empty()) break;
      bytes += in->size();
    }
    EXPECT_GT(bytes, 12'000'000u);
    EXPECT_EQ(web.counters().errors, 0u);
    conn.close();
  }));
}

namespace {

task<http::response> echoes(http::request& r) {
  co_return co_await http::hand_to_websocket(r, [](http::websocket ws) -> task<> {
    while (auto m = co_await ws.receive()) co_await ws.send(*m);
  });
}

}  // namespace

DRIVER_TEST(websocket, "a message that comes while the server stops ends no loop by an exception") {
  runtime rt(make());
  rt.run(with_server(echoes, {}, [](address at, http::server& web) -> task<> {
    stream conn = co_await connect_to(at);
    co_await conn.write(
        "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n");
    static_cast<void>(co_await read_until(conn, "\r\n\r\n"));
    web.stop();
    co_await sleep_for(20ms);
    co_await conn.write(std::string("\x81\x81\0\0\0\0a", 7));  // it was on its way
    co_await sleep_for(20ms);
    co_await conn.write(std::string("\x88\x82\0\0\0\0\x03\xe9", 8));
    static_cast<void>(co_await read_all(conn));
    EXPECT_EQ(web.counters().errors, 0u);
  }));
}
