// SPDX-License-Identifier: MIT
// WebSocket, by the sections of RFC 6455: the handshake, frames, messages, control frames, closing.
#include "heddle/web/websocket.hh"

#include "heddle/http/base64.hh"
#include "heddle/http/sha1.hh"
#include "web/harness.hh"
#include "web/websocket_frames.hh"
#include "web/websocket_peer.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

using event = http::websocket_reader::event;
using http::websocket_opcode;

struct outcome {
  std::string messages;  // each in brackets, with t or b before it
  std::string control;   // kinds in order: p, o, c
  event last = event::more;
  std::uint16_t code = 0;
};

/// Reads bytes in pieces of this size.
outcome read_all_of(std::string bytes, std::size_t piece = 1000, bool from_client = true,
                    std::uint64_t most = 1000) {
  http::websocket_reader r({most, 8, from_client, false});
  outcome out;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    std::span<char> in(bytes.data() + at, std::min(piece, bytes.size() - at));
    while (!in.empty()) {
      const event e = r.read(in);
      if (e == event::more) break;
      out.last = e;
      if (e == event::message) {
        const bool text = r.is_text();
        out.messages += (text ? "t[" : "b[") + r.take_message() + "]";
      }
      if (e == event::ping) out.control += "p[" + std::string(r.control()) + "]";
      if (e == event::pong) out.control += "o";
      if (e == event::close) out.control += "c[" + std::string(r.control()) + "]";
      if (e == event::close || e == event::failed) out.code = r.code();
    }
  }
  return out;
}

std::uint16_t code_of(const std::string& bytes) {
  const outcome whole = read_all_of(bytes);
  const outcome split = read_all_of(bytes, 1);
  EXPECT_EQ(whole.code, split.code);
  EXPECT_EQ(whole.last, split.last);
  return whole.last == event::failed ? whole.code : 0;
}

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

HEDDLE_TEST(websocket_frames, "RFC 6455 5.2 and 5.7: heads, lengths, the examples") {
  EXPECT_EQ(wire(0x81, "Hello", false), std::string("\x81\x05Hello"));
  std::string masked("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", 11);
  EXPECT_EQ(read_all_of(masked).messages, "t[Hello]");
  EXPECT_EQ(read_all_of("\x01\x03Hel" + std::string("\x80\x02lo"), 1, false).messages, "t[Hello]");
  for (const std::size_t size : {0u, 1u, 7u, 8u, 9u, 125u, 126u, 127u, 999u}) {
    const std::string body(size, 'x');
    for (const std::size_t piece : {1u, 2u, 3u, 13u, 2000u}) {
      EXPECT_EQ(read_all_of(wire(0x82, body), piece).messages, "b[" + body + "]") << size;
      EXPECT_EQ(read_all_of(wire(0x82, body, false), piece, false).messages, "b[" + body + "]");
    }
  }
  EXPECT_EQ(http::make_websocket_head(websocket_opcode::text, true, false, 65536, false, 0).size,
            10u);
  EXPECT_EQ(code_of(wire(0xc1, "x")), 1002);  // RSV1 without an extension
  EXPECT_EQ(code_of(wire(0xa1, "x")), 1002);
  EXPECT_EQ(code_of(wire(0x91, "x")), 1002);
  for (const unsigned unknown : {3u, 4u, 5u, 6u, 7u, 11u, 12u, 13u, 14u, 15u})
    EXPECT_EQ(code_of(wire(0x80 | unknown, "")), 1002) << unknown;
  const std::string key("\1\2\3\4", 4);
  EXPECT_EQ(code_of(std::string("\x82\xfe\x00\x7d", 4) + key), 1002);  // 125 in two bytes
  EXPECT_EQ(code_of(std::string("\x82\xff\x00\x00\x00\x00\x00\x00\xff\xff", 10) + key), 1002);
  EXPECT_EQ(code_of(std::string("\x82\xff\x80\x00\x00\x00\x00\x00\x00\x00", 10) + key), 1002);
}

HEDDLE_TEST(websocket_frames, "RFC 6455 5.1 and 5.3: who masks, and how") {
  EXPECT_EQ(code_of(wire(0x81, "x", false)), 1002);
  EXPECT_EQ(read_all_of(wire(0x81, "x"), 1000, false).code, 1002);
  std::string text(100, 'a');
  const std::string plain = text;
  for (std::size_t from = 0; from != 9; ++from)  // piece by piece is the same as at once
    for (std::size_t size = 0; size + from <= 40; ++size) {
      std::string once = plain.substr(0, from + size);
      std::string twice = once;
      http::mask_websocket(once.data(), once.size(), 0xa1b2c3d4, 0);
      http::mask_websocket(twice.data(), from, 0xa1b2c3d4, 0);
      http::mask_websocket(twice.data() + from, size, 0xa1b2c3d4, from);
      EXPECT_EQ(once, twice);
    }
}

