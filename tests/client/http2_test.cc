// SPDX-License-Identifier: MIT
// The client's connections of HTTP/2: how streams share them, how they wait, and what is sent again
// when a server refuses, goes away or falls silent. The server is a script of frames.
#include "client/http2_peer.hh"
#include "heddle/core/hedged.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

/// A GET, whose result goes to `got`: the body, or the error.
task<> http2_get(http::client& web, std::string url, std::string& got) {
  try {
    const http::fetched page = co_await web.get(std::move(url));
    got = std::to_string(page.status()) + " " + page.body;
  } catch (const std::system_error& e) {
    got = e.what();
  }
}

DRIVER_TEST(client_http2, "requests share a connection, and wait where the server allows few") {
  runtime rt(make());
  rt.run(with_http2_peer([](address at, listener door) -> task<> {
    http::client web(by_prior_knowledge());
    std::string got[4];
    scope s;
    for (std::string& each : got) s.spawn(http2_get(web, url_of(at), each));
    http2_client peer = co_await take_peer(door);
    peer.setting(http::http2_setting::max_concurrent_streams, 2);
    co_await peer.send();
    // All four may come before the setting does; those that come later wait for it.
    for (int i = 0; i < 4; ++i) static_cast<void>(co_await peer.until("HEADERS"));
    for (const std::uint32_t id : {1u, 3u, 5u, 7u}) peer.headers(id, {{":status", "204"}});
    co_await peer.send();
    co_await s.join();
    for (const std::string& each : got) EXPECT_EQ(each, "204 ");

    scope later;
    for (std::string& each : got) later.spawn(http2_get(web, url_of(at), each));
    EXPECT_TRUE((co_await peer.until("HEADERS")).starts_with("HEADERS 9 END :method=GET"));
    static_cast<void>(co_await peer.until("HEADERS"));
    EXPECT_EQ(co_await peer.next(30ms), "nothing");
    peer.headers(9, {{":status", "200"}}, false);
    peer.data(9, "nine", true);
    EXPECT_TRUE((co_await peer.until("HEADERS")).starts_with("HEADERS 13"));
    for (const std::uint32_t id : {11u, 13u}) peer.headers(id, {{":status", "204"}});
    EXPECT_TRUE((co_await peer.until("HEADERS")).starts_with("HEADERS 15"));
    peer.headers(15, {{":status", "204"}});
    co_await peer.send();
    co_await later.join();
    EXPECT_EQ(got[0], "200 nine");
    EXPECT_EQ(web.counters().connections, 1u);
    EXPECT_EQ(web.idle(), 1u);
  }));
}

DRIVER_TEST(client_http2, "a second connection is opened where that is allowed") {
  runtime rt(make());
  rt.run(with_http2_peer([](address at, listener door) -> task<> {
    http::client_options options = by_prior_knowledge();
    options.http2.connections_max = 2;
    options.http2.streams_max = 1;
    http::client web(options);
    std::string got[3];
    scope s;
    for (std::string& each : got) s.spawn(http2_get(web, url_of(at), each));
    http2_client one = co_await take_peer(door), two = co_await take_peer(door);
    for (http2_client* peer : {&one, &two}) {
      peer->setting(http::http2_setting::enable_push, 0);
      EXPECT_TRUE((co_await peer->until("HEADERS")).starts_with("HEADERS 1 END"));
      peer->headers(1, {{":status", "204"}});
    }
    co_await one.send();
    EXPECT_TRUE((co_await one.until("HEADERS")).starts_with("HEADERS 3 END"));
    one.headers(3, {{":status", "204"}});
    co_await one.send();
    co_await two.send();
    co_await s.join();
    for (const std::string& each : got) EXPECT_EQ(each, "204 ");
    EXPECT_EQ(web.counters().connections, 2u);
  }));
}

