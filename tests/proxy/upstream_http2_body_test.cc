// SPDX-License-Identifier: MIT
// Answers and bodies over HTTP/2 upstreams: answers before the answer, trailers in both directions,
// clients that leave or are slow, many requests at once, health checks.
#include "heddle/web/body_writer.hh"
#include "proxy/frames_upstream.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

DRIVER_TEST(upstream_http2_body, "an answer before the answer passes to both versions") {
  runtime rt(make());
  rt.run([]() -> task<> {
    co_await with_frames_upstream(
        usual, [](address at, http::reverse_proxy&, listener door) -> task<> {
          std::string got;
          scope s;
          s.spawn(get_beside(at, got));
          http2_client peer = co_await take_frames(door);
          static_cast<void>(co_await peer.until("HEADERS 1"));
          peer.headers(1, answered("103", one_field("link", "</a.css>; rel=preload")), false);
          put_answer(peer, 1, "page");
          co_await peer.send();
          co_await s.join();
          EXPECT_TRUE(got.starts_with("HTTP/1.1 103 ")) << got;
          EXPECT_NE(got.find("</a.css>; rel=preload\r\n"), got.npos) << got;
          EXPECT_NE(got.find("\r\n\r\nHTTP/1.1 200 "), got.npos) << got;
          EXPECT_TRUE(got.ends_with("page")) << got;

          http2_client client(co_await tcp_connect(at));
          client.get(1, "/");
          co_await client.send();
          static_cast<void>(co_await peer.until("HEADERS 3"));
          peer.headers(3, answered("103", one_field("link", "</a.css>; rel=preload")), false);
          co_await peer.send();
          const std::string early = co_await client.next();  // before the upstream goes on
          EXPECT_TRUE(early.starts_with("HEADERS 1 :status=103")) << early;
          put_answer(peer, 3, "page");
          const std::string rest = (co_await peer.send(), co_await client.until("DATA 1 4"));
          EXPECT_NE(rest.find("HEADERS 1 :status=200"), rest.npos) << rest;
          client.shut();
        });
  });
}

DRIVER_TEST(upstream_http2_body, "more answers before the answer than informational_max are 502") {
  runtime rt(make());
  rt.run([]() -> task<> {
    http::proxy_options o;
    o.informational_max = 3;
    co_await with_frames_upstream(o, [](address at, http::reverse_proxy&, listener door) -> task<> {
      std::string got;
      scope s;
      s.spawn(get_beside(at, got));
      http2_client peer = co_await take_frames(door);
      static_cast<void>(co_await peer.until("HEADERS 1"));
      for (int i = 0; i < 4; ++i) peer.headers(1, answered("103"), false);
      EXPECT_EQ(co_await peer.until("RST_STREAM 1"), "RST_STREAM 1 8\n");
      co_await s.join();
      EXPECT_NE(got.find("HTTP/1.1 502 "), got.npos) << got;
    });
  });
}

DRIVER_TEST(upstream_http2_body, "trailers pass in both directions, from each version") {
  runtime rt(make());
  rt.run([]() -> task<> {
    co_await with_frames_upstream(
        usual, [](address at, http::reverse_proxy&, listener door) -> task<> {
          std::string got;
          scope s;
          s.spawn(ask_beside(at, "POST /", "TE: trailers\r\nTransfer-Encoding: chunked\r\n",
                             "4\r\nfour\r\n0\r\nX-Sum: 1\r\n\r\n", got));
          http2_client peer = co_await take_frames(door);
          std::string sent = co_await peer.until("HEADERS 1 END");
          EXPECT_NE(sent.find(" te=trailers"), sent.npos) << sent;
          EXPECT_NE(sent.find("HEADERS 1 END x-sum=1\n"), sent.npos) << sent;
          peer.headers(1, answered("200"), false);
          peer.data(1, "body", false);
          peer.headers(1, one_field("grpc-status", "0"));
          co_await peer.send();
          co_await s.join();
          EXPECT_TRUE(got.ends_with("4\r\nbody\r\n0\r\ngrpc-status: 0\r\n\r\n")) << got;

          http2_client client(co_await tcp_connect(at));
          client.request(1, "POST", "/", one_field("te", "trailers"), false);
          client.data(1, "four", false);
          client.headers(1, one_field("x-sum", "2"));
          co_await client.send();
          sent = co_await peer.until("HEADERS 3 END");
          EXPECT_NE(sent.find("HEADERS 3 END x-sum=2\n"), sent.npos) << sent;
          peer.headers(3, answered("200"), false);
          peer.data(3, "body", false);
          peer.headers(3, one_field("grpc-status", "5"));
          co_await peer.send();
          const std::string back = co_await client.until("HEADERS 1 END");
          EXPECT_NE(back.find("HEADERS 1 END grpc-status=5\n"), back.npos) << back;
          client.shut();
        });
  });
}

