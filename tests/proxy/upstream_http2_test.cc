// SPDX-License-Identifier: MIT
// Upstreams over HTTP/2 that refuse requests, leave, break, or want another version: which requests
// are sent again, and what the client gets.
#include "proxy/frames_upstream.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* chunked_field = "Transfer-Encoding: chunked\r\n";
constexpr const char* ten_in_chunks = "5\r\nabcde\r\n5\r\nfghij\r\n0\r\n\r\n";

DRIVER_TEST(upstream_http2, "a refused request is sent again on its connection, with its body") {
  runtime rt(make());
  rt.run([]() -> task<> {
    co_await with_frames_upstream(
        usual, [](address at, http::reverse_proxy& p, listener door) -> task<> {
          std::string got;
          scope s;
          s.spawn(ask_beside(at, "POST /a", chunked_field, ten_in_chunks, got));
          http2_client peer = co_await take_frames(door);
          for (std::uint32_t id = 1; id != 7; id += 2) {
            const std::string ends = "DATA " + std::to_string(id) + " 0 END";
            const std::string frames = co_await peer.until(ends);
            EXPECT_TRUE(frames.starts_with("HEADERS " + std::to_string(id))) << frames;
            EXPECT_EQ(std::exchange(peer.body, {}), "abcdefghij");
            if (id != 5) put_reset(peer, id, http2_error::refused_stream);
          }
          put_answer(peer, 5, "done");
          co_await peer.send();
          co_await s.join();
          EXPECT_EQ(status_of(got), "200");
          EXPECT_EQ(p.counters(0).retries, 2u);
          EXPECT_EQ(p.counters(0).requests, 3u);
          EXPECT_EQ(p.counters(0).connections, 1u);
          EXPECT_EQ(p.counters(0).failures, 0u);
        });
  });
}

