// SPDX-License-Identifier: MIT
// Upstreams over TLS and on a path, and ends that do not read what the other one sends.
#include <unistd.h>

#include "heddle/core/expected.hh"
#include "heddle/core/sleep.hh"
#include "heddle/io/file.hh"
#include "heddle/io/unix.hh"
#include "proxy/harness.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

task<http::response> say_where(http::request& r) {
  std::string text(r.head().method_text());
  text += " " + std::string(r.path()) + " " + co_await r.text();
  co_return http::response(200).text(text);
}

/// Runs body() beside a server on this door.
template <class Door, class Body>
task<> with_backend(Door door, http::handler answer, Body body) {
  http::server web(std::move(answer));
  scope s;
  s.spawn(web.serve(std::move(door)));
  try {
    co_await body();
  } catch (...) {
    s.fail(std::current_exception());
  }
  web.stop();
  web.stop();
  co_await s.settled();
  s.rethrow_failure();
}

DRIVER_TEST(upstream, "a server on a path is an upstream, and its connection is used again") {
  runtime rt(make());
  rt.run([]() -> task<> {
    const std::string path = "/tmp/heddle-upstream-" + std::to_string(::getpid()) + ".sock";
    static_cast<void>(co_await as_expected(remove_file(path)));
    unix_listener door = unix_listener::listen(path);
    co_await with_backend(std::move(door), say_where, [&path]() -> task<> {
      http::proxy_options o;
      o.upstreams = {"unix:" + path};
      co_await with_proxy_to(o, [](address at, http::reverse_proxy& p) -> task<> {
        http::client web;
        for (int i = 0; i < 3; ++i) {
          const http::fetched got = co_await web.post(url_of(at, "/x"), "text/plain", "body");
          EXPECT_EQ(got.body, "POST /x body");
        }
        EXPECT_EQ(p.counters(0).requests, 3u);
        EXPECT_EQ(p.counters(0).connections, 1u);
      });
    });
    co_await remove_file(path);
    http::proxy_options gone;
    gone.upstreams = {"unix:" + path};
    co_await with_proxy_to(gone, [](address at, http::reverse_proxy&) -> task<> {
      EXPECT_EQ(status_of(co_await ask(at, "GET /")), "502");
    });
  });
}

#if HEDDLE_WITH_TLS

http::upstream_layer trusting_layer() {
  const tls::client_context trusts({.authorities = tls_files::get().authority()});
  return [trusts](stream over, std::string host) {
    return tls::connect(std::move(over), std::move(host), trusts);
  };
}

