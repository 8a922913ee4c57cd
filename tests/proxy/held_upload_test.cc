// SPDX-License-Identifier: MIT
// Bodies of requests that an upstream does not take: how they end, and clients that leave while
// they wait.
#include <optional>

#include "heddle/core/sleep.hh"
#include "proxy/frames_upstream.hh"
#include "support/wait_until.hh"
#if HEDDLE_WITH_TLS
#include "web/secure_server.hh"
#endif

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

enum class holder : std::uint8_t { http1, h2c, https };

std::vector<holder> all_holders() {
  std::vector<holder> all{holder::http1, holder::h2c};
  if (HEDDLE_WITH_TLS) all.push_back(holder::https);
  return all;
}

#if HEDDLE_WITH_TLS
listener listens_for_h2(tcp_listener door) {
  std::vector<std::string> offers(1, "h2");
  return tls::listen(std::move(door),
                     tls::server_context({.certificates = {tls_files::get().certificate("site")},
                                          .alpn = std::move(offers)}));
}

http::upstream_layer offers_h2() {
  std::vector<std::string> offers(1, "h2");
  const tls::client_context trusts(
      {.authorities = tls_files::get().authority(), .alpn = std::move(offers)});
  return [trusts](stream over, std::string host) {
    return tls::connect(std::move(over), std::move(host), trusts);
  };
}
#endif

/// Sets the upstream, and gives the listener of its connections.
listener holds(holder how, http::proxy_options& o) {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  const std::string at = door.local().to_string();
  o.upstreams.push_back((how == holder::http1 ? "http://"
                         : how == holder::h2c ? "h2c://"
                                              : "https://") +
                        at);
#if HEDDLE_WITH_TLS
  if (how == holder::https) {
    o.secure_layer = offers_h2();
    return listens_for_h2(std::move(door));
  }
#endif
  return listener(std::move(door));
}

/// An upstream of HTTP/2 that gives no window to any stream. The proxy knows it when this ends.
task<http2_client> take_without_window(listener door, address front) {
  std::string first;
  scope s;
  s.spawn(get_beside(front, first));
  http2_client peer = co_await take_peer(std::move(door));
  peer.setting(http::http2_setting::initial_window_size, 0);
  static_cast<void>(co_await peer.until("HEADERS 1"));
  put_answer(peer, 1, "");
  co_await peer.send();
  co_await s.join();
  EXPECT_EQ(status_of(first), "200");
  co_return peer;
}

task<std::string> endless_part() { co_return std::string(16 * 1024, 'u'); }

http::client_options of_client(int version) {
  http::client_options all;
  all.http2.prior_knowledge = version == 2;
  return all;
}

/// Posts a body of so many bytes, which are more than all buffers on the way hold if `large`.
task<> post_held(address front, int version, bool large, std::string& got) {
  http::client web(of_client(version));
  http::outgoing what("POST", url_of(front, "/held"));
  if (large) {
    what.body("text/plain", &endless_part, std::uint64_t{1} << 40);
  } else {
    what.body("text/plain", std::string(1000, 's'));
  }
  const http::fetched answer = co_await web.send(std::move(what));
  got = std::to_string(answer.status()) + " " + answer.body;
}

