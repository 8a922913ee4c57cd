// SPDX-License-Identifier: MIT
// Requests and answers through a proxy: fields, bodies in both directions, upgrades.
#include "heddle/core/sleep.hh"
#include "proxy/harness.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

task<http::response> passage_backend(http::request& r) {
  const std::string_view path = r.path();
  if (path == "/fields") co_return http::response(200).text(fields_of(r));
  if (path == "/hop")
    co_return http::response(200).header("x-kept", "1").header("Keep-Alive", "timeout=5").text("x");
  if (path == "/echo") {
    http::body_writer out = co_await r.start(http::response(200));
    for (;;) {
      const std::string part(co_await r.read());
      if (part.empty()) break;
      co_await out.write(part);
      co_await out.flush();
    }
    out.trailer("x-sum", r.trailer("x-check"));
    co_return out.done();
  }
  if (path == "/length") {
    const std::string body = co_await r.text();
    co_return http::response(200).text(std::to_string(body.size()));
  }
  if (path == "/large") {
    http::body_writer out = co_await r.start(http::response(200).length(1'000'000));
    const std::string part(10'000, 'L');
    for (int i = 0; i < 100; ++i) co_await out.write(part);
    co_return out.done();
  }
  if (path == "/empty") co_return http::response(204);
  if (path == "/refuse") co_return http::response(403).text("no");
  co_return http::response(404).text("none");
}

DRIVER_TEST(passage, "a request and its answer pass, and the connection is used again") {
  runtime rt(make());
  rt.run([]() -> task<> {
    co_await with_proxy(&passage_backend, usual, [](address at, http::reverse_proxy& p) -> task<> {
      http::client web;
      for (int i = 0; i < 3; ++i) {
        const http::fetched got = co_await web.get(url_of(at, "/length"));
        EXPECT_EQ(got.status(), 200);
        EXPECT_EQ(got.body, "0");
        EXPECT_EQ(got.header("server"), "heddle");
        EXPECT_FALSE(got.header("date").empty());
      }
      EXPECT_EQ(p.counters(0).requests, 3u);
      EXPECT_EQ(p.counters(0).connections, 1u);
      EXPECT_EQ(p.counters(0).reused, 2u);
      EXPECT_EQ(p.counters(0).active, 0u);
      EXPECT_EQ(p.counters(0).idle, 1u);
    });
  });
}

DRIVER_TEST(passage, "fields of the connection do not pass, and the client's address is told") {
  runtime rt(make());
  rt.run([]() -> task<> {
    co_await with_proxy(&passage_backend, usual, [](address at, http::reverse_proxy&) -> task<> {
      const std::string got = co_await ask(
          at, "GET /fields?a=b",
          "Connection: X-Mine, X-Forwarded-For\r\nX-Mine: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\n"
          "Proxy-Authorization: Basic eA==\r\nX-Forwarded-For: 6.6.6.6\r\nForwarded: "
          "for=6.6.6.6\r\n"
          "X_Forwarded_For: 6.6.6.6\r\nX-Real-IP: 6.6.6.6\r\nVia: 1.0 first\r\nCookie: a=1\r\n");
      const std::string seen = body_of(got);
      EXPECT_NE(seen.find("GET /fields?a=b\n"), seen.npos) << seen;
      EXPECT_NE(seen.find("host: x\n"), seen.npos);
      EXPECT_NE(seen.find("cookie: a=1\n"), seen.npos);
      EXPECT_NE(seen.find("x-forwarded-for: 127.0.0.1\n"), seen.npos) << seen;
      EXPECT_NE(seen.find("x-forwarded-proto: http\n"), seen.npos);
      EXPECT_NE(seen.find("x-forwarded-host: x\n"), seen.npos);
      EXPECT_NE(seen.find("forwarded: for=127.0.0.1;host=x;proto=http\n"), seen.npos);
      EXPECT_NE(seen.find("via: 1.0 first, 1.1 heddle\n"), seen.npos);
      EXPECT_NE(seen.find("te: trailers\n"), seen.npos);
      EXPECT_EQ(seen.find("x-mine"), seen.npos);
      EXPECT_EQ(seen.find("keep-alive"), seen.npos);
      EXPECT_EQ(seen.find("proxy-auth"), seen.npos);
      EXPECT_EQ(seen.find("6.6.6.6"), seen.npos) << seen;
      const std::string hop = co_await ask(at, "GET /hop");
      EXPECT_EQ(field_of(hop, "x-kept"), "1");
      EXPECT_EQ(field_of(hop, "Keep-Alive"), "");
    });
  });
}

DRIVER_TEST(passage, "a trusted peer's fields are continued") {
  runtime rt(make());
  rt.run([]() -> task<> {
    http::proxy_options o;
    o.trusted = {network::parse("127.0.0.0/8").value()};
    o.keep_host = false;
    o.secure = true;
    co_await with_proxy(&passage_backend, o, [](address at, http::reverse_proxy& p) -> task<> {
      const std::string seen = body_of(co_await ask(
          at, "GET /fields",
          "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: http\r\nX-Real-IP: 192.0.2.7\r\n"
          "Forwarded: for=192.0.2.7\r\n"));
      EXPECT_NE(seen.find("x-forwarded-for: 192.0.2.7, 127.0.0.1\n"), seen.npos) << seen;
      EXPECT_NE(seen.find("x-forwarded-proto: http\n"), seen.npos);
      EXPECT_NE(seen.find("x-real-ip: 192.0.2.7\n"), seen.npos) << seen;
      EXPECT_NE(seen.find("forwarded: for=192.0.2.7, for=127.0.0.1;host=x;proto=https\n"),
                seen.npos);
      EXPECT_NE(seen.find("host: " + p.name(0).substr(upstream_scheme().size()) + "\n"), seen.npos)
          << seen;
    });
  });
}

DRIVER_TEST(passage, "bodies with a length and in chunks pass in both directions") {
  runtime rt(make());
  rt.run([]() -> task<> {
    co_await with_proxy(&passage_backend, usual, [](address at, http::reverse_proxy&) -> task<> {
      http::client web;
      const std::string small = "hello", large(300'000, 'b');
      http::fetched got = co_await web.post(url_of(at, "/length"), "text/plain", small);
      EXPECT_EQ(got.body, "5");
      got = co_await web.post(url_of(at, "/echo"), "text/plain", large);
      EXPECT_EQ(got.body, large);
      got = co_await web.get(url_of(at, "/large"));
      EXPECT_EQ(got.body, std::string(1'000'000, 'L'));
      EXPECT_EQ(got.header("content-length"), "1000000");
      const std::string chunked =
          co_await ask(at, "POST /echo", "Transfer-Encoding: chunked\r\nTE: trailers\r\n",
                       "5\r\nfirst\r\n6\r\nsecond\r\n0\r\nX-Check: 42\r\n\r\n");
      EXPECT_NE(chunked.find("second\r\n0\r\n"), chunked.npos) << chunked;
      EXPECT_NE(chunked.find("x-sum: 42\r\n"), chunked.npos) << chunked;
    });
  });
}

DRIVER_TEST(passage, "a QUERY passes with its body and its type") {
  runtime rt(make());
  rt.run([]() -> task<> {
    co_await with_proxy(&passage_backend, usual, [](address at, http::reverse_proxy&) -> task<> {
      http::client web;
      const std::string question(100'000, 'q');
      http::fetched got = co_await web.query(url_of(at, "/echo"), "text/plain", question);
      EXPECT_EQ(got.body, question);
      got = co_await web.query(url_of(at, "/fields"), "application/json", "{}");
      EXPECT_TRUE(got.body.starts_with("QUERY /fields\n")) << got.body;
      EXPECT_NE(got.body.find("content-type: application/json\n"), got.body.npos) << got.body;
    });
  });
}

/// Its answer begins before it reads, as that of a program that echoes.
task<http::response> early_backend(http::request& r) {
  http::body_writer out = co_await r.start(http::response(200));
  co_await out.write("begun ");
  co_await out.flush();
  const std::string body = co_await r.text();
  co_await out.write(body);
  co_return out.done();
}

DRIVER_TEST(passage, "a client that waits for 100 gets it of an upstream that answers first") {
  runtime rt(make());
  rt.run([]() -> task<> {
    co_await with_proxy(&early_backend, usual, [](address at, http::reverse_proxy&) -> task<> {
      stream on = co_await tcp_connect(at);
      co_await on.write(
          std::string_view("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                           "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n"));
      std::string got = co_await read_until(on, "\r\n\r\n");
      EXPECT_TRUE(got.starts_with("HTTP/1.1 100 ")) << got;
      co_await on.write(std::string_view("hello"));
      got += co_await read_all(on);
      EXPECT_TRUE(got.contains("HTTP/1.1 200 ")) << got;
      EXPECT_TRUE(got.contains("begun ") && got.contains("hello")) << got;
    });
  });
}

DRIVER_TEST(passage, "an upstream that begins an answer of success gets the body that waits") {
  runtime rt(make());
  rt.run([]() -> task<> {
    // It sends its second text when the body has come, which ends as a head does.
    const script lines = {{"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nbegun ", "ended"}};
    co_await with_script(lines, [](address up, scripted_server& s) -> task<> {
      http::proxy_options o;
      o.upstreams = {url_of(up, "")};
      co_await with_proxy_to(o, [&s](address at, http::reverse_proxy&) -> task<> {
        const std::string got = co_await ask(
            at, "POST /", "Expect: 100-continue\r\nContent-Length: 5\r\n", "x\r\n\r\n");
        EXPECT_TRUE(got.contains("begun ") && got.contains("ended")) << got;
        EXPECT_EQ(s.heads.at(1), "x\r\n\r\n");
      });
    });
  });
}

DRIVER_TEST(passage, "answers without a body keep their meaning") {
  runtime rt(make());
  rt.run([]() -> task<> {
    co_await with_proxy(&passage_backend, usual, [](address at, http::reverse_proxy& p) -> task<> {
      http::client web;
      http::fetched got = co_await web.head(url_of(at, "/large"));
      EXPECT_EQ(got.header("content-length"), "1000000");
      got = co_await web.head(url_of(at, "/echo"));
      const bool http1 = upstream_scheme() == "http://";
      EXPECT_EQ(got.header("transfer-encoding"), http1 ? "chunked" : "");
      got = co_await web.get(url_of(at, "/empty"));
      EXPECT_EQ(got.status(), 204);
      EXPECT_FALSE(got.head.has("content-length"));
      got = co_await web.send(http::outgoing("DELETE", url_of(at, "/refuse")));
      EXPECT_EQ(got.status(), 403);
      EXPECT_EQ(got.body, "no");
      EXPECT_EQ(p.counters(0).connections, 1u);
      EXPECT_EQ(status_of(co_await ask(at, "TRACE /fields")), "405");
    });
  });
}

DRIVER_TEST(passage, "100 Continue comes from the upstream, and a refusal instead of it passes") {
  runtime rt(make());
  rt.run([]() -> task<> {
    co_await with_proxy(&passage_backend, usual, [](address at, http::reverse_proxy&) -> task<> {
      stream on = co_await tcp_connect(at);
      co_await on.write(std::string_view(
          "POST /length HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"));
      std::string got = co_await read_until(on, "\r\n\r\n");
      EXPECT_EQ(got, "HTTP/1.1 100 Continue\r\n\r\n");
      co_await on.write(std::string_view("body"));
      got = co_await read_until(on, "\r\n\r\n4");
      EXPECT_EQ(status_of(got), "200");
      stream other = co_await tcp_connect(at);
      co_await other.write(std::string_view(
          "POST /refuse HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"));
      got = co_await read_until(other, "no");
      EXPECT_EQ(status_of(got), "403") << got;
    });
  });
}

struct shout {
  task<> operator()(http::upgraded on) const {
    co_await on.connection.write(std::string("welcome "));
    while (received in = co_await on.connection.receive())
      co_await on.connection.write(std::string(in.text()));
    co_await on.connection.write(std::string("bye"));
    on.connection.shutdown_write();
  }
};

task<http::response> upgrading_backend(http::request& r) {
  http::response head(101);
  head.header("X-Chosen", "yes");
  http::take_over then(shout{});
  co_return co_await r.hand_over("shout", std::move(head), std::move(then));
}

DRIVER_TEST(passage, "an upgraded connection passes bytes both ways, and each end by itself") {
  runtime rt(make());
  rt.run([]() -> task<> {
    co_await with_proxy(
        &upgrading_backend, usual, [](address at, http::reverse_proxy& p) -> task<> {
          stream on = co_await tcp_connect(at);
          co_await on.write(std::string_view(
              "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: shout\r\n\r\n"));
          std::string got = co_await read_until(on, "welcome ");
          EXPECT_EQ(got.substr(0, 12), "HTTP/1.1 101");
          EXPECT_EQ(field_of(got, "Upgrade"), "shout");
          EXPECT_EQ(field_of(got, "X-Chosen"), "yes");
          EXPECT_EQ(p.counters(0).active, 1u);
          co_await on.write(std::string_view("ping"));
          EXPECT_EQ(co_await read_until(on, "ping"), "ping");
          on.shutdown_write();
          EXPECT_EQ(co_await read_all(on), "bye");
          while (p.counters(0).active != 0) co_await sleep_for(1ms);
          // Without the upgrade it is an ordinary request.
          EXPECT_EQ(status_of(co_await ask(at, "GET /")), "426");
        });
  });
}

task<http::response> reading_backend(http::request& r) {
  std::size_t size = 0;
  for (;;) {
    const std::string_view part = co_await r.read();
    if (part.empty()) break;
    size += part.size();
  }
  http::response head(101);
  head.header("X-Size", std::to_string(size));
  http::take_over then(shout{});
  co_return co_await r.hand_over("shout", std::move(head), std::move(then));
}

/// As kubectl exec and docker exec ask.
DRIVER_TEST(passage, "an upgrade passes with a body, and with one of no bytes") {
  runtime rt(make());
  rt.run([]() -> task<> {
    co_await with_proxy(&reading_backend, usual, [](address at, http::reverse_proxy&) -> task<> {
      const std::string large(300'000, 'x');
      const std::string asks =
          "POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: shout\r\n";
      const std::string chunk = "Transfer-Encoding: chunked\r\n\r\n";
      struct sent {
        std::string head, later;
        std::size_t size;
      };
      const sent all[] = {{"Content-Length: 0\r\n\r\n", "", 0},
                          {"Content-Length: 4\r\n\r\nbody", "", 4},
                          {"Content-Length: 300000\r\n\r\n", large, large.size()},
                          {"Content-Length: 4\r\nExpect: 100-continue\r\n\r\n", "body", 4},
                          {chunk + "4\r\nbody\r\n", "0\r\n\r\n", 4},
                          {"\r\n", "", 0}};
      for (const sent& each : all) {
        stream on = co_await tcp_connect(at);
        const std::string first = asks + each.head;
        co_await on.write(std::string_view(first));
        if (!each.later.empty()) co_await on.write(std::string_view(each.later));
        const std::string got = co_await read_until(on, "welcome ");
        EXPECT_NE(got.find("HTTP/1.1 101"), std::string::npos) << each.head << got;
        EXPECT_EQ(field_of(got.substr(got.find("HTTP/1.1 101")), "X-Size"),
                  std::to_string(each.size));
        co_await on.write(std::string_view("ping"));
        EXPECT_EQ(co_await read_until(on, "ping"), "ping");
      }
    });
  });
}

DRIVER_TEST(passage, "an upstream that switches before it has the whole body gets the rest") {
  runtime rt(make());
  rt.run([]() -> task<> {
    const script lines = {
        {"HTTP/1.1 101 OK\r\nConnection: upgrade\r\nUpgrade: shout\r\n\r\nearly"}};
    co_await with_script(
        lines,
        [](address up, scripted_server& s) -> task<> {
          http::proxy_options o;
          o.upstreams = {url_of(up, "")};
          co_await with_proxy_to(o, [&s](address at, http::reverse_proxy&) -> task<> {
            stream on = co_await tcp_connect(at);
            co_await on.write(std::string_view(
                "POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c, shout\r\n"
                "Content-Length: 6\r\n\r\nthe"));
            while (s.heads.empty()) co_await sleep_for(1ms);
            co_await on.write(std::string_view("end"));
            const std::string got = co_await read_until(on, "early");
            EXPECT_EQ(status_of(got), "101");
            EXPECT_NE(s.heads.at(0).find("\r\nUpgrade: shout\r\n"), std::string::npos)
                << s.heads.at(0);
            on.close();
          });
        },
        true);
  });
}

DRIVER_TEST(passage, "an answer before the answer passes") {
  runtime rt(make());
  rt.run([]() -> task<> {
    const script lines = {
        {"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
         "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"}};
    co_await with_script(lines, [](address up, scripted_server&) -> task<> {
      http::proxy_options o;
      o.upstreams = {url_of(up, "")};
      co_await with_proxy_to(o, [](address at, http::reverse_proxy&) -> task<> {
        const std::string got = co_await ask(at, "GET /");
        EXPECT_EQ(got.substr(0, 66),
                  "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\nHTTP/1.1 ");
        EXPECT_EQ(got.substr(got.size() - 2), "ok");
      });
    });
  });
}

}  // namespace
}  // namespace heddle::test