DRIVER_TEST(upstream, "an https upstream is checked, and its connection is used again") {
  runtime rt(make());
  rt.run([]() -> task<> {
    tcp_listener raw = tcp_listener::listen(address::loopback(0));
    const std::string url = "https://" + raw.local().to_string();
    const tls::server_context site(
        {.certificates = {tls_files::get().certificate("site")}, .alpn = {}});
    listener door = tls::listen(std::move(raw), site);
    co_await with_backend(std::move(door), say_where, [&url]() -> task<> {
      http::proxy_options o;
      o.upstreams = {url};
      o.secure_layer = trusting_layer();
      co_await with_proxy_to(o, [](address at, http::reverse_proxy& p) -> task<> {
        http::client web;
        const std::string large(300'000, 'b');
        for (int i = 0; i < 3; ++i) {
          const http::fetched got = co_await web.post(url_of(at, "/x"), "text/plain", large);
          EXPECT_EQ(got.body, "POST /x " + large);
        }
        EXPECT_EQ(p.counters(0).connections, 1u);
      });
      http::proxy_options stranger;  // it trusts the system's authorities alone
      stranger.upstreams = {url};
      co_await with_proxy_to(stranger, [](address at, http::reverse_proxy& p) -> task<> {
        EXPECT_EQ(status_of(co_await ask(at, "GET /")), "502");
        EXPECT_EQ(p.counters(0).failures, 1u);
      });
    });
  });
}

#endif

constexpr std::size_t part_bytes = 64 * 1024;
constexpr std::size_t parts = 4096;  // 256 MiB
// What may be under way: the buffers of the kernel's sockets, a few MiB each, and the proxy's.
constexpr std::uint64_t under_way_max = 48 << 20;

/// Waits until a count has not changed for a while.
task<std::uint64_t> settled(const std::uint64_t& count) {
  for (std::uint64_t before = ~count; before != count;) {
    before = count;
    co_await sleep_for(300ms);
  }
  co_return count;
}

DRIVER_TEST(upstream, "a client that does not read holds the upstream up, within bounded memory") {
  runtime rt(make());
  rt.run([]() -> task<> {
    std::uint64_t sent = 0;
    const http::handler large = [&sent](http::request& r) -> task<http::response> {
      http::body_writer out = co_await r.start(http::response(200).length(part_bytes * parts));
      const std::string part(part_bytes, 'L');
      for (std::size_t i = 0; i != parts; ++i) {
        co_await out.write(part);
        co_await out.flush();
        sent += part_bytes;
      }
      co_return out.done();
    };
    co_await with_proxy(large, usual, [&sent](address at, http::reverse_proxy&) -> task<> {
      stream on = co_await tcp_connect(at);
      co_await on.write(std::string_view("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
      while (sent == 0) co_await sleep_for(1ms);
      const std::uint64_t stalled = co_await settled(sent);
      EXPECT_LT(stalled, under_way_max);
      std::uint64_t got = 0;  // head included
      while (received in = co_await on.receive()) got += in.data().size();
      EXPECT_GT(got, part_bytes * parts);
      EXPECT_LT(got, part_bytes * parts + 1000);
      EXPECT_EQ(sent, part_bytes * parts);
    });
  });
}

task<> write_parts(stream& on, std::uint64_t& sent) {
  const std::string part(part_bytes, 'U');
  for (std::size_t i = 0; i != parts; ++i) {
    co_await on.write(part);
    sent += part_bytes;
  }
}

DRIVER_TEST(upstream, "an upstream that does not read holds the client up, within bounded memory") {
  runtime rt(make());
  rt.run([]() -> task<> {
    bool begun = false, may_read = false;
    const http::handler lazy = [&begun, &may_read](http::request& r) -> task<http::response> {
      begun = true;
      while (!may_read) co_await sleep_for(10ms);
      std::uint64_t size = 0;
      for (;;) {
        const std::string_view part = co_await r.read();
        if (part.empty()) break;
        size += part.size();
      }
      co_return http::response(200).text(std::to_string(size));
    };
    const auto body = [&begun, &may_read](address at, http::reverse_proxy&) -> task<> {
      stream on = co_await tcp_connect(at);
      const std::string head =
          "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: " +
          std::to_string(part_bytes * parts) + "\r\n\r\n";
      co_await on.write(head);
      std::uint64_t sent = 0;
      scope uploading;
      uploading.spawn(write_parts(on, sent));
      while (!begun) co_await sleep_for(1ms);
      const std::uint64_t stalled = co_await settled(sent);
      EXPECT_LT(stalled, under_way_max);
      may_read = true;
      co_await uploading.join();
      EXPECT_EQ(body_of(co_await read_all(on)), std::to_string(part_bytes * parts));
    };
    http::server_options front;
    front.bounds.body_bytes_max = 1 << 30;
    http::server_options back = front;
    tcp_listener door = tcp_listener::listen(address::loopback(0));
    http::proxy_options o;
    o.upstreams = {url_of(door.local(), "")};
    http::server web(lazy, back);
    scope s;
    s.spawn(web.serve(door));
    std::exception_ptr failed;
    try {
      co_await with_proxy_to(o, body, front);
    } catch (...) {
      failed = std::current_exception();
    }
    web.stop();
    web.stop();
    co_await s.settled();
    if (failed) std::rethrow_exception(failed);
  });
}

HEDDLE_TEST(proxy, "a proxy is made and destroyed where no worker runs") {
  const http::reverse_proxy unused({.upstreams = {"http://127.0.0.1:3000"}});
}

}  // namespace
}  // namespace heddle::test