DRIVER_TEST(held_upload, "a body that the upstream does not take is 504 after transfer alone") {
  runtime rt(make());
  rt.run([]() -> task<> {
    for (const holder how : all_holders()) {
      for (const int version : {1, 2}) {
        for (const bool large : {true, false}) {
          // The system takes a small body for a server that does not read.
          if (how == holder::http1 && !large) continue;
          proxy_log log;
          http::proxy_options o;
          listener door = holds(how, o);
          o.log = log.taker();
          o.timeouts.transfer = 200ms;
          o.timeouts.answer = 1h;
          http::server_options front;
          front.bounds.body_bytes_max = std::uint64_t{1} << 41;
          const auto body = [&](address at, http::reverse_proxy& p) -> task<> {
            std::string got;
            std::optional<http2_client> peer;
            stream silent;
            scope s;
            if (how != holder::http1) peer.emplace(co_await take_without_window(door, at));
            s.spawn(post_held(at, version, large, got));
            if (peer) {
              static_cast<void>(co_await peer->until("HEADERS 3"));
              EXPECT_EQ(co_await peer->next(), "RST_STREAM 3 8");
            } else {
              silent = co_await door.accept();
            }
            co_await s.join();
            EXPECT_TRUE(got.starts_with("504 ")) << got;
            EXPECT_NE(got.find("did not take the request's body in time"), got.npos) << got;
            EXPECT_EQ(log.text, "504 POST /held: " + p.name(0) +
                                    ": it took nothing of the request's body in time "
                                    "(timeouts.transfer)\n");
            EXPECT_EQ(p.counters(0).failures, 1u);
            EXPECT_EQ(p.counters(0).active, 0u);
          };
          co_await with_proxy_to(o, body, front);
        }
      }
    }
  });
}

DRIVER_TEST(held_upload, "an upstream that takes a body slowly gets all of it") {
  runtime rt(make());
  rt.run([]() -> task<> {
    http::proxy_options o;
    listener door = holds(holder::h2c, o);
    o.timeouts.transfer = 300ms;
    co_await with_proxy_to(o, [&door](address at, http::reverse_proxy&) -> task<> {
      http2_client peer = co_await take_without_window(door, at);
      std::string got;
      scope s;
      s.spawn(post_held(at, 1, false, got));
      static_cast<void>(co_await peer.until("HEADERS 3"));
      for (int i = 0; i != 10; ++i) {
        peer.window(3, 100);
        co_await peer.send();
        static_cast<void>(co_await peer.next());
        EXPECT_EQ(co_await peer.next(100ms), "nothing");
      }
      EXPECT_EQ(peer.body.size(), 1000u);
      put_answer(peer, 3, "all");
      co_await peer.send();
      co_await s.join();
      EXPECT_EQ(got, "200 all");
    });
  });
}

DRIVER_TEST(held_upload, "an answer that comes while the body is held up passes") {
  runtime rt(make());
  rt.run([]() -> task<> {
    for (const bool large : {false, true}) {
      http::proxy_options o;
      listener door = holds(holder::h2c, o);
      http::server_options front;
      front.bounds.body_bytes_max = std::uint64_t{1} << 41;
      const auto body = [&door, large](address at, http::reverse_proxy&) -> task<> {
        http2_client peer = co_await take_without_window(door, at);
        std::string got;
        scope s;
        s.spawn(post_held(at, 1, large, got));
        static_cast<void>(co_await peer.until("HEADERS 3"));
        EXPECT_EQ(co_await peer.next(500ms), "nothing");
        peer.headers(3, answered("413"), false);
        peer.data(3, "too much", true);
        co_await peer.send();
        EXPECT_EQ(co_await peer.next(), "RST_STREAM 3 8");
        co_await s.join();
        EXPECT_EQ(got, "413 too much");
      };
      co_await with_proxy_to(o, body, front);
    }
  });
}

/// What a client of HTTP/1.1 sends before it closes its side.
struct leaver {
  const char* what;
  std::string fields;
  std::size_t bytes;         // of the body
  std::string behind = {};   // the body
  bool half_closed = false;  // the proxy's option
  bool gone = true;          // the proxy ends the request
};

