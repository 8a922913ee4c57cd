// SPDX-License-Identifier: MIT
// HTTP/2 on every driver: the handlers of HTTP/1.1 with frames around them, windows, order of
// streams, draining. What no good client does is in http2_hostile_test.cc.
#include <string>

#include "web/http2_client.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

task<http::response> answer_http2(http::request& r) {
  if (r.path() == "/echo") co_return http::response(200).text(co_await r.text());
  if (r.path() == "/large")
    co_return http::response(200).body("text/plain", std::string(200'000, 'l'));
  if (r.path() == "/slow") {
    co_await sleep_for(20ms);
    co_return http::response(200).text("slow");
  }
  if (r.path() == "/hang") co_await sleep_for(1h);
  if (r.path() == "/throw") throw std::runtime_error("on purpose");
  if (r.path() == "/parts") {
    http::body_writer out = co_await r.start(http::response(200).header("X-Kind", "parts"));
    for (int i = 0; i < 3; ++i) co_await out.write("part\n");
    out.trailer("X-Sum", "3");
    co_return out.done();
  }
  if (r.path() == "/trailer") {
    static_cast<void>(co_await r.text());
    co_return http::response(200).text(std::string(r.trailer("x-sum")));
  }
  co_return http::response(200)
      .header("X-Path", r.path())
      .header("X-Version", std::to_string(r.head().major_version()))
      .text(std::string(r.header(http::header_id::host)) + "\n");
}

}  // namespace

DRIVER_TEST(http2, "a handler answers as over HTTP/1.1") {
  runtime rt(make());
  rt.run(with_server(answer_http2, {}, [](address at, http::server& web) -> task<> {
    http2_client c(co_await connect_to(at));
    c.get(1, "/a");
    EXPECT_EQ(co_await c.until("DATA"),
              "HEADERS 1 :status=200 x-path=/a x-version=2 content-type=text/plain; charset=utf-8 "
              "content-length=2\nDATA 1 2 END\n");
    EXPECT_EQ(c.body, "x\n");
    EXPECT_EQ(c.settings, 1u);
    c.request(3, "HEAD", "/a", {}, true);
    EXPECT_EQ(co_await c.until("HEADERS"),
              "HEADERS 3 END :status=200 x-path=/a x-version=2 content-type=text/plain; "
              "charset=utf-8 content-length=2\n");
    EXPECT_EQ(web.counters().requests, 2u);
    EXPECT_EQ(web.counters().connections, 1u);
  }));
}

DRIVER_TEST(http2, "streams are answered as their handlers end, not in their order") {
  runtime rt(make());
  rt.run(with_server(answer_http2, {}, [](address at, http::server&) -> task<> {
    http2_client c(co_await connect_to(at));
    c.get(1, "/slow");
    c.get(3, "/a");
    const std::string all = co_await c.until("DATA 1");
    EXPECT_LT(all.find("DATA 3"), all.find("HEADERS 1")) << all;
    EXPECT_EQ(c.body, "x\nslow");
  }));
}

DRIVER_TEST(http2, "a body comes in parts, by its window, and with trailers") {
  runtime rt(make());
  rt.run(with_server(answer_http2, {}, [](address at, http::server&) -> task<> {
    http2_client c(co_await connect_to(at));
    c.request(1, "POST", "/echo", {}, false);
    c.data(1, "one ", false);
    co_await c.send();
    co_await sleep_for(1ms);
    c.data(1, "two", true);
    EXPECT_TRUE((co_await c.until("DATA 1")).ends_with("DATA 1 7 END\n"));
    EXPECT_EQ(std::exchange(c.body, {}), "one two");

    c.request(3, "POST", "/trailer", {}, false);
    c.data(3, "body", false);
    c.headers(3, {{"x-sum", "42"}}, true);
    co_await c.until("DATA 3");
    EXPECT_EQ(std::exchange(c.body, {}), "42");

    // More than a window: the handler reads, so the server lets the client go on.
    const std::uint32_t windows = c.windows;
    c.request(5, "POST", "/echo", {}, false);
    std::string sent;
    for (int i = 0; i < 20; ++i) {
      const std::string part(10'000, static_cast<char>('a' + i));
      sent += part;
      c.data(5, part, i == 19);
      co_await c.send();
      co_await sleep_for(1ms);
    }
    while (c.body.size() < sent.size()) {
      const std::string one = co_await c.next();
      if (one.starts_with("DATA")) {
        c.window(0, 16'384);
        c.window(5, 16'384);
        co_await c.send();
      }
      EXPECT_FALSE(one == "closed");
      if (one == "closed") break;
    }
    EXPECT_EQ(c.body, sent);
    EXPECT_GT(c.windows, windows);
  }));
}

DRIVER_TEST(http2, "an answer stops at the client's windows and goes on when they grow") {
  runtime rt(make());
  rt.run(with_server(answer_http2, {}, [](address at, http::server&) -> task<> {
    http2_client c(co_await connect_to(at));
    c.setting(http::http2_setting::initial_window_size, 1000);
    c.get(1, "/large");
    co_await c.until("DATA 1");
    EXPECT_EQ(c.body.size(), 1000u);
    c.get(3, "/a");  // another stream is not held up
    EXPECT_TRUE((co_await c.until("DATA 3")).ends_with("DATA 3 2 END\n"));
    EXPECT_EQ(c.body.size(), 1002u);
    c.window(1, 300'000);
    c.window(0, 300'000);
    std::string all;
    while (!all.ends_with("END\n") && !all.ends_with("closed\n")) all = co_await c.until("DATA 1");
    EXPECT_EQ(c.body.size(), 200'002u);
  }));
}

namespace {

/// Opens the connection's window; the streams of the frames of data until two streams have ended.
task<std::string> order_of_two(http2_client& c) {
  c.window(0, 1'000'000);
  co_await c.send();
  std::string order;
  for (int ends = 0; ends < 2;) {
    const std::string one = co_await c.next();
    if (one.starts_with("DATA")) order += one[5];
    ends += one.ends_with("END");
    if (one == "closed") break;
  }
  co_return order;
}

/// Until the server has used up the connection's first window.
task<> fill_window(http2_client& c) {
  co_await c.send();
  std::string one;
  while (c.body.size() < http::http2_first_window && one != "closed") one = co_await c.next();
}

}  // namespace

DRIVER_TEST(http2, "a more urgent stream goes first, and equals take turns") {
  runtime rt(make());
  rt.run(with_server(answer_http2, {}, [](address at, http::server&) -> task<> {
    http2_client c(co_await connect_to(at));
    c.setting(http::http2_setting::initial_window_size, 1'000'000);
    c.get(1, "/large");
    c.get(3, "/large", {{"priority", "u=0"}});
    co_await c.send();
    co_await sleep_for(5ms);  // both have used the connection's first window, and wait
    const std::string order = co_await order_of_two(c);
    EXPECT_EQ(c.body.size(), 400'000u);
    EXPECT_EQ(order.back(), '1') << order;
  }));
}

namespace {

using http2_fields = std::vector<std::pair<std::string, std::string>>;

/// The order of a small body that is asked for while a large one waits for the window.
task<std::string> small_behind_large(address at, http2_fields priority) {
  http2_client c(co_await connect_to(at));
  c.setting(http::http2_setting::initial_window_size, 1'000'000);
  c.get(1, "/large", priority);
  co_await fill_window(c);
  c.get(3, "/a", priority);
  co_return co_await order_of_two(c);
}

}  // namespace

DRIVER_TEST(http2, "RFC 9218 7.1: a PRIORITY_UPDATE counts before its stream and behind it") {
  runtime rt(make());
  rt.run(with_server(answer_http2, {}, [](address at, http::server&) -> task<> {
    const auto update = [](http2_client& c, std::uint32_t id, std::string value) {
      std::string text{static_cast<char>(id >> 24), static_cast<char>(id >> 16),
                       static_cast<char>(id >> 8), static_cast<char>(id)};
      c.frame(http2_type::priority_update, 0, 0, text + value);
    };
    for (const bool early : {true, false}) {
      http2_client c(co_await connect_to(at));
      c.setting(http::http2_setting::initial_window_size, 1'000'000);
      if (early) update(c, 3, "u=0");
      c.get(1, "/large", {{"priority", "u=3"}});
      c.get(3, "/large", {{"priority", "u=5"}});
      co_await fill_window(c);
      if (!early) {
        update(c, 3, "u=0");
        update(c, 1, "");
      }
      const std::string order = co_await order_of_two(c);
      EXPECT_EQ(order.back(), '1') << order;
    }
    for (const std::uint32_t id : {0u, 2u}) {
      http2_client c(co_await connect_to(at));
      update(c, id, "u=0");
      EXPECT_TRUE((co_await c.until("GOAWAY")).find("GOAWAY") != std::string::npos);
    }
  }));
}

DRIVER_TEST(http2, "RFC 9218 4.2: a small body waits for a large one only if the client says so") {
  runtime rt(make());
  rt.run(with_server(answer_http2, {}, [](address at, http::server&) -> task<> {
    const http2_fields nothing, one_by_one = {{"priority", "u=3"}};
    const std::string shared = co_await small_behind_large(at, nothing);
    EXPECT_EQ(shared.back(), '1') << shared;
    const std::string in_order = co_await small_behind_large(at, one_by_one);
    EXPECT_EQ(in_order.back(), '3') << in_order;
  }));
}

DRIVER_TEST(http2, "an answer bit by bit ends with its trailers") {
  runtime rt(make());
  rt.run(with_server(answer_http2, {}, [](address at, http::server&) -> task<> {
    http2_client c(co_await connect_to(at));
    c.get(1, "/parts");
    const std::string all = co_await c.until("HEADERS 1 END");
    EXPECT_TRUE(all.starts_with("HEADERS 1 :status=200 x-kind=parts\n")) << all;
    EXPECT_TRUE(all.ends_with("HEADERS 1 END x-sum=3\n")) << all;
    EXPECT_EQ(c.body, "part\npart\npart\n");
  }));
}

DRIVER_TEST(http2, "a handler that throws is a 500, and the connection stays") {
  runtime rt(make());
  rt.run(with_server(answer_http2, {}, [](address at, http::server& web) -> task<> {
    http2_client c(co_await connect_to(at));
    c.get(1, "/throw");
    EXPECT_TRUE((co_await c.until("DATA 1")).starts_with("HEADERS 1 :status=500"));
    c.get(3, "/a");
    EXPECT_TRUE((co_await c.until("DATA 3")).starts_with("HEADERS 3 :status=200"));
    EXPECT_EQ(web.counters().errors, 1u);
  }));
}

DRIVER_TEST(http2, "a stream that the client resets ends its handler, and no other") {
  runtime rt(make());
  rt.run(with_server(answer_http2, {}, [](address at, http::server& web) -> task<> {
    http2_client c(co_await connect_to(at));
    c.get(1, "/hang");
    c.get(3, "/slow");
    co_await c.send();
    co_await sleep_for(1ms);
    http::put_rst_stream(c.out, 1, http2_error::cancel);
    EXPECT_EQ((co_await c.until("DATA")).find(" 1 "), std::string::npos);
    EXPECT_EQ(web.counters().requests, 1u);
  }));
}

DRIVER_TEST(http2, "a PING is answered, and its bytes come back") {
  runtime rt(make());
  rt.run(with_server(answer_http2, {}, [](address at, http::server&) -> task<> {
    http2_client c(co_await connect_to(at));
    c.frame(http2_type::ping, 0, 0, "12345678");
    EXPECT_EQ(co_await c.until("PING"), "PING 12345678\n");
  }));
}

DRIVER_TEST(http2, "a connection that rests is told goodbye when the server drains") {
  runtime rt(make());
  rt.run(with_server(answer_http2, {}, [](address at, http::server& web) -> task<> {
    http2_client c(co_await connect_to(at));
    c.get(1, "/a");
    co_await c.until("DATA 1");
    co_await sleep_for(2ms);
    web.stop();
    const std::string goodbye = "GOAWAY 2147483647 0\nPING draining\nGOAWAY 1 0\nclosed\n";
    EXPECT_EQ(co_await c.until("closed"), goodbye);
  }));
}

DRIVER_TEST(http2, "a stream that is open while the server drains is answered") {
  runtime rt(make());
  rt.run(with_server(answer_http2, {}, [](address at, http::server& web) -> task<> {
    http2_client c(co_await connect_to(at));
    c.get(1, "/slow");
    c.frame(http2_type::ping, 0, 0, "12345678");
    co_await c.until("PING");  // the stream is open
    web.stop();
    const std::string all = co_await c.until("closed");
    EXPECT_NE(all.find("DATA 1 4 END"), std::string::npos) << all;
    EXPECT_NE(all.find("GOAWAY 1 0"), std::string::npos) << all;
  }));
}

DRIVER_TEST(http2, "it can be switched off") {
  runtime rt(make());
  http::server_options options;
  options.http2 = false;
  rt.run(with_server(answer_http2, options, [](address at, http::server&) -> task<> {
    const std::string all = co_await talk(at, std::string(http::http2_preface));
    EXPECT_TRUE(all.starts_with("HTTP/1.1 ")) << all;
  }));
}

DRIVER_TEST(http2, "frames of streams behind GOAWAY are dropped") {
  runtime rt(make());
  rt.run(with_server(answer_http2, {}, [](address at, http::server& web) -> task<> {
    http2_client c(co_await connect_to(at));
    c.get(1, "/slow");
    c.frame(http2_type::ping, 0, 0, "12345678");
    co_await c.until("PING");
    web.stop();
    co_await c.until("GOAWAY 1 0");
    c.request(3, "POST", "/x", {}, false);
    c.data(3, "late", true);
    c.window(3, 1000);
    const std::string all = co_await c.until("closed");
    EXPECT_NE(all.find("DATA 1 4 END"), std::string::npos) << all;
    EXPECT_EQ(all.find("GOAWAY 1 1"), std::string::npos) << all;
  }));
}
