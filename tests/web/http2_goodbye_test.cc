// SPDX-License-Identifier: MIT
// The end of an HTTP/2 connection whose server drains: no answer is lost, and no request that was
// on its way (RFC 9113 section 6.8).
#include "support/wait_until.hh"
#include "web/http2_client.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t large_bytes = 500'000;

int goodbye_requests = 0;  // that came to the handler

task<http::response> answer_goodbye(http::request& r) {
  ++goodbye_requests;
  if (r.path() == "/length")
    co_return http::response(200).text(std::to_string((co_await r.text()).size()));
  co_return http::response(200).text(std::string(large_bytes, 'l'));
}

/// Lets the server send the whole answer at once.
void open_windows(http2_client& c) {
  c.window(0, 1 << 20);
  c.window(1, 1 << 20);
}

}  // namespace

DRIVER_TEST(http2_goodbye, "a client that still sends reads the last answer whole") {
  runtime rt(make());
  rt.run(with_server(answer_goodbye, {}, [](address at, http::server& web) -> task<> {
    http2_client c(co_await connect_to(at));
    c.get(1, "/large");
    co_await c.send();
    while (c.body.size() < http::http2_first_window) {
      const std::string one = co_await c.next();
      if (one == "closed" || one == "nothing") break;
    }
    web.stop();
    co_await c.until("GOAWAY 1 0");
    open_windows(c);
    co_await c.send();
    // The server has sent everything and has no stream left. What the client sends from now on must
    // not become a reset, which would discard bytes that it did not read yet.
    const bool sent = co_await wait_until([&] { return web.counters().requests == 1; });
    EXPECT_TRUE(sent);
    for (int i = 0; i < 20; ++i) {
      c.window(0, 1000);
      static_cast<void>(co_await as_expected(c.send()));
      co_await sleep_for(1ms);
    }
    const std::string rest = co_await c.until("closed");
    EXPECT_EQ(c.body.size(), large_bytes) << rest.size();
  }));
}

DRIVER_TEST(http2_goodbye, "a request that is on its way when the server drains is answered") {
  for (const bool idle : {true, false}) {
    runtime rt(make());
    goodbye_requests = 0;
    rt.run(with_server(answer_goodbye, {}, [idle](address at, http::server& web) -> task<> {
      http2_client c(co_await connect_to(at));
      c.answers_pings = false;
      c.request(1, "POST", "/length", {}, idle);
      co_await c.send();
      const bool came = co_await wait_until([] { return goodbye_requests == 1; });
      EXPECT_TRUE(came);
      if (idle) {
        co_await c.until("DATA 1");
        co_await sleep_for(2ms);
      }
      web.stop();
      EXPECT_EQ(co_await c.next(), "GOAWAY 2147483647 0");
      EXPECT_EQ(co_await c.next(), "PING draining");
      c.request(3, "POST", "/length", {}, false);
      for (int i = 0; i < 3; ++i) c.data(3, std::string(10'000, 'b'), i == 2);
      if (!idle) c.data(1, {}, true);
      c.frame(http2_type::ping, http::http2_flag::ack, 0, "draining");
      const std::string all = co_await c.until("closed");
      EXPECT_NE(all.find("DATA 3 5 END"), all.npos) << all;
      EXPECT_TRUE(c.body == "030000" || c.body == "300000") << c.body;
      EXPECT_NE(all.find("GOAWAY 3 0"), all.npos) << all;
    }));
  }
}

DRIVER_TEST(http2_goodbye, "a client that answers no PING is told goodbye all the same") {
  runtime rt(make());
  http::server_options options;
  options.linger_timeout = 20ms;
  rt.run(with_server(answer_goodbye, options, [](address at, http::server& web) -> task<> {
    http2_client c(co_await connect_to(at));
    c.answers_pings = false;
    c.get(1, "/length");
    co_await c.until("DATA 1");
    web.stop();
    const std::string all = co_await c.until("closed");
    EXPECT_NE(all.find("GOAWAY 1 0\nclosed"), all.npos) << all;
    // The connection ends too, though the client leaves it open.
    const bool ended = co_await wait_until([&] { return web.counters().open == 0; });
    EXPECT_TRUE(ended);
  }));
}