HEDDLE_TEST(websocket_frames, "RFC 6455 5.4: fragments, and control frames between them") {
  const std::string message =
      wire(0x01, "He") + wire(0x89, "?") + wire(0x00, "l") + wire(0x8a, "") + wire(0x80, "lo");
  for (const std::size_t piece : {1u, 5u, 1000u}) {
    EXPECT_EQ(read_all_of(message, piece).messages, "t[Hello]");
    EXPECT_EQ(read_all_of(message, piece).control, "p[?]o");
  }
  EXPECT_EQ(code_of(wire(0x80, "x")), 1002);
  EXPECT_EQ(code_of(wire(0x00, "x")), 1002);
  EXPECT_EQ(code_of(wire(0x01, "x") + wire(0x81, "y")), 1002);
  EXPECT_EQ(read_all_of(wire(0x02, "") + wire(0x80, "")).messages, "b[]");
  std::string many = wire(0x01, "");
  for (int i = 0; i != 8; ++i) many += wire(0x00, "");
  EXPECT_EQ(code_of(many), 1009);  // more than eight
}

HEDDLE_TEST(websocket_frames, "RFC 6455 5.5: control frames are short and whole") {
  EXPECT_EQ(code_of(wire(0x09, "")), 1002);
  EXPECT_EQ(code_of(wire(0x89, std::string(126, 'x'))), 1002);
  EXPECT_EQ(read_all_of(wire(0x89, std::string(125, 'x'))).control,
            "p[" + std::string(125, 'x') + "]");
}

HEDDLE_TEST(websocket_frames, "RFC 6455 5.5.1 and 7.4: close frames and their codes") {
  const auto close = [](unsigned code, std::string reason = "") {
    return wire(0x88, std::string{static_cast<char>(code >> 8), static_cast<char>(code)} + reason);
  };
  EXPECT_EQ(read_all_of(wire(0x88, "")).code, 1005);
  EXPECT_EQ(read_all_of(close(1000, "bye") + wire(0x81, "late")).control, "c[bye]");
  EXPECT_EQ(read_all_of(close(1000) + wire(0x81, "late")).messages, "");
  EXPECT_EQ(code_of(wire(0x88, "x")), 1002);
  for (const unsigned good : {1000u, 1001u, 1003u, 1007u, 1011u, 1014u, 3000u, 4999u})
    EXPECT_EQ(read_all_of(close(good)).control, "c[]") << good;
  for (const unsigned bad : {0u, 999u, 1004u, 1005u, 1006u, 1015u, 1016u, 2999u, 5000u})
    EXPECT_EQ(code_of(close(bad)), 1002) << bad;
  EXPECT_EQ(code_of(close(1000, "\xff")), 1007);
}

HEDDLE_TEST(websocket_frames,
            "RFC 6455 5.6 and 8.1: text is UTF-8, found at the first wrong byte") {
  for (const char* good : {"", "\u00e9\u20ac\U0001f600", "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf"})
    for (const std::size_t piece : {1u, 1000u})
      EXPECT_EQ(read_all_of(wire(0x81, good), piece).messages, "t[" + std::string(good) + "]");
  for (const char* bad : {"\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8",
                          "\x80", "a\xe2\x82", "\xe2(\xa1", "12345678\xff"})
    EXPECT_EQ(code_of(wire(0x81, bad)), 1007) << bad;
  // A character may be split between fragments; a wrong one fails before the message is whole.
  EXPECT_EQ(read_all_of(wire(0x01, "\xe2\x82") + wire(0x80, "\xac")).messages, "t[\u20ac]");
  EXPECT_EQ(code_of(wire(0x01, "\xce\xba\xed\xa0\x80")), 1007);
  EXPECT_EQ(read_all_of(wire(0x82, "\xff")).messages, "b[\xff]");
}

HEDDLE_TEST(websocket_frames, "RFC 6455 10.4: no message beyond the limit, in one frame or many") {
  EXPECT_EQ(read_all_of(wire(0x82, std::string(1000, 'x'))).messages.size(), 1003u);
  EXPECT_EQ(code_of(wire(0x82, std::string(1001, 'x'))), 1009);
  EXPECT_EQ(code_of(wire(0x02, std::string(600, 'x')) + wire(0x80, std::string(401, 'x'))), 1009);
}

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
