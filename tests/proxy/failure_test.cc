// SPDX-License-Identifier: MIT
// Upstreams that refuse, break, are late or come back, and clients that leave.
#include <optional>

#include "heddle/core/sleep.hh"
#include "proxy/harness.hh"
#include "support/wait_until.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

/// An address at which nothing listens.
address nobody() {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  return door.local();
}

template <class... Addresses>
http::proxy_options to(const Addresses&... all) {
  http::proxy_options o;
  (o.upstreams.push_back(url_of(all, "")), ...);
  return o;
}

struct log_of {
  std::vector<std::string> lines;
  [[nodiscard]] std::function<void(std::string_view)> taker() {
    return [this](std::string_view line) { lines.emplace_back(line); };
  }
  [[nodiscard]] std::string text() const {
    std::string all;
    for (const std::string& each : lines) all += each + "\n";
    return all;
  }
};

DRIVER_TEST(failure, "a refused connection is 502, with the reason in the log alone") {
  runtime rt(make());
  rt.run([]() -> task<> {
    log_of log;
    http::proxy_options o = to(nobody());
    o.log = log.taker();
    co_await with_proxy_to(o, [&log](address at, http::reverse_proxy& p) -> task<> {
      const std::string got = co_await ask(at, "GET /a");
      EXPECT_EQ(status_of(got), "502");
      EXPECT_EQ(field_of(got, "Content-Type"), "application/problem+json");
      EXPECT_EQ(got.find("refused"), got.npos) << got;
      EXPECT_EQ(log.text(), "502 GET /a: " + p.name(0) + ": cannot connect: Connection refused\n");
      EXPECT_EQ(p.counters(0).failures, 1u);
    });
  });
}

DRIVER_TEST(failure,
            "a request goes to another upstream if the first one refuses, and it goes down") {
  runtime rt(make());
  rt.run([]() -> task<> {
    log_of log;
    http::proxy_options o = to(nobody());
    o.log = log.taker();
    const http::handler fine = [](http::request& r) -> task<http::response> {
      co_return http::response(200).text(std::to_string((co_await r.text()).size()));
    };
    co_await with_proxy(fine, o, [&log](address at, http::reverse_proxy& p) -> task<> {
      http::client web;
      for (int i = 0; i < 10; ++i) {
        const http::fetched got = co_await web.post(url_of(at, "/"), "text/plain", "four");
        EXPECT_EQ(got.status(), 200);
        EXPECT_EQ(got.body, "4");
      }
      EXPECT_EQ(p.counters(1).failures, 3u);
      EXPECT_FALSE(p.counters(1).up);
      EXPECT_TRUE(p.counters(0).up);
      EXPECT_EQ(log.text(), "upstream " + p.name(1) +
                                " is down: 3 failures, the last: cannot connect: Connection "
                                "refused; tried again in 10 s\n");
    });
  });
}

DRIVER_TEST(failure, "a paused upstream gets the request that the others do not take") {
  runtime rt(make());
  rt.run(with_scope([](scope& s) -> task<> {
    std::optional<tcp_listener> held(tcp_listener::listen(address::loopback(0)));
    const address back = held->local();  // a port that nothing else gets meanwhile
    tcp_listener door = tcp_listener::listen(address::loopback(0));
    http::proxy_options o = to(back, door.local());
    o.failures.count = 1;
    o.failures.pause = 1h;
    const script once = {{"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"}};
    scripted_server second(once);
    s.spawn(second.serve(std::move(door)));
    co_await with_proxy_to(o, [&](address at, http::reverse_proxy& p) -> task<> {
      held.reset();
      http::client web;
      EXPECT_EQ((co_await web.get(url_of(at))).status(), 200);
      EXPECT_FALSE(p.counters(0).up);
      // The first one is there again, and the second one has gone.
      EXPECT_TRUE(co_await wait_until([&] { return second.closed == 1; }));
      const script again = {{"HTTP/1.1 204 No\r\nConnection: close\r\n\r\n"}};
      scripted_server first(again);
      co_await with_scope([&](scope& other) -> task<> {
        other.spawn(first.serve(tcp_listener::listen(back)));
        EXPECT_EQ((co_await web.get(url_of(at))).status(), 204);
      });
    });
  }));
}

