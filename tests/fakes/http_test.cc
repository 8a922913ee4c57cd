// SPDX-License-Identifier: MIT
// The scripted HTTP server, by raw bytes on each driver: rules, what it keeps, cuts, garbage,
// pipelining, and a node of a cluster.
#include "heddle/fakes/http.hh"

#include "harness.hh"
#include "heddle/sim/cluster.hh"

namespace heddle::test {
namespace {

using fakes::http_answer;
using fakes::http_end;
using fakes::scripted_http;

template <class Body>
task<> with_http(Body body) {
  scripted_http server({.limits = {.body_bytes_max = 1000}, .linger = 100ms});
  const tcp_listener door = tcp_listener::listen(address::loopback(0));
  const address at = door.local();
  const auto inner = [&]() { return body(server, at); };
  co_await beside(server.serve(door), inner);
}

std::string get(const char* target, const char* more = "") {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: x\r\n" + more + "\r\n";
}
constexpr const char* closing = "Connection: close\r\n";

DRIVER_TEST(fakes_http, "the first rule with times left answers, and each request is kept") {
  runtime rt(make());
  rt.run(with_http([](scripted_http& server, address at) -> task<> {
    http_answer busy;
    busy.status = 503;
    busy.fields.push_back({"Retry-After", "1"});
    server.on("GET", "/a", busy, 1);
    http_answer fine;
    fine.body = "hello";
    server.on("", "/a*", fine);
    const std::string both = get("/a") + get("/a/b?c=d") + get("/none", closing);
    const std::string got = co_await converse(at, both);
    EXPECT_EQ(got,
              "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"
              "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
              "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 23\r\n"
              "Connection: close\r\n\r\nno rule fits GET /none\n");
    EXPECT_EQ(server.requests().size(), 3U);
    EXPECT_EQ(server.requests()[1].target, "/a/b?c=d");
    EXPECT_EQ(server.requests()[2].value("CONNECTION"), "close");
    EXPECT_EQ(server.requests()[2].connection, 1U);
    const std::string head = "HEAD /a HTTP/1.0\r\n\r\n";
    EXPECT_EQ(co_await converse(at, head),
              "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n");
  }));
}

DRIVER_TEST(fakes_http, "bodies come by length, in chunks and behind 100 Continue") {
  runtime rt(make());
  rt.run(with_http([](scripted_http& server, address at) -> task<> {
    http_answer chunks;
    chunks.chunked = true;
    chunks.chunk_bytes = 4;
    chunks.body = "abcdef";
    server.on("PUT", "/", chunks);
    const std::string all =
        "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\none"
        "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
        "chunked\r\n\r\n2\r\ntw\r\n1\r\no\r\n0\r\n\r\n"
        "PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nConnection: close\r\n"
        "Content-Length: 5\r\n\r\n";
    const tcp_stream conn = co_await tcp_connect(at);
    co_await conn.write(std::string_view(all));
    const std::string_view answer =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n2\r\nef\r\n0\r\n\r\n";
    std::string got(2 * answer.size() + 25, '\0');
    co_await conn.read(got);
    EXPECT_EQ(got, std::string(answer) + std::string(answer) + "HTTP/1.1 100 Continue\r\n\r\n");
    co_await conn.write("three");
    std::string rest(1000, '\0');
    const std::size_t count = co_await conn.read(rest);
    EXPECT_NE(rest.substr(0, count).find("abcd"), std::string::npos);
    std::string bodies;
    for (const fakes::http_request& r : server.requests()) bodies += r.body + r.problem + ' ';
    EXPECT_EQ(bodies, "one two three ");
  }));
}

DRIVER_TEST(fakes_http, "answers are cut, reset, garbage, or none at all") {
  runtime rt(make());
  rt.run(with_http([](scripted_http& server, address at) -> task<> {
    http_answer cut;
    cut.body = std::string(100, 'x');
    cut.cut_after = 20;
    server.on("GET", "/cut", cut);
    cut.end = http_end::reset;
    server.on("GET", "/reset", cut);
    http_answer garbage;
    garbage.raw = "\x16\x03garbage";
    garbage.end = http_end::close;
    server.on("GET", "/garbage", garbage);
    http_answer silent;
    silent.silent = true;
    server.on("GET", "/silent", silent);
    std::string text = get("/cut");
    EXPECT_EQ(co_await converse(at, text), "HTTP/1.1 200 OK\r\nCon");
    text = get("/garbage");
    EXPECT_EQ(co_await converse(at, text), "\x16\x03garbage");
    text = get("/reset");
    const std::string reset = co_await converse(at, text);
    EXPECT_TRUE(reset.ends_with("(reset)")) << reset;
    text = get("/silent");
    const tcp_stream unanswered = co_await tcp_connect(at);
    co_await unanswered.write(std::string_view(text));
    while (server.asked() != 4) co_await sleep_for(1ms);
    char none[1];
    EXPECT_FALSE(co_await as_expected(with_timeout(unanswered.read(none), 50ms)));
    server.refuse_connections(1);
    EXPECT_EQ(co_await converse(at, text), "(reset)");
    server.refuse_connections(1, http_end::close);
    const std::string closed = co_await converse(at, text);
    EXPECT_TRUE(closed.empty() || closed == "(reset)") << closed;
    EXPECT_EQ(server.asked(), 4U);
    EXPECT_EQ(server.connections(), 6U);
  }));
}

HEDDLE_TEST(fakes_http, "a silent answer keeps the connection until its client ends it") {
  runtime rt(std::make_unique<sim_driver>());
  rt.run([&]() -> task<> {
    scripted_http server({.idle = 1s});
    http_answer silent;
    silent.silent = true;
    server.on("", "", silent);
    const tcp_listener door = tcp_listener::listen(address::loopback(0));
    const address at = door.local();
    const auto body = [&]() -> task<> {
      const tcp_stream conn = co_await tcp_connect(at);
      const std::string text = get("/");
      co_await conn.write(std::string_view(text));
      char none[1];
      const auto got = co_await as_expected(with_timeout(conn.read(none), 1h));
      EXPECT_FALSE(got);
      EXPECT_EQ(got.error(), std::errc::timed_out);
      EXPECT_EQ(server.connections_open(), 1U);
      conn.shutdown_write();
      EXPECT_EQ(co_await conn.read(none), 0U);
    };
    co_await beside(server.serve(door), body);
  });
}

DRIVER_TEST(fakes_http,
            "malformed and large requests get their status, and are kept with a reason") {
  runtime rt(make());
  rt.run(with_http([](scripted_http& server, address at) -> task<> {
    std::string text = "GET / HTTP/1.1\r\n\r\n";  // without Host
    std::string got = co_await converse(at, text);
    EXPECT_TRUE(got.starts_with("HTTP/1.1 400 ")) << got;
    text = "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n" + std::string(1001, 'x');
    got = co_await converse(at, text);
    EXPECT_TRUE(got.starts_with("HTTP/1.1 413 ")) << got;
    const tcp_stream half = co_await tcp_connect(at);
    co_await half.write("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
    half.shutdown_write();
    char rest[10];
    EXPECT_EQ(co_await half.read(rest), 0U);
    EXPECT_EQ(server.requests().size(), 3U);
    EXPECT_EQ(server.requests().back().body, "abc");
    EXPECT_EQ(server.requests().back().problem, "the client ended within the body");
    EXPECT_FALSE(server.requests().front().problem.empty());
    EXPECT_THROW(server.on("G ET", "/", http_answer()), failure);
    http_answer bad;
    bad.status = 100;
    EXPECT_THROW(server.on("GET", "/", bad), failure);
    bad.status = 200;
    bad.delay = -1ns;
    EXPECT_THROW(server.on("GET", "/", bad), failure);
    bad.delay = 0ns;
    bad.fields.push_back({"A", "b\r\nC: d"});
    EXPECT_THROW(server.on("GET", "/", bad), failure);
  }));
}

DRIVER_TEST(fakes_http, "beyond its limits the oldest requests go, and connections are reset") {
  runtime rt(make());
  rt.run([&]() -> task<> {
    scripted_http server({.connections_max = 1, .requests_kept_max = 3, .kept_bytes_max = 2000});
    const tcp_listener door = tcp_listener::listen(address::loopback(0));
    const address at = door.local();
    const auto body = [&]() -> task<> {
      const std::string many = get("/1") + get("/2") + get("/3") + get("/4", closing);
      co_await converse(at, many);
      EXPECT_EQ(server.requests().size(), 3U);
      EXPECT_EQ(server.requests().front().target, "/2");
      while (server.connections_open() != 0) co_await sleep_for(1ms);
      const tcp_stream kept = co_await tcp_connect(at);
      const std::string large = get(("/" + std::string(3000, 'x')).c_str());
      co_await kept.write(std::string_view(large));
      char first[1];
      co_await kept.read(first);
      EXPECT_EQ(server.requests().size(), 1U);
      EXPECT_EQ(server.asked(), 5U);
      EXPECT_EQ(co_await converse(at, many), "(reset)");
    };
    co_await beside(server.serve(door), body);
  });
}

HEDDLE_TEST(fakes_http, "in a cluster a late answer takes virtual time") {
  std::string got;
  nanoseconds took{0};
  sim::cluster all({.world = {.seed = 5, .link = {.latency = 5ms}}});
  sim::node& web = all.add({.name = "web",
                            .program = [](sim::node&) -> task<int> {
                              scripted_http server;
                              http_answer late;
                              late.delay = 30s;
                              late.body = "late";
                              server.on("GET", "/", late);
                              const tcp_listener door = tcp_listener::listen(address::any_v4(80));
                              co_await server.serve(door);
                              co_return 0;
                            },
                            .service = true});
  all.add({.name = "user", .program = [&](sim::node&) -> task<int> {
             const time_point begun = clock::now();
             const std::string text = get("/", closing);
             got = co_await converse(address::parse(web.address())->with_port(80), text);
             took = clock::now() - begun;
             co_return 0;
           }});
  const sim::outcome end = all.run(2min);
  EXPECT_TRUE(end) << end.why << all.trace_text();
  EXPECT_TRUE(got.ends_with("\r\n\r\nlate")) << got;
  EXPECT_GE(took, 30s);
  EXPECT_LT(took, 31s);
}

}  // namespace
}  // namespace heddle::test
