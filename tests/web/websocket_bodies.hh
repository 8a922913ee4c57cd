// SPDX-License-Identifier: MIT
// Tests of WebSocket that are the same over every version of HTTP. The file that includes this
// defines, before it, in an unnamed namespace, how a client begins:
//   task<stream> open_frames(address at, std::string path);   // behind the handshake
//   task<http::websocket> open_websocket(address at, std::string target,
//                                        http::websocket_options options);
#pragma once

#include <string>

#include "support/wait_until.hh"
#include "web/harness.hh"
#include "web/websocket_peer.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

/// What comes until the server closes, after these bytes.
task<std::string> exchange_frames(address at, std::string bytes, std::string path = "/") {
  stream conn = co_await open_frames(at, std::move(path));
  co_await conn.write(std::string_view(bytes));
  co_return co_await read_all(conn);
}

DRIVER_TEST(websocket, "RFC 6455 5.4 to 5.6 and 6: messages, pings and their payloads come back") {
  with_echo(make(), [](address at, http::server&) -> task<> {
    const std::string close = wire(0x88,
                                   "\x03\xe8"
                                   "bye");
    const std::string sent = wire(0x81, "one") + wire(0x89, "ping") + wire(0x02, "t") +
                             wire(0x8a, "?") + wire(0x80, "wo") + close;
    const std::string got = co_await exchange_frames(at, sent);
    EXPECT_EQ(got, wire(0x81, "one", false) + wire(0x8a, "ping", false) + wire(0x82, "two", false) +
                       wire(0x88, "\x03\xe8", false));
    const std::string big(90'000, 'b');
    EXPECT_EQ(co_await exchange_frames(at, wire(0x82, big) + close),
              wire(0x82, big, false) + wire(0x88, "\x03\xe8", false));
  });
}

DRIVER_TEST(websocket, "RFC 6455 7.1.7 and 7.4.1: a broken rule is told by its code, then closed") {
  with_echo(make(), [](address at, http::server&) -> task<> {
    for (const auto& [bytes, code] :
         {std::pair(wire(0x81, "x", false), 1002), std::pair(wire(0x81, "\xff"), 1007),
          std::pair(wire(0x82, std::string(100'001, 'x')), 1009)}) {
      const std::string got = co_await exchange_frames(at, bytes);
      EXPECT_EQ(got.size() > 4 ? static_cast<unsigned char>(got[0]) : 0, 0x88) << got;
      EXPECT_EQ(got.size() > 4
                    ? (static_cast<unsigned char>(got[2]) << 8 | static_cast<unsigned char>(got[3]))
                    : 0,
                code);
    }
    // Without a close frame there is none back.
    stream conn = co_await open_frames(at, "/");
    conn.shutdown_write();
    EXPECT_EQ(co_await read_all(conn), "");
  });
}

DRIVER_TEST(websocket, "RFC 6455 5.5.2: a silent peer is pinged, and gone if it does not answer") {
  with_echo(make(), [](address at, http::server&) -> task<> {
    stream conn = co_await open_frames(at, "/ping");
    const std::string ping = wire(0x89, "", false);
    EXPECT_EQ(co_await read_until(conn, ping), ping);
    co_await conn.write(std::string_view(wire(0x8a, "")));
    EXPECT_EQ(co_await read_until(conn, ping), ping);
    const std::string rest = co_await read_all(conn);
    EXPECT_TRUE(rest.empty() || rest.starts_with('<')) << rest;
  });
}

DRIVER_TEST(websocket, "RFC 6455 7.1 and 7.3: a server that stops, or that has enough, says so") {
  with_echo(make(), [](address at, http::server& web) -> task<> {
    const std::string code("\x0f\xa1", 2);
    const std::string told = co_await exchange_frames(at, wire(0x81, "close") + wire(0x88, code));
    EXPECT_EQ(told, wire(0x88, code + "as you like", false));
    // A client that does not answer a close frame is left after a while.
    EXPECT_EQ(co_await exchange_frames(at, wire(0x81, "close")),
              wire(0x88, code + "as you like", false));
    stream conn = co_await open_frames(at, "/");
    web.stop();
    const std::string stop = wire(0x88, std::string("\x03\xe9", 2) + "the server stops", false);
    EXPECT_EQ(co_await read_until(conn, "stops"), stop);
    co_await conn.write(std::string_view(wire(0x88, std::string("\x03\xe9", 2))));
    EXPECT_EQ(co_await read_all(conn), "");
  });
}

DRIVER_TEST(websocket, "RFC 6455 7.1.1: frames behind a close frame do not put off the end") {
  with_echo(make(), [](address at, http::server&) -> task<> {
    stream conn = co_await open_frames(at, "/");
    co_await conn.write(std::string_view(wire(0x81, "close")));
    const std::string more = wire(0x81, "more");
    int sent = 0;  // one in 20 ms, where the server waits for 200 ms
    while (sent != 100 && co_await as_expected(conn.write(std::string_view(more)))) {
      ++sent;
      co_await sleep_for(20ms);
    }
    EXPECT_LT(sent, 100);
  });
}

DRIVER_TEST(websocket, "RFC 6455 4.1 and 5.3: our client and our server understand each other") {
  with_echo(make(), [](address at, http::server&) -> task<> {
    http::websocket_options options;
    options.protocols = {"x", "c"};
    http::websocket ws = co_await open_websocket(at, "/chat?room=1", options);
    EXPECT_EQ(ws.protocol(), "c");
    for (const std::size_t size : {0u, 1u, 125u, 126u, 65'535u, 65'536u, 99'999u}) {
      const std::string data(size, 'd');
      co_await ws.send(data);
      const auto text = co_await ws.receive();
      EXPECT_TRUE(text && text->text && text->data == data) << size;
      co_await ws.send_binary(data);
      const auto binary = co_await ws.receive();
      EXPECT_TRUE(binary && !binary->text && binary->data == data) << size;
    }
    EXPECT_EQ((co_await as_expected(ws.send("\xff"))).error(), std::errc::invalid_argument);
    EXPECT_EQ((co_await as_expected(ws.close(1005))).error(), std::errc::invalid_argument);
    co_await ws.close(1000, "done");
    EXPECT_EQ(ws.ended().code, 1000);
    EXPECT_FALSE(ws.ended().by_peer);
    EXPECT_FALSE(co_await ws.receive());
    EXPECT_EQ((co_await as_expected(ws.send("late"))).error(), std::errc::broken_pipe);
    http::websocket other = co_await open_websocket(at, "/", options);
    co_await other.send("close");
    EXPECT_FALSE(co_await other.receive());
    EXPECT_EQ(other.ended().code, 4001);
    EXPECT_EQ(other.ended().reason, "as you like");
    EXPECT_TRUE(other.ended().by_peer);
  });
}

DRIVER_TEST(websocket, "several tasks send while one receives; a cancelled receive loses nothing") {
  with_echo(make(), [](address at, http::server&) -> task<> {
    http::websocket ws = co_await open_websocket(at, "/", {});
    EXPECT_EQ((co_await as_expected(with_timeout(ws.receive(), 5ms))).error(),
              std::errc::timed_out);
    scope s;
    for (int i = 0; i != 20; ++i)
      s.spawn([](http::websocket& to, int number) -> task<> {
        co_await to.send(std::string(static_cast<std::size_t>(number) * 300, 'a'));
      }(ws, i));
    std::size_t bytes = 0;
    for (int i = 0; i != 20; ++i) bytes += (co_await ws.receive())->data.size();
    EXPECT_EQ(bytes, 300u * 190u);
    co_await s.join();
    // One task waits in receive() while another closes.
    s.spawn([](http::websocket& of) -> task<> { EXPECT_FALSE(co_await of.receive()); }(ws));
    co_await yield();
    co_await ws.close();
    co_await s.join();
    EXPECT_EQ(ws.ended().code, 1000);
  });
}

DRIVER_TEST(websocket, "a handler that ends first ends the connection, without a close frame") {
  with_echo(make(), [](address at, http::server& web) -> task<> {
    for (const char* const path : {"/ends", "/handed-ends"}) {
      http::websocket ws = co_await open_websocket(at, path, {});
      const auto bye = co_await ws.receive();
      EXPECT_TRUE(bye && bye->data == "bye") << path;
      EXPECT_FALSE(co_await with_timeout(ws.receive(), 10s)) << path;
      EXPECT_EQ(ws.ended().code, 1006) << path;
    }
    EXPECT_EQ(web.counters().errors, 0u);
  });
}

DRIVER_TEST(websocket, "close() lets a task that receives go on, and one that comes later too") {
  with_echo(make(), [](address at, http::server&) -> task<> {
    http::websocket ws = co_await open_websocket(at, "/", {});
    const auto receiver = [](http::websocket& of, int& whole) -> task<> {
      while (auto m = co_await of.receive()) {
        EXPECT_TRUE(m->data == std::string(20'000, 'r')) << m->data.size();
        ++whole;
        co_await yield();  // close() begins to read here
      }
    };
    int whole = 0;
    scope s;
    s.spawn(receiver(ws, whole));
    for (int i = 0; i != 20; ++i) co_await ws.send(std::string(20'000, 'r'));
    EXPECT_TRUE(co_await wait_until([&] { return whole > 0; }));
    co_await ws.close();
    co_await s.join();
    EXPECT_EQ(ws.ended().code, 1000);
  });
}

DRIVER_TEST(websocket, "a function that got it from its request ends it by its end, or throws") {
  with_echo(make(), [](address at, http::server& web) -> task<> {
    const std::string code("\x03\xe8", 2);
    const std::string frames = wire(0x81, "one") + wire(0x82, "two") + wire(0x88, code);
    EXPECT_EQ(co_await exchange_frames(at, frames, "/handed"),
              wire(0x81, "one", false) + wire(0x82, "two", false) + wire(0x88, code, false));
    EXPECT_EQ(web.counters().errors, 0u);
    static_cast<void>(co_await exchange_frames(at, wire(0x81, "throw"), "/handed"));
    EXPECT_EQ(web.counters().errors, 1u);
    // It is closed with the others when the server stops.
    stream conn = co_await open_frames(at, "/handed");
    web.stop();
    EXPECT_NE((co_await read_until(conn, "stops")).find("the server stops"), std::string::npos);
  });
}

/// A peer that writes all that it has before it reads. `before` is behind the first message, where
/// the server's own bytes have no room.
task<> write_before_reading(stream conn, std::string before) {
  const std::string message = wire(0x82, std::string(60'000, 'm'));
  std::string all = message + before;
  for (int i = 0; i != 100; ++i) all += message;
  const auto written = co_await as_expected(with_timeout(conn.write(std::string_view(all)), 20s));
  EXPECT_TRUE(written) << "the server reads nothing: " << written.error().message();
}

/// The frames behind the flood, until this text has come.
task<std::string> frames_behind_flood(stream conn, std::string end) {
  std::string got = co_await read_until(conn, end);
  const std::string flooded = wire(0x82, flood(), false);
  EXPECT_TRUE(got.starts_with(flooded)) << got.size();
  got.erase(0, flooded.size());
  co_return got;
}

DRIVER_TEST(websocket, "RFC 6455 5.5: a ping behind messages that wait does not stop receive()") {
  with_echo(make(), [](address at, http::server&) -> task<> {
    stream conn = co_await open_frames(at, "/flood");
    const std::string code("\x03\xe8", 2);
    co_await write_before_reading(conn, wire(0x89, "p1") + wire(0x89, "p2") + wire(0x89, "p3"));
    // Only the latest one is answered, and one whose answer waited for room already.
    const std::string got = co_await frames_behind_flood(conn, "p3");
    const std::string last = wire(0x8a, "p3", false);
    EXPECT_TRUE(got == last || got == wire(0x8a, "p1", false) + last ||
                got == wire(0x8a, "p2", false) + last)
        << got;
    co_await conn.write(std::string_view(wire(0x88, code)));
    EXPECT_EQ(co_await read_until(conn, code), wire(0x88, code, false));
  });
}

DRIVER_TEST(websocket, "RFC 6455 7.1: a close frame behind messages that wait does not stop it") {
  with_echo(make(), [](address at, http::server& web) -> task<> {
    {
      stream conn = co_await open_frames(at, "/flood-closes");
      co_await write_before_reading(conn, "");
      const std::string close = wire(0x88, std::string("\x0f\xa1", 2) + "enough", false);
      EXPECT_EQ(co_await frames_behind_flood(conn, "enough"), close);
      co_await conn.write(std::string_view(wire(0x88, std::string("\x0f\xa1", 2))));
      EXPECT_EQ(co_await read_all(conn), "");
    }
    {  // a message that breaks a rule
      stream conn = co_await open_frames(at, "/flood");
      co_await write_before_reading(conn, wire(0x83, "no opcode"));
      const std::string got = co_await frames_behind_flood(conn, "\x03\xea");
      EXPECT_EQ(got.front(), '\x88');
    }
    stream conn = co_await open_frames(at, "/flood");
    co_await conn.write(std::string_view(wire(0x82, "begin")));
    EXPECT_TRUE(co_await conn.readable());
    web.stop();
    co_await write_before_reading(conn, "");
    const std::string end = co_await frames_behind_flood(conn, "the server stops");
    EXPECT_TRUE(end.ends_with(std::string("\x03\xe9", 2) + "the server stops")) << end;
    co_await conn.write(std::string_view(wire(0x88, std::string("\x03\xe9", 2))));
    EXPECT_EQ(co_await read_all(conn), "");
  });
}

}  // namespace
}  // namespace heddle::test