DRIVER_TEST(failure, "an idle connection that the upstream closed is replaced without a failure") {
  runtime rt(make());
  rt.run([]() -> task<> {
    const std::string ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    // Each connection ends after one answer, without saying so.
    const script one_each = {{ok}, {ok}, {ok}};
    co_await with_script(one_each, [](address up, scripted_server& s) -> task<> {
      co_await with_proxy_to(to(up), [&s](address at, http::reverse_proxy& p) -> task<> {
        http::client web;
        EXPECT_EQ((co_await web.get(url_of(at))).status(), 200);
        EXPECT_EQ((co_await web.get(url_of(at))).status(), 200);
        // What may not be sent twice looks first.
        EXPECT_TRUE(co_await wait_until([&] { return p.counters(0).idle == 1 && s.closed == 2; }));
        // A new connection on the loopback arrives only after the end of the closed one.
        const tcp_listener door = tcp_listener::listen(address::loopback(0));
        static_cast<void>(co_await tcp_connect(door.local()));
        EXPECT_EQ((co_await web.post(url_of(at), "text/plain", "x")).status(), 200);
        EXPECT_EQ(p.counters(0).failures, 0u);
        EXPECT_EQ(s.accepted, 3);
      });
    });
  });
}

DRIVER_TEST(failure, "what may have been acted on is not sent twice") {
  runtime rt(make());
  rt.run([]() -> task<> {
    const script silent = {{""}, {""}};
    co_await with_script(silent, [](address bad, scripted_server& s) -> task<> {
      const script answering = {{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"}};
      co_await with_script(answering, [bad, &s](address good, scripted_server& other) -> task<> {
        const http::proxy_options both = to(bad, good);
        co_await with_proxy_to(both, [&s, &other](address at, http::reverse_proxy&) -> task<> {
          EXPECT_EQ(status_of(co_await ask(at, "POST /", "Content-Length: 1\r\n", "x")), "502");
          EXPECT_EQ(s.accepted, 1);
          EXPECT_EQ(other.accepted, 0);
        });
      });
    });
  });
}

task<> send_again(std::string method) {
  const std::string ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  const script silent = {{""}};
  co_await with_script(silent, [&ok, &method](address bad, scripted_server&) -> task<> {
    const script answering = {{ok}};
    co_await with_script(answering, [bad, &method](address good, scripted_server&) -> task<> {
      const http::proxy_options both = to(bad, good);
      co_await with_proxy_to(both, [&method](address at, http::reverse_proxy& p) -> task<> {
        const std::string got = co_await ask(at, method + " /", "Content-Length: 1\r\n", "x");
        EXPECT_EQ(status_of(got), "200") << method;
        EXPECT_EQ(p.counters(0).failures, 1u) << method;
        EXPECT_EQ(p.counters(0).retries, 1u) << method;
      });
    });
  });
}

DRIVER_TEST(failure, "an idempotent request is sent again to another upstream") {
  runtime rt(make());
  rt.run([]() -> task<> {
    for (const char* method : {"PUT", "QUERY"}) co_await send_again(method);
  });
}

/// The first part of a body, after which the upstream closes the connection, and the second part.
constexpr std::string_view begun = "12345", rest = "67890";

/// Answers a request, takes the beginning of another one and closes; takes the whole of the next
/// one and answers.
task<> close_once(tcp_listener& door, std::string& whole) {
  {
    stream first = co_await door.accept();
    static_cast<void>(co_await read_until(first, "\r\n\r\n"));
    co_await first.write("HTTP/1.1 204 No Content\r\n\r\n");
    static_cast<void>(co_await read_until(first, std::string(begun)));
  }
  stream second = co_await door.accept();
  whole = co_await read_until(second, std::string(rest));
  co_await second.write("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
}

task<> upload_in_parts(std::string method, std::string expected) {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  const http::proxy_options o = to(door.local());
  std::string whole;
  co_await with_scope([&](scope& upstream) -> task<> {
    upstream.spawn(close_once(door, whole));
    co_await with_proxy_to(o, [&](address at, http::reverse_proxy& p) -> task<> {
      const stream conn = co_await tcp_connect(at);
      co_await conn.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      EXPECT_EQ(status_of(co_await read_until(conn, "\r\n\r\n")), "204");
      co_await conn.write(method + " / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n" +
                          std::string(begun));
      if (expected == "204")
        EXPECT_TRUE(co_await wait_until([&] { return p.counters(0).retries == 1; }));
      co_await conn.write(rest);
      EXPECT_EQ(status_of(co_await read_until(conn, "\r\n\r\n")), expected) << method;
    });
    upstream.cancel();
  });
  EXPECT_EQ(whole.ends_with("\r\n\r\n1234567890"), expected == "204") << method << whole;
}

DRIVER_TEST(failure, "an upload is sent again if its first parts are kept and it is idempotent") {
  runtime rt(make());
  rt.run([]() -> task<> {
    co_await upload_in_parts("PUT", "204");
    co_await upload_in_parts("POST", "502");
  });
}

DRIVER_TEST(failure, "an upstream that breaks in its answer cuts the client's connection") {
  runtime rt(make());
  rt.run([]() -> task<> {
    const script lines = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegin"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegin\r\n"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegin\r\nzz\r\n"},
        {"HTTP/1.1 200 OK\r\nContent-Length: nine\r\n\r\n"},
        {"HTTP/1.1 200 OK\r\nContent-"}};
    co_await with_script(lines, [](address up, scripted_server&) -> task<> {
      log_of log;
      http::proxy_options o = to(up);
      o.log = log.taker();
      o.failures.count = 0;
      co_await with_proxy_to(o, [&log](address at, http::reverse_proxy&) -> task<> {
        std::string got = co_await ask(at, "GET /1");
        EXPECT_EQ(field_of(got, "Content-Length"), "100");
        EXPECT_EQ(body_of(got), "begin");
        got = co_await ask(at, "GET /2");
        EXPECT_EQ(body_of(got), "5\r\nbegin\r\n");
        got = co_await ask(at, "GET /3");
        EXPECT_EQ(got.find("0\r\n\r\n"), got.npos) << got;
        EXPECT_EQ(status_of(co_await ask(at, "GET /4")), "502");
        EXPECT_EQ(status_of(co_await ask(at, "GET /5")), "502");
        EXPECT_EQ(log.lines.size(), 5u) << log.text();
        EXPECT_NE(log.lines[0].find("95 bytes before the end"), std::string::npos);
      });
    });
  });
}

DRIVER_TEST(failure, "an upstream that is silent is 504") {
  runtime rt(make());
  rt.run([]() -> task<> {
    const script silent = {{}, {}};
    co_await with_script(
        silent,
        [](address up, scripted_server&) -> task<> {
          http::proxy_options o = to(up);
          o.timeouts.answer = 300ms;
          co_await with_proxy_to(o, [](address at, http::reverse_proxy&) -> task<> {
            EXPECT_EQ(status_of(co_await ask(at, "GET /")), "504");
            EXPECT_EQ(status_of(co_await ask(at, "POST /", "Content-Length: 4\r\n", "body")),
                      "504");
          });
        },
        true);
  });
}

DRIVER_TEST(failure, "bytes that are no answer are 502 at once, also without the end of a line") {
  runtime rt(make());
  rt.run([]() -> task<> {
    const script garbage = {{"220 mail.example ESMTP"}, {"\x16\x03\x01"}, {"HTTQ"}};
    co_await with_script(
        garbage,
        [](address up, scripted_server&) -> task<> {
          http::proxy_options o = to(up);
          o.timeouts.answer = 20s;
          co_await with_proxy_to(o, [](address at, http::reverse_proxy&) -> task<> {
            const time_point began = clock::now();
            for (int i = 0; i != 3; ++i) EXPECT_EQ(status_of(co_await ask(at, "POST /")), "502");
            EXPECT_LT(clock::now() - began, 10s);
          });
        },
        true);
  });
}

DRIVER_TEST(failure, "a client that leaves cancels its request at the upstream") {
  runtime rt(make());
  rt.run([]() -> task<> {
    bool ended = false;
    // Over HTTP/1.1 client_ended() tells, and over HTTP/2 the handler is cancelled.
    const http::handler endless = [&ended](http::request& r) -> task<http::response> {
      struct at_end {
        bool& to;
        ~at_end() { to = true; }
      } const tells{ended};
      const bool gone = co_await r.client_ended();
      if (!gone) co_await sleep_for(1h);
      co_return http::response(200);
    };
    std::vector<int> statuses;
    http::server_options front;
    front.log = [&statuses](const http::access& a) { statuses.push_back(a.status); };
    co_await with_proxy(
        endless, usual,
        [&ended](address at, http::reverse_proxy& p) -> task<> {
          stream on = co_await tcp_connect(at);
          co_await on.write(std::string_view("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
          while (p.counters(0).active == 0) co_await sleep_for(1ms);
          const time_point began = clock::now();
          on.close();
          while (p.counters(0).active != 0) co_await sleep_for(1ms);
          EXPECT_LT(clock::now() - began, 10s);
          while (!ended) co_await sleep_for(1ms);
          EXPECT_EQ(p.counters(0).failures, 0u);
        },
        front);
    EXPECT_EQ(statuses, std::vector<int>{499});
  });
}

DRIVER_TEST(failure, "requests wait for a free connection, and get 503 if none comes in time") {
  runtime rt(make());
  rt.run([]() -> task<> {
    std::vector<std::string> got(2);
    const auto one = [&got](address at, std::size_t i, const char* path) -> task<> {
      got[i] = co_await ask(at, std::string("GET ") + path);
    };
    // /long is answered after the request that waits for its connection.
    const http::handler slow = [&got](http::request& r) -> task<http::response> {
      if (r.path() == "/long") {
        EXPECT_TRUE(co_await wait_until([&got] { return !got[1].empty(); }));
      } else {
        co_await sleep_for(50ms);
      }
      co_return http::response(200);
    };
    http::proxy_options o;
    o.connections_max = 1;
    o.timeouts.queue = 20s;
    co_await with_proxy(slow, o, [&one, &got](address at, http::reverse_proxy&) -> task<> {
      scope s;
      s.spawn(one(at, 0, "/a"));
      s.spawn(one(at, 1, "/b"));
      co_await s.join();
      EXPECT_EQ(status_of(got[0]), "200");
      EXPECT_EQ(status_of(std::exchange(got[1], {})), "200");
    });
    o.timeouts.queue = 200ms;
    co_await with_proxy(slow, o, [&one, &got](address at, http::reverse_proxy& p) -> task<> {
      scope s;
      s.spawn(one(at, 0, "/long"));
      EXPECT_TRUE(co_await wait_until([&p] { return p.counters(0).active == 1; }));
      s.spawn(one(at, 1, "/b"));
      co_await s.join();
      EXPECT_EQ(status_of(got[0]), "200");
      EXPECT_EQ(status_of(got[1]), "503");
      EXPECT_EQ(field_of(got[1], "Retry-After"), "1");
    });
  });
}

DRIVER_TEST(failure, "health checks take an upstream out and bring it back") {
  runtime rt(make());
  rt.run([]() -> task<> {
    bool well = true;
    int asked = 0;
    const http::handler backend = [&well, &asked](http::request& r) -> task<http::response> {
      if (r.path() == "/health") ++asked;
      co_return http::response(r.path() == "/health" && !well ? 500 : 200);
    };
    log_of log;
    http::proxy_options o;
    o.log = log.taker();
    o.health = {.path = "/health", .interval = 20ms, .rise = 2, .fall = 2};
    co_await with_proxy(
        backend, o, [&well, &asked, &log](address at, http::reverse_proxy& p) -> task<> {
          p.start();
          while (asked < 3) co_await sleep_for(1ms);
          EXPECT_TRUE(p.counters(0).up);
          well = false;
          while (p.counters(0).up) co_await sleep_for(1ms);
          EXPECT_EQ(status_of(co_await ask(at, "GET /")), "503");
          well = true;
          while (!p.counters(0).up) co_await sleep_for(1ms);
          EXPECT_EQ(status_of(co_await ask(at, "GET /")), "200");
          EXPECT_EQ(log.text(), "upstream " + p.name(0) +
                                    " is down: its health checks fail: /health gave 500\n"
                                    "503 GET /: no upstream is up\n"
                                    "upstream " +
                                    p.name(0) + " is up again: its health checks succeed\n");
        });
  });
}

/// How many requests each of three upstreams got, of `count`.
task<std::vector<std::uint64_t>> spread(http::balance by, int count) {
  const http::handler fine = [](http::request&) -> task<http::response> {
    co_return http::response(200);
  };
  std::vector<std::uint64_t> got;
  tcp_listener second = tcp_listener::listen(address::loopback(0));
  tcp_listener third = tcp_listener::listen(address::loopback(0));
  http::proxy_options o = to(second.local(), third.local());
  o.by = by;
  http::server web(fine);
  scope s;
  s.spawn(web.serve(second));
  s.spawn(web.serve(third));
  co_await with_proxy(fine, o, [&got, count](address at, http::reverse_proxy& p) -> task<> {
    http::client client;
    for (int i = 0; i < count; ++i) EXPECT_EQ((co_await client.get(url_of(at))).status(), 200);
    for (std::size_t i = 0; i < p.upstreams(); ++i) got.push_back(p.counters(i).requests);
  });
  web.stop();
  web.stop();
  co_await s.settled();
  co_return got;
}

DRIVER_TEST(failure, "each way of choosing spreads requests as it says") {
  runtime rt(make());
  rt.run([]() -> task<> {
    const std::vector<std::uint64_t> even = {4, 4, 4};
    EXPECT_EQ(co_await spread(http::balance::round_robin, 12), even);
    EXPECT_EQ(co_await spread(http::balance::least_requests, 12), even);
    std::vector<std::uint64_t> one = co_await spread(http::balance::client_address, 12);
    std::ranges::sort(one);
    EXPECT_EQ(one.back(), 12u);
  });
}

HEDDLE_TEST(proxy_options, "options that make no sense are refused with a reason") {
  const auto refused = [](http::proxy_options o) -> std::string {
    try {
      const http::reverse_proxy p(std::move(o));
      return "";
    } catch (const failure& e) {
      return e.what();
    }
  };
  EXPECT_NE(refused({}).find("there is no upstream"), std::string::npos);
  EXPECT_NE(refused({.upstreams = {"ftp://x"}}).find("http://127.0.0.1:3000"), std::string::npos);
  EXPECT_NE(refused({.upstreams = {"http://x/path"}}).find("leave '/path' out"), std::string::npos);
  EXPECT_NE(refused({.upstreams = {"ftp://x"}}).find("not http, https, h2c or unix"),
            std::string::npos);
  EXPECT_NE(refused({.upstreams = {"h2c://unix:/x"}}).find("unix:/run/app.socket"),
            std::string::npos);
  for (const char* const good : {"H2C://127.0.0.1:1", "HTTP://127.0.0.1:1", "UNIX:/run/a"})
    EXPECT_EQ(refused({.upstreams = {good}}), "");
  EXPECT_NE(refused({.upstreams = {"H2C://x"}, .proxy_protocol = 1}).find("HTTP/2"),
            std::string::npos);
  EXPECT_NE(refused({.upstreams = {"unix:"}}).find("name the socket"), std::string::npos);
  EXPECT_NE(refused({.upstreams = {"http://x"}, .health = {.path = "no"}}).find("begins with /"),
            std::string::npos);
  EXPECT_NE(refused({.upstreams = {"http://x"}, .via = "a b"}).find("token"), std::string::npos);
}

}  // namespace
}  // namespace heddle::test