DRIVER_TEST(upstream_http2_body, "an answer that is a head alone keeps gRPC's status") {
  runtime rt(make());
  rt.run([]() -> task<> {
    co_await with_frames_upstream(
        usual, [](address at, http::reverse_proxy&, listener door) -> task<> {
          http2_client client(co_await tcp_connect(at));
          field_list fields = one_field("te", "trailers");
          fields.emplace_back("content-type", "application/grpc");
          fields.emplace_back("grpc-timeout", "250m");
          client.request(1, "POST", "/t.S/M", std::move(fields), false);
          co_await client.send();
          http2_client peer = co_await take_frames(door);
          const std::string sent = co_await peer.until("HEADERS 1");
          EXPECT_NE(sent.find(" grpc-timeout=250m"), sent.npos) << sent;
          EXPECT_NE(sent.find(" content-type=application/grpc"), sent.npos) << sent;
          peer.headers(1, answered("200", one_field("grpc-status", "12")));
          put_reset(peer, 1, http2_error::no_error);  // it reads no more of the request
          co_await peer.send();
          const std::string back = co_await client.until("HEADERS 1 END");
          EXPECT_NE(back.find(" grpc-status=12"), back.npos) << back;
          client.shut();
        });
  });
}

DRIVER_TEST(upstream_http2_body, "a client that leaves resets its stream alone") {
  runtime rt(make());
  rt.run([]() -> task<> {
    co_await with_frames_upstream(
        usual, [](address at, http::reverse_proxy& p, listener door) -> task<> {
          std::string other;
          scope s;
          s.spawn(get_beside(at, other));
          http2_client peer = co_await take_frames(door);
          static_cast<void>(co_await peer.until("HEADERS 1"));
          // A client of HTTP/1.1 that closes, before its answer and inside it.
          std::uint32_t id = 3;
          for (const bool begun : {false, true}) {
            stream client = co_await tcp_connect(at);
            co_await client.write(std::string_view("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
            static_cast<void>(co_await peer.until("HEADERS " + std::to_string(id)));
            if (begun) {
              peer.headers(id, answered("200"), false);
              peer.data(id, "begin", false);
              co_await peer.send();
              static_cast<void>(co_await read_until(client, "begin"));
            }
            client.close();
            EXPECT_EQ(co_await peer.next(), "RST_STREAM " + std::to_string(id) + " 8");
            id += 2;
          }
          // A client of HTTP/2 that resets its stream.
          for (const bool begun : {false, true}) {
            http2_client client(co_await tcp_connect(at));
            client.request(1, "POST", "/", {}, false);
            client.data(1, "begin", false);
            co_await client.send();
            static_cast<void>(co_await peer.until("DATA " + std::to_string(id) + " 5"));
            if (begun) {
              peer.headers(id, answered("200"), false);
              peer.data(id, "begin", false);
              co_await peer.send();
              static_cast<void>(co_await client.until("DATA 1 5"));
            }
            put_reset(client, 1, http2_error::cancel);
            co_await client.send();
            EXPECT_EQ(co_await peer.next(), "RST_STREAM " + std::to_string(id) + " 8");
            client.shut();
            id += 2;
          }
          EXPECT_TRUE(co_await wait_until([&p] { return p.counters(0).active == 1; }));
          put_answer(peer, 1, "stays");
          co_await peer.send();
          co_await s.join();
          EXPECT_EQ(body_of(other), "stays");
          EXPECT_EQ(p.counters(0).failures, 0u);
          EXPECT_EQ(p.counters(0).connections, 1u);
        });
  });
}

constexpr std::size_t slow_part_bytes = 64 * 1024;
constexpr std::size_t slow_parts = 256;  // 16 MiB

/// A backend over h2c, as with_proxy() makes one over http.
template <class Body>
task<> with_h2c_proxy(http::handler backend, http::proxy_options options, Body body) {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  options.upstreams.push_back("h2c://" + door.local().to_string());
  http::server web(std::move(backend));
  scope s;
  s.spawn(web.serve(door));
  try {
    co_await with_proxy_to(std::move(options), std::move(body));
  } catch (...) {
    s.fail(std::current_exception());
  }
  web.stop();
  web.stop();
  co_await s.settled();
  s.rethrow_failure();
}

DRIVER_TEST(upstream_http2_body, "a slow client holds up its own answer alone") {
  runtime rt(make());
  rt.run([]() -> task<> {
    std::uint64_t sent = 0;
    const http::handler backend = [&sent](http::request& r) -> task<http::response> {
      if (r.path() != "/large") co_return http::response(200).text("small");
      http::body_writer out =
          co_await r.start(http::response(200).length(slow_part_bytes * slow_parts));
      const std::string part(slow_part_bytes, 'L');
      for (std::size_t i = 0; i != slow_parts; ++i) {
        co_await out.write(part);
        co_await out.flush();
        sent += slow_part_bytes;
      }
      co_return out.done();
    };
    co_await with_h2c_proxy(backend, usual, [&sent](address at, http::reverse_proxy& p) -> task<> {
      // No window beyond the first 65,535 bytes: the proxy may send no more than these.
      http2_client client(co_await tcp_connect(at));
      client.get(1, "/large");
      co_await client.send();
      while (client.body.size() < 65'535) static_cast<void>(co_await client.next());
      std::uint64_t before = ~sent;
      while (std::exchange(before, sent) != sent) co_await sleep_for(200ms);
      // The upstream's window for the stream, what the proxy has read, and the writer's buffer.
      EXPECT_LT(sent, 1u << 20);
      for (int i = 0; i < 20; ++i) EXPECT_EQ(body_of(co_await ask(at, "GET /")), "small");
      EXPECT_EQ(p.counters(0).connections, 1u);
      client.window(0, 1u << 30);
      client.window(1, 1u << 30);
      co_await client.send();
      while (client.body.size() < slow_part_bytes * slow_parts) {
        const std::string frame = co_await client.next();
        if (!frame.starts_with("DATA 1")) {
          ADD_FAILURE() << frame;
          break;
        }
      }
      EXPECT_EQ(sent, slow_part_bytes * slow_parts);
      client.shut();
    });
  });
}

DRIVER_TEST(upstream_http2_body, "an upstream that reads slowly holds up its client") {
  runtime rt(make());
  rt.run([]() -> task<> {
    co_await with_frames_upstream(usual,
                                  [](address at, http::reverse_proxy&, listener door) -> task<> {
                                    http2_client client(co_await tcp_connect(at));
                                    client.request(1, "POST", "/", {}, false);
                                    co_await client.send();
                                    http2_client peer = co_await take_frames(door);
                                    static_cast<void>(co_await peer.until("HEADERS 1"));
                                    // It gives no window: 65,535 bytes come, and the proxy's own
                                    // window for the client ends.
                                    const std::string part(16'384, 'u');
                                    for (int i = 0; i < 3; ++i) client.data(1, part, false);
                                    co_await client.send();
                                    while (peer.body.size() < 3 * part.size())
                                      static_cast<void>(co_await peer.next());
                                    client.data(1, part, true);
                                    co_await client.send();
                                    while (peer.body.size() < 65'535)
                                      static_cast<void>(co_await peer.next());
                                    EXPECT_EQ(peer.body.size(), 65'535u);
                                    EXPECT_EQ(co_await peer.next(100ms), "nothing");
                                    peer.window(0, 1000);
                                    peer.window(1, 1000);
                                    static_cast<void>(co_await peer.until("DATA 1 "));
                                    EXPECT_EQ(peer.body.size(), 4 * part.size());
                                    put_answer(peer, 1, "done");
                                    co_await peer.send();
                                    static_cast<void>(co_await client.until("DATA 1 4 END"));
                                    client.shut();
                                  });
  });
}

DRIVER_TEST(upstream_http2_body, "many requests share few connections, within the peer's limit") {
  runtime rt(make());
  rt.run([]() -> task<> {
    int now = 0, most = 0;
    const http::handler backend = [&now, &most](http::request& r) -> task<http::response> {
      most = std::max(most, ++now);
      const std::string body = co_await r.text();
      // The first answers wait until both connections are in use.
      for (int turns = 0; most <= 10 && turns != 5000; ++turns) co_await sleep_for(1ms);
      co_await sleep_for(1ms);
      --now;
      co_return http::response(200).text(body);
    };
    http::proxy_options o;
    o.http2.connections_max = 2;
    o.http2.streams_max = 10;
    co_await with_h2c_proxy(backend, o, [&most](address at, http::reverse_proxy& p) -> task<> {
      std::vector<std::string> got(300);
      scope s;
      for (std::size_t i = 0; i != got.size(); ++i)
        s.spawn(ask_beside(at, "POST /", "Content-Length: 3\r\n", std::to_string(100 + i), got[i]));
      co_await s.join();
      for (std::size_t i = 0; i != got.size(); ++i)
        EXPECT_EQ(body_of(got[i]), std::to_string(100 + i));
      EXPECT_LE(most, 20);
      EXPECT_GT(most, 10);
      EXPECT_EQ(p.counters(0).connections, 2u);
      EXPECT_EQ(p.counters(0).reused, 298u);
      EXPECT_EQ(p.counters(0).idle, 2u);
      EXPECT_EQ(p.counters(0).failures, 0u);
    });
  });
}

DRIVER_TEST(upstream_http2_body, "no more streams are open than the upstream allows") {
  runtime rt(make());
  rt.run([]() -> task<> {
    http::proxy_options o;
    o.http2.connections_max = 1;
    co_await with_frames_upstream(o,
                                  [](address at, http::reverse_proxy& p, listener door) -> task<> {
                                    std::vector<std::string> got(6);
                                    scope s;
                                    s.spawn(get_beside(at, got[0]));
                                    http2_client peer = co_await take_peer(door);
                                    peer.setting(http::http2_setting::max_concurrent_streams, 2);
                                    static_cast<void>(co_await peer.until("HEADERS 1"));
                                    put_answer(peer, 1, "x");
                                    co_await peer.send();
                                    co_await s.settled();
                                    for (std::size_t i = 1; i != got.size(); ++i)
                                      s.spawn(get_beside(at, got[i]));
                                    std::uint32_t open = 0, done = 1;
                                    while (done != 6) {
                                      while (open < 2 && open + done < 6) {
                                        const std::string one = co_await peer.next();
                                        EXPECT_TRUE(one.starts_with("HEADERS ")) << one;
                                        ++open;
                                      }
                                      if (open == 2) EXPECT_EQ(co_await peer.next(20ms), "nothing");
                                      put_answer(peer, 1 + 2 * done, "x");
                                      co_await peer.send();
                                      --open;
                                      ++done;
                                    }
                                    co_await s.join();
                                    for (const std::string& each : got)
                                      EXPECT_EQ(body_of(each), "x");
                                    EXPECT_EQ(p.counters(0).connections, 1u);
                                    EXPECT_EQ(p.counters(0).retries, 0u);
                                  });
  });
}

DRIVER_TEST(upstream_http2_body, "health checks use HTTP/2, and take an upstream out and back") {
  runtime rt(make());
  rt.run([]() -> task<> {
    bool well = true;
    int asked = 0;
    const http::handler backend = [&well, &asked](http::request& r) -> task<http::response> {
      if (r.path() == "/health") {
        ++asked;
        EXPECT_EQ(r.head().major_version(), 2);
        EXPECT_EQ(r.header("user-agent"), "heddle-health-check");
      }
      co_return http::response(r.path() == "/health" && !well ? 500 : 200);
    };
    proxy_log log;
    http::proxy_options o;
    o.log = log.taker();
    o.health = {.path = "/health", .interval = 20ms, .rise = 2, .fall = 2};
    co_await with_h2c_proxy(
        backend, o, [&well, &asked, &log](address at, http::reverse_proxy& p) -> task<> {
          p.start();
          EXPECT_TRUE(co_await wait_until([&asked] { return asked >= 3; }));
          EXPECT_TRUE(p.counters(0).up);
          well = false;
          EXPECT_TRUE(co_await wait_until([&p] { return !p.counters(0).up; }));
          EXPECT_EQ(status_of(co_await ask(at, "GET /")), "503");
          well = true;
          EXPECT_TRUE(co_await wait_until([&p] { return p.counters(0).up; }));
          EXPECT_EQ(status_of(co_await ask(at, "GET /")), "200");
          EXPECT_TRUE(log.has("is down: its health checks fail: /health gave 500")) << log.text;
        });
  });
}

DRIVER_TEST(upstream_http2_body, "a health check that gets no answer, or no HTTP/2, says why") {
  runtime rt(make());
  rt.run([]() -> task<> {
    for (const bool silent : {true, false}) {
      proxy_log log;
      http::proxy_options o;
      o.log = log.taker();
      o.health = {.path = "/health", .interval = 20ms, .timeout = 100ms, .rise = 1, .fall = 1};
      co_await with_frames_upstream(
          o, [silent, &log](address, http::reverse_proxy& p, listener door) -> task<> {
            p.start();
            if (silent) {
              http2_client peer = co_await take_frames(door);
              const std::string sent = co_await peer.until("HEADERS 1");
              EXPECT_NE(sent.find(":path=/health"), sent.npos) << sent;
              EXPECT_TRUE(co_await wait_until([&p] { return !p.counters(0).up; }));
              EXPECT_TRUE(log.has("no answer in time")) << log.text;
            } else {
              stream plain = co_await with_timeout(door.accept(), 60s);
              co_await plain.write(std::string_view("HTTP/1.1 400 Bad Request\r\n\r\n"));
              EXPECT_TRUE(co_await wait_until([&p] { return !p.counters(0).up; }));
              EXPECT_TRUE(log.has("it speaks HTTP/1.1")) << log.text;
            }
          });
    }
  });
}

}  // namespace
}  // namespace heddle::test