std::vector<leaver> leavers() {
  const std::string length = "Content-Length: 50000\r\n";
  return {
      {"all of a body", length, 50'000},
      {"a part of a body", length, 40'000},
      {"a part of a small body", "Content-Length: 2000\r\n", 1000},
      {"a small body", "Content-Length: 1000\r\n", 1000},
      {"all of a body, half-closed", length, 50'000, {}, true, false},
      {"a part of a body, half-closed", length, 40'000, {}, true},
      {"another request behind", length, 50'000, "GET /next HTTP/1.1\r\nHost: x\r\n\r\n", false,
       false},
      {"a chunk", "Transfer-Encoding: chunked\r\n", 50'000},
      {"a chunk, half-closed", "Transfer-Encoding: chunked\r\n", 50'000, {}, true, false},
  };
}

std::string text_of(const leaver& l) {
  std::string all = "POST /held HTTP/1.1\r\nHost: x\r\n" + l.fields + "\r\n";
  const std::string body(l.bytes, 'b');
  if (l.fields.starts_with("T")) {
    all += "c350\r\n" + body + "\r\n0\r\n\r\n";
  } else {
    all += body;
  }
  return all + l.behind;
}

DRIVER_TEST(held_upload, "a client that leaves while its body is held up is noticed") {
  runtime rt(make());
  rt.run([]() -> task<> {
    for (const leaver& l : leavers()) {
      http::proxy_options o;
      listener door = holds(holder::h2c, o);
      o.timeouts.transfer = 1h;
      o.cancel_when_client_ends = !l.half_closed;
      std::vector<int> statuses;
      http::server_options front;
      front.log = [&statuses](const http::access& a) { statuses.push_back(a.status); };
      const auto body = [&door, &l](address at, http::reverse_proxy& p) -> task<> {
        http2_client peer = co_await take_without_window(door, at);
        stream client = co_await tcp_connect(at);
        const std::string text = text_of(l);
        co_await client.write(byte_view(text));
        static_cast<void>(co_await peer.until("HEADERS 3"));
        client.shutdown_write();
        const std::string next = co_await peer.next(l.gone ? 20s : nanoseconds(700ms));
        EXPECT_EQ(next, l.gone ? "RST_STREAM 3 8" : "nothing") << l.what;
        if (!l.gone) {
          peer.window(3, 1u << 20);
          co_await peer.send();
          while (peer.body.size() < l.bytes) static_cast<void>(co_await peer.next());
          put_answer(peer, 3, "all");
          co_await peer.send();
          static_cast<void>(co_await read_until(client, "all"));
        }
        client.close();
        EXPECT_TRUE(co_await wait_until([&p] { return p.counters(0).active == 0; })) << l.what;
        EXPECT_EQ(p.counters(0).failures, 0u);
        peer.shut();
      };
      co_await with_proxy_to(o, body, front);
      EXPECT_GE(statuses.size(), 2u) << l.what;
      if (statuses.size() > 1) EXPECT_EQ(statuses[1], l.gone ? 499 : 200) << l.what;
    }
  });
}

DRIVER_TEST(held_upload, "a connection to an upstream of HTTP/1.1 ends with the client") {
  runtime rt(make());
  rt.run([]() -> task<> {
    http::proxy_options o;
    listener door = holds(holder::http1, o);
    o.timeouts.transfer = 1h;
    o.cancel_when_client_ends = false;
    http::server_options front;
    front.bounds.body_bytes_max = std::uint64_t{1} << 41;
    const auto body = [&door](address at, http::reverse_proxy& p) -> task<> {
      stream client = co_await tcp_connect(at);
      const std::string part(16 * 1024, 'u');
      const std::string head =
          "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n" + part;
      co_await client.write(byte_view(head));
      stream behind = co_await door.accept();
      // Until nothing moves: the upstream does not read.
      for (std::size_t count = 1; count != 0;) {
        const auto sent =
            co_await as_expected(with_timeout(client.write_some(byte_view(part), count), 500ms));
        static_cast<void>(sent);
      }
      client.reset_on_close();
      client.close();
      EXPECT_TRUE(co_await wait_until([&p] { return p.counters(0).active == 0; }));
      EXPECT_EQ(p.counters(0).failures, 0u);
    };
    co_await with_proxy_to(o, body, front);
  });
}

}  // namespace
}  // namespace heddle::test