DRIVER_TEST(upstream_http2, "a request refused inside its body goes on with what still comes") {
  runtime rt(make());
  rt.run([]() -> task<> {
    co_await with_frames_upstream(
        usual, [](address at, http::reverse_proxy& p, listener door) -> task<> {
          stream client = co_await tcp_connect(at);
          co_await client.write(
              std::string_view("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                               "Content-Length: 10\r\n\r\nabcde"));
          http2_client peer = co_await take_frames(door);
          static_cast<void>(co_await peer.until("DATA 1 5"));
          put_reset(peer, 1, http2_error::refused_stream);
          static_cast<void>(co_await peer.until("DATA 3 5"));
          co_await client.write(std::string_view("fghij"));
          static_cast<void>(co_await peer.until("DATA 3 0 END"));
          EXPECT_EQ(peer.body, "abcdeabcdefghij");
          put_answer(peer, 3, "done");
          co_await peer.send();
          EXPECT_EQ(body_of(co_await read_all(client)), "done");
          EXPECT_EQ(p.counters(0).retries, 1u);
        });
  });
}

DRIVER_TEST(upstream_http2, "a refused request whose body is longer than repeat_bytes_max fails") {
  runtime rt(make());
  rt.run([]() -> task<> {
    proxy_log log;
    http::proxy_options o;
    o.repeat_bytes_max = 9;
    o.log = log.taker();
    co_await with_frames_upstream(
        o, [&log](address at, http::reverse_proxy& p, listener door) -> task<> {
          std::string got;
          scope s;
          s.spawn(ask_beside(at, "PUT /a", chunked_field, ten_in_chunks, got));
          http2_client peer = co_await take_frames(door);
          static_cast<void>(co_await peer.until("DATA 1 0 END"));
          put_reset(peer, 1, http2_error::refused_stream);
          co_await peer.send();
          co_await s.join();
          EXPECT_EQ(status_of(got), "502");
          EXPECT_EQ(p.counters(0).retries, 0u);
          EXPECT_TRUE(log.has("502 PUT /a: " + p.name(0) +
                              ": the server reset the stream (REFUSED_STREAM)"))
              << log.text;
          EXPECT_TRUE(log.has("repeat_bytes_max")) << log.text;
        });
  });
}

DRIVER_TEST(upstream_http2, "a request is sent again refused_retries_max times, with pauses") {
  runtime rt(make());
  rt.run([]() -> task<> {
    proxy_log log;
    http::proxy_options o;
    o.http2.refused_retries_max = 4;
    o.log = log.taker();
    co_await with_frames_upstream(
        o, [&log](address at, http::reverse_proxy& p, listener door) -> task<> {
          std::string got;
          scope s;
          s.spawn(get_beside(at, got));
          http2_client peer = co_await take_frames(door);
          const time_point began = clock::now();
          for (std::uint32_t id = 1; id != 11; id += 2) {
            static_cast<void>(co_await peer.until("HEADERS " + std::to_string(id)));
            put_reset(peer, id, http2_error::refused_stream);
          }
          EXPECT_GE(clock::now() - began, 15ms);  // 1 + 2 + 4 + 8
          co_await peer.send();
          co_await s.join();
          EXPECT_EQ(status_of(got), "502");
          EXPECT_EQ(p.counters(0).retries, 4u);
          EXPECT_EQ(p.counters(0).failures, 1u);
          EXPECT_TRUE(log.has("REFUSED_STREAM")) << log.text;
        });
  });
}

DRIVER_TEST(upstream_http2, "an upstream that leaves gets no further requests, and ends its own") {
  runtime rt(make());
  rt.run([]() -> task<> {
    co_await with_frames_upstream(
        usual, [](address at, http::reverse_proxy& p, listener door) -> task<> {
          std::string first, second, third;
          scope s;
          s.spawn(ask_beside(at, "GET /1", "", "", first));
          http2_client peer = co_await take_frames(door);
          static_cast<void>(co_await peer.until("HEADERS 1"));
          s.spawn(ask_beside(at, "POST /2", "Content-Length: 4\r\n", "four", second));
          static_cast<void>(co_await peer.until("DATA 3 4 END"));
          put_farewell(peer, 1);
          co_await peer.send();
          // Above the last one that the upstream takes: nothing was done with it.
          http2_client fresh = co_await take_frames(door);
          const std::string again = co_await fresh.until("DATA 1 4 END");
          EXPECT_NE(again.find(":path=/2"), again.npos) << again;
          s.spawn(ask_beside(at, "GET /3", "", "", third));
          const std::string new_one = co_await fresh.until("HEADERS 3");
          EXPECT_NE(new_one.find(":path=/3"), new_one.npos) << new_one;
          put_answer(fresh, 1, "two");
          put_answer(fresh, 3, "three");
          co_await fresh.send();
          put_answer(peer, 1, "one");
          co_await peer.send();
          co_await s.join();
          EXPECT_EQ(body_of(first), "one");
          EXPECT_EQ(body_of(second), "two");
          EXPECT_EQ(body_of(third), "three");
          EXPECT_EQ(p.counters(0).retries, 1u);
          EXPECT_EQ(p.counters(0).failures, 0u);
        });
  });
}

/// Ends of an upstream inside the body of its answer.
std::vector<std::function<void(http2_client&)>> broken_ends() {
  return {[](http2_client& p) { put_reset(p, 1, http2_error::internal_error); },
          [](http2_client& p) { put_reset(p, 1, http2_error::no_error); },
          [](http2_client& p) { p.data(1, "", true); },  // before its Content-Length
          [](http2_client& p) { put_farewell(p, 0); },
          [](http2_client& p) { p.frame(http2_type::data, 0, 0, "x"); }};
}

task<> break_inside_answer(std::function<void(http2_client&)> how, bool stated, bool by_http2) {
  co_await with_frames_upstream(
      usual, [&](address at, http::reverse_proxy& p, listener door) -> task<> {
        http2_client client(co_await tcp_connect(at));
        stream plain;
        if (by_http2) {
          client.get(1, "/");
          co_await client.send();
        } else {
          plain = co_await tcp_connect(at);
          co_await plain.write(std::string_view("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
        }
        http2_client peer = co_await take_frames(door);
        static_cast<void>(co_await peer.until("HEADERS 1"));
        field_list more;
        if (stated) more.emplace_back("content-length", "100");
        peer.headers(1, answered("200", std::move(more)), false);
        peer.data(1, "begin", false);
        co_await peer.send();
        if (by_http2) static_cast<void>(co_await client.until("DATA 1 5"));
        if (!by_http2) static_cast<void>(co_await read_until(plain, "begin"));
        how(peer);
        co_await peer.send();
        if (by_http2) {
          EXPECT_EQ(co_await client.next(), "RST_STREAM 1 2");
        } else {
          const std::string rest = co_await read_all(plain);
          EXPECT_EQ(rest.find("0\r\n\r\n"), rest.npos) << rest;
        }
        EXPECT_EQ(p.counters(0).failures, 1u);
        client.shut();
      });
}

DRIVER_TEST(upstream_http2, "an answer that breaks reaches no client as a whole one") {
  runtime rt(make());
  rt.run([]() -> task<> {
    const auto ends = broken_ends();
    for (const bool by_http2 : {false, true}) {
      for (std::size_t i = 0; i != ends.size(); ++i) {
        SCOPED_TRACE("end " + std::to_string(i) + (by_http2 ? ", HTTP/2" : ", HTTP/1.1"));
        co_await break_inside_answer(ends[i], true, by_http2);
        if (i != 2) co_await break_inside_answer(ends[i], false, by_http2);
      }
    }
  });
}

DRIVER_TEST(upstream_http2, "an h2c upstream that speaks HTTP/1.1 is named in the log") {
  runtime rt(make());
  rt.run([]() -> task<> {
    const script lines = {{"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"}};
    co_await with_script(lines, [](address up, scripted_server&) -> task<> {
      proxy_log log;
      http::proxy_options o;
      o.upstreams.push_back("h2c://" + up.to_string());
      o.log = log.taker();
      co_await with_proxy_to(o, [&log](address at, http::reverse_proxy& p) -> task<> {
        EXPECT_EQ(status_of(co_await ask(at, "GET /")), "502");
        EXPECT_EQ(p.counters(0).failures, 1u);
        EXPECT_TRUE(log.has("it speaks HTTP/1.1")) << log.text;
        EXPECT_TRUE(log.has("h2c://")) << log.text;
      });
    });
  });
}

DRIVER_TEST(upstream_http2, "a broken connection is replaced for what may be sent again alone") {
  runtime rt(make());
  rt.run([]() -> task<> {
    co_await with_frames_upstream(
        usual, [](address at, http::reverse_proxy& p, listener door) -> task<> {
          std::string warm, get, post;
          scope s;
          s.spawn(get_beside(at, warm));
          http2_client peer = co_await take_frames(door);
          static_cast<void>(co_await peer.until("HEADERS 1"));
          put_answer(peer, 1, "warm");
          co_await peer.send();
          co_await s.settled();
          s.spawn(ask_beside(at, "GET /get", "", "", get));
          static_cast<void>(co_await peer.until("HEADERS 3"));
          s.spawn(ask_beside(at, "POST /post", "Content-Length: 1\r\n", "x", post));
          static_cast<void>(co_await peer.until("DATA 5 1 END"));
          peer.shut();
          http2_client fresh = co_await take_frames(door);
          const std::string again = co_await fresh.until("HEADERS 1");
          EXPECT_NE(again.find(":path=/get"), again.npos) << again;
          put_answer(fresh, 1, "got");
          co_await fresh.send();
          co_await s.join();
          EXPECT_EQ(body_of(get), "got");
          EXPECT_EQ(status_of(post), "502");
          EXPECT_EQ(p.counters(0).retries, 1u);
        });
  });
}

DRIVER_TEST(upstream_http2, "a connection whose upstream is silent is asked, and given up") {
  runtime rt(make());
  rt.run([]() -> task<> {
    for (const bool lives : {true, false}) {
      http::proxy_options o;
      o.timeouts.answer = 50ms;
      o.http2.ping_timeout = lives ? nanoseconds(60s) : nanoseconds(50ms);
      co_await with_frames_upstream(
          o, [lives](address at, http::reverse_proxy& p, listener door) -> task<> {
            std::string warm, late, next;
            scope s;
            s.spawn(get_beside(at, warm));
            http2_client peer = co_await take_frames(door);
            static_cast<void>(co_await peer.until("HEADERS 1"));
            put_answer(peer, 1, "warm");
            co_await peer.send();
            co_await s.settled();
            s.spawn(get_beside(at, late));
            const std::string asked = co_await peer.until("PING");
            EXPECT_NE(asked.find("RST_STREAM 3 8\nPING heddle"), asked.npos) << asked;
            co_await s.settled();
            EXPECT_EQ(status_of(late), "504");
            if (lives) {
              peer.frame(http2_type::ping, http::http2_flag::ack, 0, std::string("heddle\0\0", 8));
              co_await peer.send();
            } else {
              EXPECT_EQ(co_await peer.until("closed"), "closed\n");
              EXPECT_TRUE(co_await wait_until([&p] { return p.counters(0).idle == 0; }));
            }
            s.spawn(get_beside(at, next));
            if (!lives) peer = co_await take_frames(door);
            const std::string id = lives ? "5" : "1";
            static_cast<void>(co_await peer.until("HEADERS " + id));
            put_answer(peer, lives ? 5 : 1, "here");
            co_await peer.send();
            co_await s.join();
            EXPECT_EQ(body_of(next), "here");
            EXPECT_EQ(p.counters(0).connections, lives ? 1u : 2u);
          });
    }
  });
}

DRIVER_TEST(upstream_http2, "an h2c upstream that wants HTTP/1.1 gets it") {
  runtime rt(make());
  rt.run([]() -> task<> {
    co_await with_frames_upstream(
        usual, [](address at, http::reverse_proxy& p, listener door) -> task<> {
          std::string got;
          scope s;
          s.spawn(ask_beside(at, "POST /a", "Content-Length: 4\r\n", "four", got));
          http2_client peer = co_await take_frames(door);
          static_cast<void>(co_await peer.until("DATA 1 4 END"));
          put_reset(peer, 1, http2_error::http_1_1_required);
          co_await peer.send();
          stream plain = co_await with_timeout(door.accept(), 60s);
          const std::string head = co_await read_until(plain, "four");
          EXPECT_TRUE(head.starts_with("POST /a HTTP/1.1\r\n")) << head;
          co_await plain.write(
              std::string_view("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nplain"));
          co_await s.join();
          EXPECT_EQ(body_of(got), "plain");
          EXPECT_EQ(p.counters(0).failures, 0u);
        });
  });
}

task<> answer_next(http2_client& peer, std::uint32_t id, std::string_view body) {
  static_cast<void>(co_await peer.until("HEADERS " + std::to_string(id)));
  put_answer(peer, id, body);
  co_await peer.send();
}

/// Takes a connection and answers its first request with HTTP_1_1_REQUIRED.
task<http2_client> demand_http1(listener door) {
  http2_client peer = co_await take_frames(door);
  static_cast<void>(co_await peer.until("HEADERS 1"));
  put_reset(peer, 1, http2_error::http_1_1_required);
  co_await peer.send();
  co_return peer;
}

DRIVER_TEST(upstream_http2, "HTTP/1.1 that fails where it was wanted ends the demand for it") {
  runtime rt(make());
  rt.run([]() -> task<> {
    // The upstream closes, answers with a frame of HTTP/2, or answers with text that is not HTTP.
    for (const std::string_view plain :
         {std::string_view(), std::string_view("\0\0\0\4\0\0\0\0\0", 9),
          std::string_view("nonsense\r\n\r\n")}) {
      proxy_log log;
      http::proxy_options o;
      o.log = log.taker();
      o.failures.count = 0;
      const auto body = [&log, plain](address at, http::reverse_proxy&, listener door) -> task<> {
        std::string got, next;
        scope s;
        s.spawn(get_beside(at, got));
        http2_client peer = co_await demand_http1(door);
        stream on = co_await with_timeout(door.accept(), 60s);
        static_cast<void>(co_await read_until(on, "\r\n\r\n"));
        if (!plain.empty()) co_await on.write(byte_view(plain));
        on.close();
        co_await s.join();
        EXPECT_EQ(status_of(got), "502");
        EXPECT_TRUE(log.has("had answered another one with HTTP_1_1_REQUIRED")) << log.text;
        EXPECT_TRUE(log.has("go over HTTP/2 again")) << log.text;
        s.spawn(get_beside(at, next));
        co_await answer_next(peer, 3, "again");
        co_await s.join();
        EXPECT_EQ(body_of(next), "again");
        peer.shut();
      };
      co_await with_frames_upstream(o, body);
    }
  });
}

DRIVER_TEST(upstream_http2, "a demand for HTTP/1.1 ends after http1_required_time") {
  runtime rt(make());
  rt.run([]() -> task<> {
    http::proxy_options o;
    o.http2.http1_required_time = 2s;
    co_await with_frames_upstream(o, [](address at, http::reverse_proxy&, listener door) -> task<> {
      std::string got, kept, next;
      scope s;
      s.spawn(get_beside(at, got));
      http2_client peer = co_await demand_http1(door);
      stream on = co_await with_timeout(door.accept(), 60s);
      const time_point asked = clock::now();
      for (std::string* each : {&got, &kept}) {
        if (each == &kept) s.spawn(get_beside(at, kept));
        static_cast<void>(co_await read_until(on, "\r\n\r\n"));
        co_await on.write(std::string_view("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
        co_await s.join();
        EXPECT_EQ(body_of(*each), "ok");
      }
      EXPECT_TRUE(co_await wait_until([asked] { return clock::now() - asked > 2s; }));
      s.spawn(get_beside(at, next));
      co_await answer_next(peer, 3, "again");
      co_await s.join();
      EXPECT_EQ(body_of(next), "again");
      peer.shut();
    });
  });
}

DRIVER_TEST(upstream_http2, "an http upstream that speaks HTTP/2 is named in the log") {
  runtime rt(make());
  rt.run([]() -> task<> {
    tcp_listener door = tcp_listener::listen(address::loopback(0));
    proxy_log log;
    http::proxy_options o;
    o.upstreams.push_back(url_of(door.local(), ""));
    o.log = log.taker();
    co_await with_proxy_to(o, [&log, &door](address at, http::reverse_proxy&) -> task<> {
      std::string got;
      scope s;
      s.spawn(get_beside(at, got));
      stream on = co_await door.accept();
      co_await on.write(std::string(9, '\0').replace(3, 1, 1, '\4'));
      co_await s.join();
      EXPECT_EQ(status_of(got), "502");
      EXPECT_TRUE(log.has("a frame of HTTP/2")) << log.text;
      EXPECT_TRUE(log.has("h2c://")) << log.text;
    });
  });
}

task<> upgrade_beside(address at, std::string& got) {
  got = co_await talk(at,
                      "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\n"
                      "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
}

DRIVER_TEST(upstream_http2, "upgrades that an h2c upstream does not know are not its failures") {
  runtime rt(make());
  rt.run([]() -> task<> {
    proxy_log log;
    http::proxy_options o;
    o.log = log.taker();
    co_await with_frames_upstream(
        o, [&log](address at, http::reverse_proxy& p, listener door) -> task<> {
          for (int i = 0; i < 5; ++i) {
            std::string no;
            scope s;
            s.spawn(upgrade_beside(at, no));
            stream plain = co_await with_timeout(door.accept(), 60s);
            const std::string head = co_await read_until(plain, "\r\n\r\n");
            EXPECT_TRUE(head.starts_with("GET /ws HTTP/1.1\r\n")) << head;
            plain.close();
            co_await s.join();
            EXPECT_EQ(status_of(no), "502") << no;
          }
          EXPECT_EQ(p.counters(0).failures, 0u);
          EXPECT_TRUE(p.counters(0).up);
          EXPECT_TRUE(log.has("502 GET /ws: " + p.name(0))) << log.text;
          EXPECT_TRUE(log.has("an upgrade needs HTTP/1.1 behind h2c://")) << log.text;
          std::string got;
          scope s;
          s.spawn(ask_beside(at, "GET /", "Upgrade: h2c\r\n", "", got));  // which is no upgrade
          http2_client peer = co_await take_frames(door);
          static_cast<void>(co_await peer.until("HEADERS 1"));
          put_answer(peer, 1, "fine");
          co_await peer.send();
          co_await s.join();
          EXPECT_EQ(body_of(got), "fine");
        });
  });
}

DRIVER_TEST(upstream_http2, "requests wait for a free stream, and get 503 if none comes in time") {
  runtime rt(make());
  rt.run([]() -> task<> {
    proxy_log log;
    http::proxy_options o;
    o.http2.connections_max = 1;
    o.http2.streams_max = 1;
    o.timeouts.queue = 200ms;
    o.log = log.taker();
    co_await with_frames_upstream(
        o, [&log](address at, http::reverse_proxy& p, listener door) -> task<> {
          std::string first;
          scope s;
          s.spawn(get_beside(at, first));
          http2_client peer = co_await take_frames(door);
          static_cast<void>(co_await peer.until("HEADERS 1"));
          for (int i = 0; i < 4; ++i) {
            const std::string no = co_await ask(at, "GET /late");
            EXPECT_EQ(status_of(no), "503") << no;
            EXPECT_EQ(field_of(no, "Retry-After"), "1");
          }
          EXPECT_EQ(p.counters(0).failures, 0u);
          EXPECT_TRUE(log.has("503 GET /late: " + p.name(0) + ": all streams")) << log.text;
          put_answer(peer, 1, "one");
          co_await peer.send();
          co_await s.join();
          EXPECT_EQ(body_of(first), "one");
        });
  });
}

HEDDLE_TEST(upstream_http2, "the PROXY protocol and h2c are refused together") {
  std::string why;
  http::proxy_options o;
  o.upstreams.emplace_back("h2c://127.0.0.1:1");
  o.proxy_protocol = 1;
  try {
    const http::reverse_proxy p(o);
  } catch (const failure& e) {
    why = e.what();
  }
  EXPECT_NE(why.find("'h2c://127.0.0.1:1' is no upstream: proxy_protocol"), why.npos) << why;
}

}  // namespace
}  // namespace heddle::test