DRIVER_TEST(client_http2, "GOAWAY: what is above its number is sent again, what is below ends") {
  runtime rt(make());
  rt.run(with_http2_peer([](address at, listener door) -> task<> {
    http::client web(by_prior_knowledge());
    std::string got[2], posted;
    scope s;
    for (std::string& each : got) s.spawn(http2_get(web, url_of(at), each));
    http2_client old = co_await take_peer(door);
    old.setting(http::http2_setting::enable_push, 0);
    for (int i = 0; i < 2; ++i) static_cast<void>(co_await old.until("HEADERS"));
    s.spawn([](http::client& by, std::string url, std::string& to) -> task<> {
      to = (co_await by.post(std::move(url), "text/plain", "once")).body;
    }(web, url_of(at), posted));
    EXPECT_TRUE((co_await old.until("DATA")).ends_with("DATA 5 4 END\n"));
    http::put_goaway(old.out, 1, http2_error::no_error, {});
    co_await old.send();
    http2_client fresh = co_await take_peer(door);
    fresh.setting(http::http2_setting::enable_push, 0);
    EXPECT_TRUE((co_await fresh.until("HEADERS 3")).find("DATA 3") == std::string::npos);
    while (fresh.body.empty()) static_cast<void>(co_await fresh.next());
    EXPECT_EQ(fresh.body, "once");
    for (const std::uint32_t id : {1u, 3u}) {
      fresh.headers(id, {{":status", "200"}}, false);
      fresh.data(id, "new", true);
    }
    co_await fresh.send();
    old.headers(1, {{":status", "200"}}, false);
    old.data(1, "old", true);
    EXPECT_EQ(co_await old.until("closed"), "GOAWAY 0 0\nclosed\n");
    co_await s.join();
    EXPECT_EQ(got[0], "200 old");
    EXPECT_EQ(got[1], "200 new");
    EXPECT_EQ(posted, "new");
    EXPECT_EQ(web.counters().retries, 2u);
    EXPECT_EQ(web.counters().connections, 2u);
  }));
}

DRIVER_TEST(client_http2, "a refused stream is sent again, three times at most") {
  runtime rt(make());
  rt.run(with_http2_peer([](address at, listener door) -> task<> {
    http::client_options options = by_prior_knowledge();
    options.http2.refused_retries_max = 3;
    http::client web(options);
    std::string got, other;
    scope s;
    s.spawn([](http::client& by, std::string url, std::string& to) -> task<> {
      to = (co_await by.post(std::move(url), "text/plain", "body")).body;
    }(web, url_of(at), got));
    http2_client peer = co_await take_peer(door);
    peer.setting(http::http2_setting::enable_push, 0);
    static_cast<void>(co_await peer.until("DATA 1 4 END"));
    http::put_rst_stream(peer.out, 1, http2_error::refused_stream);
    static_cast<void>(co_await peer.until("DATA 3 4 END"));
    peer.headers(3, {{":status", "200"}}, false);
    peer.data(3, "taken", true);
    co_await peer.send();
    co_await s.join();
    EXPECT_EQ(got, "taken");
    scope again;
    again.spawn(http2_get(web, url_of(at), other));
    for (std::uint32_t id = 5; id <= 11; id += 2) {
      static_cast<void>(co_await peer.until("HEADERS " + std::to_string(id)));
      http::put_rst_stream(peer.out, id, http2_error::refused_stream);
    }
    co_await peer.send();
    co_await again.join();
    EXPECT_NE(other.find("REFUSED_STREAM"), std::string::npos) << other;
    EXPECT_EQ(web.counters().retries, 4u);
    EXPECT_EQ(web.counters().connections, 1u);
  }));
}

