// SPDX-License-Identifier: MIT
// The client against servers and proxies that break rules, connections and promises.
#include "client/harness.hh"
#include "heddle/client/connect.hh"
#include "heddle/http/content_coding.hh"
#include "support/wait_until.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

/// The error of GET when a server sends this and closes.
task<std::string> error_for(std::string bytes, std::errc code) {
  std::string said;
  script lines1 = {{std::move(bytes)}};
  co_await with_script(std::move(lines1), [&](address at, scripted_server&) -> task<> {
    http::client web;
    said = co_await error_of(web.get(url_of(at)), code);
    EXPECT_EQ(web.idle(), 0u);
  });
  EXPECT_NE(said.find("GET http://127.0.0.1:"), std::string::npos) << said;
  co_return said;
}

DRIVER_TEST(client_hostile, "an incomplete answer is never taken for a whole one") {
  runtime rt(make());
  rt.run([]() -> task<> {
    const std::string ok = "HTTP/1.1 200 OK\r\n";
    const auto reset = std::errc::connection_reset;
    EXPECT_NE(
        (co_await error_for(ok + "Content-Length: 5\r\n\r\nabc", reset)).find("2 bytes before"),
        std::string::npos);
    EXPECT_NE((co_await error_for(ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", reset))
                  .find("last chunk"),
              std::string::npos);
    EXPECT_NE((co_await error_for("HTTP/1.1 20", reset)).find("inside the head"),
              std::string::npos);
    EXPECT_NE((co_await error_for("", reset)).find("without an answer"), std::string::npos);
    EXPECT_NE(
        (co_await error_for("HTTP/1.1 100 Continue\r\n\r\n", reset)).find("without an answer"),
        std::string::npos);
  }());
}

DRIVER_TEST(client_hostile, "an answer that breaks the rules is refused, and says which") {
  runtime rt(make());
  rt.run([]() -> task<> {
    const std::string ok = "HTTP/1.1 200 OK\r\n";
    const auto bad = std::errc::bad_message;
    EXPECT_NE((co_await error_for("SSH-2.0-x\r\n\r\n", bad)).find("does not start with HTTP/1.1"),
              std::string::npos);
    EXPECT_NE((co_await error_for(
                   ok + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", bad))
                  .find("exclude each other"),
              std::string::npos);
    EXPECT_NE((co_await error_for(ok + "Transfer-Encoding: chunked\r\n\r\nx\r\n", bad))
                  .find("hexadecimal"),
              std::string::npos);
    EXPECT_NE((co_await error_for(ok + "A: " + std::string(70'000, 'a') + "\r\n\r\n", bad))
                  .find("more bytes than the limit"),
              std::string::npos);
    co_await error_for("HTTP/1.1 101 Switching\r\n\r\n", std::errc::protocol_error);
    std::string many;
    for (int i = 0; i < 20; ++i) many += "HTTP/1.1 103 Early Hints\r\n\r\n";
    co_await error_for(many + ok + "\r\n", std::errc::message_size);
    if (http::can_compress())
      co_await error_for(ok + "Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd", bad);
  }());
}

DRIVER_TEST(client_hostile, "bytes behind an answer are never read as the next answer") {
  runtime rt(make());
  rt.run([]() -> task<> {
    const std::string one = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1";
    const std::string two = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2";
    script lines2 = {{one + two, two}, {one}};
    co_await with_script(std::move(lines2), [](address at, scripted_server& s) -> task<> {
      http::client web;
      const http::fetched first = co_await web.get(url_of(at));
      EXPECT_EQ(first.body, "1");
      EXPECT_EQ(web.idle(), 0u);
      const http::fetched second = co_await web.get(url_of(at));
      EXPECT_EQ(second.body, "1");
      EXPECT_EQ(s.accepted, 2);
    });
  }());
}

DRIVER_TEST(client_hostile,
            "informational answers are skipped; an answer may end with its connection") {
  runtime rt(make());
  rt.run([]() -> task<> {
    script lines3 = {
        {"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\nall of it"}};
    co_await with_script(std::move(lines3), [](address at, scripted_server&) -> task<> {
      http::client web;
      const http::fetched got = co_await web.get(url_of(at));
      EXPECT_EQ(got.body, "all of it");
      EXPECT_EQ(web.idle(), 0u);
    });
  }());
}

/// A connection that answers once and then closes at the second request.
const std::string once = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

DRIVER_TEST(client_hostile, "an idempotent request is repeated once, on a fresh connection") {
  runtime rt(make());
  rt.run([]() -> task<> {
    script lines4 = {{once, ""}, {once}};
    co_await with_script(std::move(lines4), [](address at, scripted_server& s) -> task<> {
      http::client web;
      co_await web.get(url_of(at));
      const http::fetched again = co_await web.get(url_of(at));
      EXPECT_EQ(again.body, "ok");
      EXPECT_EQ(web.counters().retries, 1u);
      EXPECT_EQ(s.accepted, 2);
    });
    script lines5 = {{once, ""}, {""}, {once}};
    co_await with_script(std::move(lines5), [](address at, scripted_server& s) -> task<> {
      http::client web;
      co_await web.get(url_of(at));
      co_await error_of(web.get(url_of(at)), std::errc::connection_reset);
      EXPECT_EQ(s.accepted, 2);
    });
  }());
}

DRIVER_TEST(client_hostile, "a QUERY is repeated with its body") {
  runtime rt(make());
  rt.run([]() -> task<> {
    script lines = {{once, ""}, {once}};
    co_await with_script(std::move(lines), [](address at, scripted_server& s) -> task<> {
      http::client web;
      co_await web.query(url_of(at), "text/plain", "first");
      const http::fetched again = co_await web.query(url_of(at), "text/plain", "who");
      EXPECT_EQ(again.body, "ok");
      EXPECT_EQ(web.counters().retries, 1u);
      EXPECT_EQ(s.accepted, 2);
    });
  }());
}

DRIVER_TEST(client_hostile, "a POST is not repeated, and nothing is once an answer has begun") {
  runtime rt(make());
  rt.run([]() -> task<> {
    script lines6 = {{once, ""}, {once}};
    co_await with_script(std::move(lines6), [](address at, scripted_server& s) -> task<> {
      http::client web;
      co_await web.get(url_of(at));
      co_await error_of(web.post(url_of(at), "text/plain", "pay"), std::errc::connection_reset);
      EXPECT_EQ(web.counters().retries, 0u);
      EXPECT_EQ(s.accepted, 1);
    });
    script lines7 = {{once, "HTTP/1.1 "}, {once}};
    co_await with_script(std::move(lines7), [](address at, scripted_server& s) -> task<> {
      http::client web;
      co_await web.get(url_of(at));
      co_await error_of(web.get(url_of(at)), std::errc::connection_reset);
      EXPECT_EQ(s.accepted, 1);
    });
  }());
}

DRIVER_TEST(client_hostile, "an idle connection that ends, speaks or grows old leaves the pool") {
  runtime rt(make());
  rt.run([]() -> task<> {
    script lines8 = {{once}, {once}};
    co_await with_script(std::move(lines8), [](address at, scripted_server& s) -> task<> {
      http::client web;
      co_await web.get(url_of(at));
      EXPECT_TRUE(co_await wait_until([&] { return web.idle() == 0; }));  // the server has closed
      co_await web.post(url_of(at), "text/plain", "safe");
      EXPECT_EQ(s.accepted, 2);
    });
    script lines9 = {{once}};
    co_await with_script(
        std::move(lines9),
        [](address at, scripted_server&) -> task<> {
          http::client_options soon;
          soon.timeouts.idle = 20ms;
          http::client web(soon);
          co_await web.get(url_of(at));
          EXPECT_EQ(web.idle(), 1u);
          EXPECT_TRUE(co_await wait_until([&] { return web.idle() == 0; }));
        },
        true);
  }());
}

DRIVER_TEST(client_hostile,
            "the place of an unfit connection is free for the request that finds it") {
  runtime rt(make());
  rt.run(with_scope([](scope& s) -> task<> {
    tcp_listener door = tcp_listener::listen(address::loopback(0));
    bool spoke = false;
    const auto answers = [](tcp_listener at, bool& said) -> task<> {
      const std::string ok = "HTTP/1.1 204 No\r\n\r\n";
      const stream first = co_await at.accept();
      static_cast<void>(co_await read_until(first, "\r\n\r\n"));
      co_await first.write(std::string_view(ok));
      co_await sleep_for(5ms);
      co_await first.write(std::string_view("unasked"));
      said = true;
      const stream second = co_await at.accept();
      static_cast<void>(co_await read_until(second, "\r\n\r\n"));
      co_await second.write(std::string_view(ok));
    };
    s.spawn(answers(door, spoke));
    http::client_options one;
    one.per_origin_max = 1;
    one.timeouts.whole = 10s;
    http::client web(one);
    EXPECT_EQ((co_await web.get(url_of(door.local()))).status(), 204);
    EXPECT_TRUE(co_await wait_until([&] { return spoke; }));
    EXPECT_EQ((co_await web.get(url_of(door.local()))).status(), 204);
    co_await s.join();
  }));
}

DRIVER_TEST(client_hostile, "credentials are not carried to another origin, nor back") {
  runtime rt(make());
  rt.run([]() -> task<> {
    tcp_listener home = tcp_listener::listen(address::loopback(0));
    const std::string base = url_of(home.local());
    script lines10 = {{"HTTP/1.1 302 F\r\nContent-Length: 0\r\nLocation: " + base +
                       "back\r\nConnection: close\r\n\r\n"}};
    co_await with_script(
        std::move(lines10), [&](address away, scripted_server& stranger) -> task<> {
          scripted_server own(
              {{"HTTP/1.1 307 T\r\nContent-Length: 0\r\nConnection: close\r\nLocation: " +
                url_of(away, "/x") + "\r\n\r\n"},
               {once}});
          scope s;
          s.spawn(own.serve(home));
          http::client web;
          http::outgoing what("GET", base);
          what.header("Authorization", "a")
              .header("Cookie", "b=c")
              .secret("X-Key", "k")
              .header("X-Y", "z");
          const http::fetched got = co_await web.send(std::move(what));
          EXPECT_EQ(got.body, "ok");
          EXPECT_NE(own.heads.at(0).find("Authorization: a\r\nCookie: b=c\r\nX-Key: k\r\n"),
                    std::string::npos);
          for (const std::string& head : {stranger.heads.at(0), own.heads.at(1)}) {
            EXPECT_EQ(head.find("Authorization"), std::string::npos) << head;
            EXPECT_EQ(head.find("Cookie"), std::string::npos) << head;
            EXPECT_EQ(head.find("X-Key"), std::string::npos) << head;
            EXPECT_NE(head.find("X-Y: z"), std::string::npos) << head;
          }
          s.cancel();
          co_await s.join();
        });
  }());
}

http::client_options via(address proxy) {
  http::client_options options;
  options.proxy.url = url_of(proxy);
  options.proxy.authorization = "Basic eDp5";
  options.proxy.except = {".direct.example.com"};
  return options;
}

DRIVER_TEST(client_hostile, "a host that a proxy is not for is so with a dot behind it, too") {
  runtime rt(make());
  rt.run([]() -> task<> {
    script lines = {{once}};
    co_await with_script(std::move(lines), [](address at, scripted_server& s) -> task<> {
      http::client_options options = via(at);
      options.proxy.except = {".direct.example.com", "one.example.com."};
      http::client web(options);
      for (const char* host : {"a.direct.example.com.", "direct.example.com.", "one.example.com"}) {
        // There is no such host; what counts is that the proxy is not asked.
        const auto got = co_await as_expected(web.get("http://" + std::string(host) + ":1/"));
        EXPECT_FALSE(got.has_value()) << host;
        EXPECT_TRUE(s.heads.empty()) << host;
      }
    });
  }());
}

DRIVER_TEST(client_hostile, "a proxy gets the whole URL, or CONNECT for https") {
  runtime rt(make());
  rt.run([]() -> task<> {
    script lines11 = {{once}};
    co_await with_script(std::move(lines11), [](address at, scripted_server& s) -> task<> {
      http::client web(via(at));
      const http::fetched got = co_await web.get("http://far.example.com:81/a?b");
      EXPECT_EQ(got.body, "ok");
      EXPECT_TRUE(s.heads.at(0).starts_with(
          "GET http://far.example.com:81/a?b HTTP/1.1\r\nHost: far.example.com:81\r\n"
          "Proxy-Authorization: Basic eDp5\r\n"))
          << s.heads.at(0);
    });
    script lines12 = {{"HTTP/1.1 407 No\r\n\r\n"}};
    co_await with_script(std::move(lines12), [](address at, scripted_server& s) -> task<> {
      http::client web(via(at));
      const std::string said =
          co_await error_of(web.get("https://far.example.com/"), std::errc::permission_denied);
      EXPECT_NE(said.find("client_proxy::authorization"), std::string::npos) << said;
      EXPECT_TRUE(s.heads.at(0).starts_with("CONNECT far.example.com:443 HTTP/1.1\r\n"));
      EXPECT_EQ(s.heads.at(0).find("GET"), std::string::npos);
    });
    script lines13 = {{"HTTP/1.1 200 OK\r\n\r\nearly"}};
    co_await with_script(std::move(lines13), [](address at, scripted_server&) -> task<> {
      http::client web(via(at));
      co_await error_of(web.get("https://far.example.com/"), std::errc::bad_message);
    });
  }());
}

DRIVER_TEST(client_connect,
            "the versions take turns, and a dead address costs a head start at most") {
  const auto text = [](const char* t) { return address::parse(t, 80).value(); };
  const std::vector<address> mixed = {text("::2"), text("::3"), text("::4"), text("1.1.1.1"),
                                      text("1.1.1.2")};
  std::string order;
  for (const address& a : interleaved(mixed)) order += a.host() + ' ';
  EXPECT_EQ(order, "::2 1.1.1.1 ::3 1.1.1.2 ::4 ");
  runtime rt(make());
  rt.run([]() -> task<> {
    tcp_listener door = tcp_listener::listen(address::loopback(0));
    tcp_listener closed = tcp_listener::listen(address::loopback(0));
    const address refuses = closed.local();
    closed.close();
    std::vector<address> half = {refuses, door.local()}, both = {refuses, refuses};
    const tcp_stream got = co_await connect_first(std::move(half), 5s);
    EXPECT_EQ(got.peer(), door.local());
    const auto none = co_await as_expected(connect_first(std::move(both), 5s));
    EXPECT_EQ(none.error(), std::errc::connection_refused);
  }());
}

HEDDLE_TEST(client_connect, "an address that never answers is passed after the head start") {
  auto d = std::make_unique<sim_driver>();
  const address slow = address::parse("10.0.0.1:80").value(),
                quick = address::parse("10.0.0.2:80").value();
  d->set_link(slow.native(), slow.native_len(), sim_link{.latency = 30s});
  d->set_host("two.example.com", {"10.0.0.1", "10.0.0.2"});
  runtime rt(std::move(d), {});
  rt.run([](address at_slow, address at_quick) -> task<> {
    tcp_listener one = tcp_listener::listen(at_slow), other = tcp_listener::listen(at_quick);
    const time_point begun = clock::now();
    const tcp_stream got = co_await connect_first("two.example.com", 80, 250ms);
    EXPECT_EQ(got.peer(), at_quick);
    EXPECT_GE(clock::now() - begun, 250ms);
    EXPECT_LT(clock::now() - begun, 300ms);
  }(slow, quick));
}

}  // namespace
}  // namespace heddle::test
