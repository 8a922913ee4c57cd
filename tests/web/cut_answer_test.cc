// SPDX-License-Identifier: MIT
// An answer whose write was cut: nothing is written behind it, and the client sees a reset. A slow
// client that takes bytes all the time is not cut.
#include "support/wait_until.hh"
#include "web/http2_client.hh"
#include "web/websocket_peer.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t cut_body_bytes = 200'000;

task<http::response> answer_large(http::request& r) {
  if (r.path() == "/endless") {
    http::body_writer out = co_await r.start(http::response(200));
    co_await out.write("begun");
    co_await sleep_for(1h);
    co_return out.done();
  }
  co_return http::response(200).text(std::string(cut_body_bytes, 'a'));
}

std::unique_ptr<driver> small_world(std::uint64_t bytes_per_second = 0) {
  sim_options o;
  o.link = {.latency = 1ms, .bytes_per_second = bytes_per_second};
  o.socket_buffer_bytes = 16 * 1024;
  return std::make_unique<sim_driver>(o);
}

http::server_options impatient() {
  http::server_options o;
  o.write_timeout = 2s;
  return o;
}

/// Everything until the end, read from the moment on when the server has given up, so that there is
/// room for what it sends behind. An error at the end is a reset.
task<std::string> read_after_cut(stream conn, http::server& web, bool& reset) {
  EXPECT_TRUE(co_await wait_until([&] { return web.counters().write_timeouts != 0; }));
  // A PING of HTTP/2: an answer to it would leave behind the cut frame, and GOAWAY too.
  static_cast<void>(
      co_await as_expected(conn.write(std::string_view("\0\0\x08\6\0\0\0\0\0pingpong", 17))));
  const time_point since = clock::now();
  std::string all = co_await read_all(conn);
  EXPECT_LT(clock::now() - since, 10s);  // it is closed, and not forgotten
  reset = all.ends_with('>');
  if (reset) all.resize(all.rfind('<'));
  co_return all;
}

}  // namespace

HEDDLE_TEST(cut_answer, "HTTP/2: nothing follows a frame that was cut") {
  HEDDLE_NEEDS_TCP();
  runtime rt(small_world());
  rt.run(with_server(answer_large, impatient(), [](address at, http::server& web) -> task<> {
    stream conn = co_await connect_to(at);
    http2_client c(conn);
    c.setting(http::http2_setting::initial_window_size, 1 << 20);
    c.window(0, 1 << 20);
    c.get(1, "/");
    co_await c.send();
    bool reset = false;
    const std::string all = co_await read_after_cut(conn, web, reset);
    EXPECT_TRUE(reset);
    std::string_view rest = all, last;
    bool in_body = false;
    while (rest.size() >= http::http2_head_bytes) {
      const http::http2_frame_head head = http::read_http2_head(rest);
      in_body = head.type == http2_type::data;
      last = rest.substr(http::http2_head_bytes, head.length);
      rest.remove_prefix(http::http2_head_bytes + last.size());
    }
    EXPECT_TRUE(in_body);
    EXPECT_EQ(last.find_first_not_of('a'), last.npos);
  }));
}

HEDDLE_TEST(cut_answer, "HTTP/1.1: nothing follows a body that was cut") {
  HEDDLE_NEEDS_TCP();
  runtime rt(small_world());
  rt.run(with_server(answer_large, impatient(), [](address at, http::server& web) -> task<> {
    stream conn = co_await connect_to(at);
    co_await conn.write("GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n");
    bool reset = false;
    const std::string all = co_await read_after_cut(conn, web, reset);
    EXPECT_TRUE(reset);
    EXPECT_EQ(body_of(all).find_first_not_of('a'), std::string::npos);
  }));
}

HEDDLE_TEST(cut_answer, "a body that the end of the connection ends is reset if it is cancelled") {
  HEDDLE_NEEDS_TCP();
  runtime rt(small_world());
  rt.run(with_server(answer_large, {}, [](address at, http::server& web) -> task<> {
    stream conn = co_await connect_to(at);
    co_await conn.write("GET /endless HTTP/1.0\r\n\r\n");
    EXPECT_EQ(body_of(co_await read_until(conn, "begun")), "begun");
    web.stop();
    web.stop();  // cancels the handler
    EXPECT_TRUE((co_await read_all(conn)).starts_with('<'));
  }));
}

