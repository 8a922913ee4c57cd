// SPDX-License-Identifier: MIT
// close() while the receiving task is between two messages: both want to read, and one does. A
// message is right or does not come.
#include <array>

#include "heddle/http/detail/websocket_accept.hh"
#include "web/websocket_peer.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

std::string turn_text() {
  std::string text(300'000, '\0');
  for (std::size_t i = 0; i < text.size(); ++i)
    text[i] = static_cast<char>('a' + (i * 7 + i / 251) % 26);
  return text;
}

task<> send_many(http::websocket ws) {
  const std::string text = turn_text();
  for (int i = 0; i < 100; ++i) {
    const auto sent = co_await as_expected(ws.send(text));
    if (!sent) break;
  }
  while (co_await ws.receive()) {
  }
}

task<http::response> answer_many(http::request& r) {
  co_return co_await http::hand_to_websocket(r, &send_many);
}

task<> receive_with_pauses(http::websocket& ws, nanoseconds pause, int& whole) {
  const std::string text = turn_text();
  while (auto m = co_await ws.receive()) {
    EXPECT_TRUE(m->data == text) << m->data.size() << " bytes are wrong";
    ++whole;
    co_await sleep_for(pause);
  }
}

}  // namespace

HEDDLE_TEST(websocket_turn, "close() and a task between two messages do not read side by side") {
  HEDDLE_NEEDS_TCP();
  int whole = 0;
  for (std::uint64_t k = 1; k <= 5 && !::testing::Test::HasFailure(); ++k) {
    SCOPED_TRACE("seed " + std::to_string(k));
    sim_options o{.seed = k};
    o.link.latency = 1ms;
    o.link.jitter = 1ms;
    runtime rt(std::make_unique<sim_driver>(o), one_worker());
    rt.run(with_server(answer_many, {}, [&](address at, http::server&) -> task<> {
      stream conn = co_await tcp_connect(at);
      http::websocket ws = co_await http::connect_websocket(std::move(conn), "localhost", "/");
      scope s;
      s.spawn(receive_with_pauses(ws, 5ms + k * 100us, whole));
      co_await sleep_for(20ms);
      co_await ws.close();
      s.cancel();
      co_await s.settled();
    }));
  }
  EXPECT_GT(whole, 5);
}

namespace {

constexpr int short_messages = 99;

task<> send_short_ones(http::websocket ws) {
  for (int i = 0; i < short_messages; ++i) co_await ws.send("short");
  co_await ws.close();
}

task<http::response> answer_short_ones(http::request& r) {
  co_return co_await http::hand_to_websocket(r, &send_short_ones);
}

task<> count_messages(http::websocket& ws, int& count) {
  while (auto m = co_await ws.receive()) ++count;
}

}  // namespace

HEDDLE_TEST(websocket_turn, "tasks that receive in a loop take turns") {
  HEDDLE_NEEDS_TCP();
  std::array<int, 3> counts{};
  runtime rt(std::make_unique<sim_driver>(sim_options{.seed = 1}), one_worker());
  rt.run(with_server(answer_short_ones, {}, [&](address at, http::server&) -> task<> {
    stream conn = co_await tcp_connect(at);
    http::websocket ws = co_await http::connect_websocket(std::move(conn), "localhost", "/");
    scope s;
    for (int& count : counts) s.spawn(count_messages(ws, count));
    co_await s.join();
  }));
  // The first task reads the messages that come before the other two tasks have begun.
  for (const int count : counts) EXPECT_NEAR(count, short_messages / 3, 3);
}

namespace {

/// Takes the handshake's bytes and all that follows, and says nothing.
task<> take_silently(tcp_listener& door) {
  tcp_stream conn = co_await door.accept();
  const std::string head = co_await read_until(conn, "\r\n\r\n");
  const std::string key = field_of(head, "Sec-WebSocket-Key");
  co_await conn.write(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
      "Connection: Upgrade\r\nSec-WebSocket-Accept: " +
      http::websocket_accept_of(key) + "\r\n\r\n");
  static_cast<void>(co_await read_all(conn));
}

task<> close_to_a_silent_peer() {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  scope s;
  s.spawn(take_silently(door));
  stream conn = co_await tcp_connect(door.local());
  http::websocket_options options{.close_timeout = 1s};
  http::websocket ws = co_await http::connect_websocket(std::move(conn), "localhost", "/", options);
  const auto closed = co_await as_expected(with_timeout(ws.close(), 100ms));
  EXPECT_FALSE(closed);
  EXPECT_EQ(ws.ended().code, 0);
  co_await ws.close();
  EXPECT_EQ(ws.ended().code, 1006);
  EXPECT_EQ(ws.ended().reason, "no close frame came");
  co_await s.join();
}

}  // namespace

HEDDLE_TEST(websocket_turn, "an end is known when it has come, and is 1006 without a close frame") {
  HEDDLE_NEEDS_TCP();
  runtime rt(std::make_unique<sim_driver>(sim_options{.seed = 1}), one_worker());
  rt.run(close_to_a_silent_peer());
}