DRIVER_TEST(client_http2, "a stream that the server resets fails, and names the reason") {
  runtime rt(make());
  rt.run(with_http2_peer([](address at, listener door) -> task<> {
    http::client web(by_prior_knowledge());
    std::string got[2];
    scope s;
    for (std::string& each : got) s.spawn(http2_get(web, url_of(at), each));
    http2_client peer = co_await take_peer(door);
    peer.setting(http::http2_setting::enable_push, 0);
    for (int i = 0; i < 2; ++i) static_cast<void>(co_await peer.until("HEADERS"));
    http::put_rst_stream(peer.out, 1, http2_error::internal_error);
    peer.headers(3, {{":status", "200"}, {"content-length", "10"}}, false);
    peer.data(3, "half", false);
    http::put_rst_stream(peer.out, 3, http2_error::cancel);
    co_await peer.send();
    co_await s.join();
    EXPECT_NE(got[0].find("the server reset the stream (INTERNAL_ERROR)"), std::string::npos)
        << got[0];
    EXPECT_NE(got[1].find("incomplete: the server reset the stream (CANCEL)"), std::string::npos)
        << got[1];
    EXPECT_EQ(web.counters().retries, 0u);
    EXPECT_EQ(web.idle(), 1u);
  }));
}

DRIVER_TEST(client_http2, "a request that is given up resets its stream, and no other") {
  runtime rt(make());
  rt.run(with_http2_peer([](address at, listener door) -> task<> {
    http::client web(by_prior_knowledge());
    std::string got;
    scope s;
    s.spawn(http2_get(web, url_of(at, "/stays"), got));
    http2_client peer = co_await take_peer(door);
    peer.setting(http::http2_setting::enable_push, 0);
    static_cast<void>(co_await peer.until("HEADERS 1"));
    const auto late = co_await as_expected(with_timeout(web.get(url_of(at)), 10ms));
    EXPECT_EQ(late.error(), std::errc::timed_out);
    EXPECT_TRUE((co_await peer.until("RST_STREAM")).ends_with("RST_STREAM 3 8\n"));
    peer.headers(3, {{":status", "200"}}, false);  // it was on its way
    peer.data(3, "late", true);
    peer.headers(1, {{":status", "200"}}, false);
    peer.data(1, "kept", true);
    co_await peer.send();
    co_await s.join();
    EXPECT_EQ(got, "200 kept");
    // An answer that is dropped half read.
    {
      scope reading;
      reading.spawn([](http::client& by, std::string url) -> task<> {
        http::answer a = co_await by.open(http::outgoing("GET", std::move(url)));
        static_cast<void>(co_await a.read());
      }(web, url_of(at)));
      static_cast<void>(co_await peer.until("HEADERS 5"));
      peer.headers(5, {{":status", "200"}}, false);
      peer.data(5, "some", false);
      co_await peer.send();
      co_await reading.join();
    }
    EXPECT_EQ(co_await peer.until("RST_STREAM"), "RST_STREAM 5 8\n");
    EXPECT_EQ(web.counters().connections, 1u);
  }));
}

DRIVER_TEST(client_http2, "informational answers are skipped, and trailers are found") {
  runtime rt(make());
  rt.run(with_http2_peer([](address at, listener door) -> task<> {
    http::client web(by_prior_knowledge());
    scope s;
    s.spawn([](http::client& by, std::string url) -> task<> {
      http::answer a = co_await by.open(http::outgoing("GET", std::move(url)));
      EXPECT_EQ(a.status(), 200);
      EXPECT_EQ(a.head().major_version(), 2);
      EXPECT_EQ(a.header("link"), "");
      EXPECT_EQ(co_await a.text(100), "body");
      EXPECT_EQ(a.trailer("X-Sum"), "42");
      EXPECT_EQ(a.trailer("content-length"), "");
    }(web, url_of(at)));
    http2_client peer = co_await take_peer(door);
    peer.setting(http::http2_setting::enable_push, 0);
    static_cast<void>(co_await peer.until("HEADERS 1"));
    peer.headers(1, {{":status", "103"}, {"link", "</a>"}}, false);
    peer.headers(1, {{":status", "200"}}, false);
    peer.data(1, "body", false);
    peer.headers(1, {{"x-sum", "42"}}, true);
    co_await peer.send();
    co_await s.join();
  }));
}