HEDDLE_TEST(cut_answer, "a slow client that takes bytes all the time gets its answer") {
  HEDDLE_NEEDS_TCP();
  for (const bool http2 : {false, true}) {
    runtime rt(small_world(10'000));
    rt.run(with_server(answer_large, impatient(), [&](address at, http::server& web) -> task<> {
      if (http2) {
        http2_client c(co_await connect_to(at));
        c.setting(http::http2_setting::initial_window_size, 1 << 20);
        c.window(0, 1 << 20);
        c.get(1, "/");
        c.get(3, "/");  // waits until the first has been sent, longer than write_timeout
        std::string all = co_await c.until("DATA 3");
        while (all.find("END") == all.npos || c.body.size() < 2 * cut_body_bytes) {
          const std::string one = co_await c.next();
          if (one == "closed" || one == "nothing") break;
          all += one;
        }
        EXPECT_EQ(c.body.size(), 2 * cut_body_bytes);
      } else {
        EXPECT_EQ(body_of(co_await ask(at, "GET /")).size(), cut_body_bytes);
      }
      EXPECT_EQ(web.counters().write_timeouts, 0u);
    }));
  }
}

namespace {

task<> send_binary_of(http::websocket& to, char c, std::size_t bytes, int& failed) {
  const std::string text(bytes, c);
  if (!co_await as_expected(to.send_binary(text))) ++failed;
}

int cut_sends = 0;

task<http::response> send_two(http::request& r) {
  http::websocket_options o;
  o.write_timeout = 1s;
  http::websocket ws = co_await http::accept_websocket(r, o);
  scope s;
  s.spawn(send_binary_of(ws, 'a', 60'000, cut_sends));
  s.spawn(send_binary_of(ws, 'b', 60'000, cut_sends));  // in line behind it
  co_await s.join();
  co_return ws.done();
}

}  // namespace

HEDDLE_TEST(cut_answer, "WebSocket: a message in line behind a cut one is not sent") {
  HEDDLE_NEEDS_TCP();
  cut_sends = 0;
  runtime rt(small_world());
  rt.run(with_server(send_two, {}, [](address at, http::server&) -> task<> {
    stream conn = co_await connect_to(at);
    co_await conn.write(
        "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n");
    EXPECT_TRUE(co_await wait_until([] { return cut_sends == 2; }));
    const std::string all = co_await read_all(conn);
    EXPECT_TRUE(all.ends_with('>')) << "an orderly end";
    EXPECT_EQ(body_of(all.substr(0, all.rfind('<'))).find('b'), std::string::npos);
  }));
}

namespace {

/// Gives up its wait for the body while 100 Continue leaves, and answers.
task<http::response> answer_without_body(http::request& r) {
  const auto part = co_await as_expected(with_timeout(r.read(), 1ms));
  EXPECT_FALSE(part);
  co_return http::response(200).text("without");
}

}  // namespace

HEDDLE_TEST(cut_answer, "a read of a body that is given up does not cut the answer") {
  HEDDLE_NEEDS_TCP();
  sim_options o;
  o.fault_delay_max = 100ms;
  auto made = std::make_unique<sim_driver>(o);
  // Each send begins late: that of 100 Continue waits when the read is given up.
  made->set_faults(op_code::send, {.delayed = 1});
  runtime rt(std::move(made));
  rt.run(with_server(answer_without_body, {}, [](address at, http::server&) -> task<> {
    for (int i = 0; i < 20; ++i) {
      const std::string all = co_await talk(
          at, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n");
      EXPECT_TRUE(all.ends_with("\r\n\r\nwithout")) << all;
      EXPECT_EQ(count_of(all, "HTTP/1.1 200"), 1U) << all;
    }
  }));
}