DRIVER_TEST(client_http2, "a body waits for the server's windows, and its reader moves ours") {
  runtime rt(make());
  rt.run(with_http2_peer([](address at, listener door) -> task<> {
    http::client_options options = by_prior_knowledge();
    options.http2.stream_window = 1000;
    http::client web(options);
    scope s;
    s.spawn([](http::client& by, std::string url) -> task<> {
      http::outgoing what("POST", std::move(url));
      what.body("text/plain", std::string(300, 'u'));
      http::answer a = co_await by.open(std::move(what));
      EXPECT_EQ((co_await a.read()).size(), 1000u);
      co_await sleep_for(20ms);
      EXPECT_EQ((co_await a.text(10'000)).size(), 500u);
    }(web, url_of(at)));
    http2_client peer = co_await take_peer(door);
    peer.setting(http::http2_setting::initial_window_size, 100);
    std::string all = co_await peer.until("DATA");
    while (peer.body.size() < 300) {
      // What was sent before the setting came counts, too: the window may be below zero.
      peer.window(1, 100);
      if (peer.body.size() < 300) all = co_await peer.until("DATA");
    }
    EXPECT_TRUE(all.ends_with("END\n")) << all;
    const std::uint32_t windows = peer.windows;
    peer.headers(1, {{":status", "200"}}, false);
    peer.data(1, std::string(1000, 'd'), false);
    co_await peer.send();
    // Our window is used up; it grows when the program reads.
    while (peer.windows == windows) {
      const std::string none = co_await peer.next(1ms);
      EXPECT_EQ(none, "nothing");
      if (none != "nothing") break;
    }
    peer.data(1, std::string(500, 'd'), true);
    co_await peer.send();
    co_await s.join();
  }));
}

DRIVER_TEST(client_http2, "PING is answered; a server that answers none is given up") {
  runtime rt(make());
  rt.run(with_http2_peer([](address at, listener door) -> task<> {
    http::client_options options = by_prior_knowledge();
    options.http2.ping_after = 20ms;
    options.http2.ping_timeout = 500ms;  // the test answers in time, also on a busy machine
    http::client web(options);
    std::string got;
    scope s;
    s.spawn(http2_get(web, url_of(at), got));
    http2_client peer = co_await take_peer(door);
    peer.setting(http::http2_setting::enable_push, 0);
    static_cast<void>(co_await peer.until("HEADERS 1"));
    peer.frame(http2_type::ping, 0, 0, "12345678");
    std::string asked;
    bool answered = false;
    while (!answered || asked.empty()) {  // in either order
      const std::string one = co_await peer.until("PING");
      if (!one.starts_with("PING ")) break;
      if (one == "PING 12345678\n") {
        answered = true;
      } else {
        asked = one;
      }
    }
    EXPECT_TRUE(answered);
    peer.frame(http2_type::ping, http::http2_flag::ack, 0, std::string_view(asked).substr(5, 8));
    EXPECT_EQ(co_await peer.until("PING"), asked);  // it was heard, and is asked again
    co_await s.join();
    EXPECT_NE(got.find("client_options::http2.ping_timeout"), std::string::npos) << got;
    EXPECT_TRUE((co_await peer.until("closed")).ends_with("closed\n"));
  }));
}

DRIVER_TEST(client_http2, "a connection that ends: idempotent requests go to another one") {
  runtime rt(make());
  rt.run(with_http2_peer([](address at, listener door) -> task<> {
    http::client web(by_prior_knowledge());
    std::string first, second, posted;
    scope s;
    s.spawn(http2_get(web, url_of(at), first));
    http2_client old = co_await take_peer(door);
    old.setting(http::http2_setting::enable_push, 0);
    static_cast<void>(co_await old.until("HEADERS 1"));
    old.headers(1, {{":status", "204"}});
    co_await old.send();
    co_await s.join();
    scope later;
    later.spawn(http2_get(web, url_of(at), second));
    later.spawn([](http::client& by, std::string url, std::string& to) -> task<> {
      to = co_await error_of(by.post(std::move(url), "text/plain", "pay"),
                             std::errc::connection_reset);
    }(web, url_of(at), posted));
    static_cast<void>(co_await old.until("DATA 5"));
    old.shut();
    http2_client fresh = co_await take_peer(door);
    fresh.setting(http::http2_setting::enable_push, 0);
    static_cast<void>(co_await fresh.until("HEADERS 1"));
    fresh.headers(1, {{":status", "204"}});
    co_await fresh.send();
    co_await later.join();
    EXPECT_EQ(second, "204 ");
    EXPECT_NE(posted.find("the server closed the connection"), std::string::npos) << posted;
    EXPECT_EQ(web.counters().retries, 1u);
  }));
}

DRIVER_TEST(client_http2, "requests that wait for a first connection fail with it, together") {
  runtime rt(make());
  rt.run([]() -> task<> {
    tcp_listener closed = tcp_listener::listen(address::loopback(0));
    const address at = closed.local();
    closed.close();
    http::client web(by_prior_knowledge());
    std::string got[3];
    scope s;
    for (std::string& each : got) s.spawn(http2_get(web, url_of(at), each));
    co_await s.join();
    for (const std::string& each : got)
      EXPECT_NE(each.find("cannot connect to"), std::string::npos) << each;
    EXPECT_EQ(web.idle(), 0u);
  }());
}

DRIVER_TEST(client_http2, "an unused connection says goodbye after the idle time, or at the end") {
  runtime rt(make());
  rt.run(with_http2_peer([](address at, listener door) -> task<> {
    http::client_options options = by_prior_knowledge();
    options.timeouts.idle = 20ms;
    auto web = std::make_unique<http::client>(options);
    std::string got;
    const auto served = [&]() -> task<> {
      scope s;
      s.spawn(http2_get(*web, url_of(at), got));
      http2_client peer = co_await take_peer(door);
      peer.setting(http::http2_setting::enable_push, 0);
      static_cast<void>(co_await peer.until("HEADERS 1"));
      peer.headers(1, {{":status", "204"}});
      co_await peer.send();
      co_await s.join();
      EXPECT_EQ(web->idle(), 1u);
      if (options.timeouts.idle > 1s) {
        web.reset();  // closes at once, whether or not the driver sends at once
        EXPECT_TRUE((co_await peer.until("closed")).ends_with("closed\n"));
      } else {
        EXPECT_EQ(co_await peer.until("closed"), "GOAWAY 0 0\nclosed\n");
      }
    };
    co_await served();
    EXPECT_EQ(web->idle(), 0u);
    options.timeouts.idle = 1h;
    web = std::make_unique<http::client>(options);
    co_await served();
  }));
}

DRIVER_TEST(client_http2, "a server that asks for HTTP/1.1 gets it") {
  runtime rt(make());
  rt.run(with_http2_peer([](address at, listener door) -> task<> {
    http::client web(by_prior_knowledge());
    std::string got;
    scope s;
    s.spawn(http2_get(web, url_of(at), got));
    http2_client peer = co_await take_peer(door);
    peer.setting(http::http2_setting::enable_push, 0);
    static_cast<void>(co_await peer.until("HEADERS 1"));
    http::put_rst_stream(peer.out, 1, http2_error::http_1_1_required);
    co_await peer.send();
    const stream plain = co_await door.accept();
    EXPECT_TRUE((co_await read_until(plain, "\r\n\r\n")).starts_with("GET / HTTP/1.1\r\n"));
    co_await plain.write("HTTP/1.1 204 No\r\n\r\n");
    co_await s.join();
    EXPECT_EQ(got, "204 ");
  }));
}

}  // namespace
}  // namespace heddle::test
