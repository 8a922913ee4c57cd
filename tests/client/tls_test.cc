// SPDX-License-Identifier: MIT
// https: the client over room tls, directly and through a proxy's tunnel.
#include "client/harness.hh"

#if HEDDLE_WITH_TLS
#include "web/secure_server.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

task<http::response> answer_secure(http::request& r) {
  if (r.path() == "/down")
    co_return http::response(302).header("Location", "http://127.0.0.1:1/plain");
  co_return http::response(200)
      .header("X-Version", std::to_string(r.head().major_version()))
      .header("Set-Cookie", "s=1; Secure; Path=/")
      .text("secret " + std::string(r.header("cookie")));
}

/// What both ends offer by ALPN in these tests unless one says otherwise.
std::vector<std::string> usual_protocols() {
  return over_http2() ? std::vector<std::string>{"h2", "http/1.1"} : std::vector<std::string>{};
}

http::client_options trusting(std::vector<std::string> protocols = usual_protocols()) {
  http::client_options options;
  options.cookies = std::make_shared<http::cookie_jar>();
  const tls::client_context trusts(
      {.authorities = tls_files::get().authority(), .alpn = protocols});
  options.secure = [trust = trusts](stream over, std::string host) {
    return tls::connect(std::move(over), std::move(host), trust);
  };
  return options;
}

tls::server_context site_of(std::vector<std::string> protocols = usual_protocols()) {
  return tls::server_context(
      {.certificates = {tls_files::get().certificate("site")}, .alpn = std::move(protocols)});
}

template <class Body>
task<> with_secure_site(Body body, tls::server_context site = site_of()) {
  return with_secure_server(answer_secure, std::move(site), std::move(body));
}

std::string secure_url(address at, std::string_view target) {
  return "https://" + at.to_string() + std::string(target);
}

DRIVER_TEST(client_tls, "https is checked, kept open, and carries Secure cookies") {
  runtime rt(make());
  rt.run(with_secure_site([](address at) -> task<> {
    http::client web(trusting());
    for (int i = 0; i < 3; ++i) {
      const http::fetched got = co_await web.get(secure_url(at, "/"));
      EXPECT_EQ(got.body, i == 0 ? "secret " : "secret s=1");
    }
    EXPECT_EQ(web.counters().connections, 1u);
    http::client stranger;  // knows the system's authorities only
    const std::string said =
        co_await error_of(stranger.get(secure_url(at, "/")), std::errc::permission_denied);
    EXPECT_NE(said.find("GET https://127.0.0.1:"), std::string::npos) << said;
  }));
}

/// The protocols that each side names, and the version of HTTP that both then speak.
struct offer {
  std::vector<std::string> client, server;
  std::string version;
};

std::vector<offer> offers_of_versions() {
  return {{{"h2", "http/1.1"}, {"h2", "http/1.1"}, "2"},
          {{"h2", "http/1.1"}, {"http/1.1"}, "1"},
          {{"http/1.1"}, {"h2", "http/1.1"}, "1"},
          {{}, {"h2", "http/1.1"}, "1"}};
}

DRIVER_TEST(client_tls, "ALPN decides about the version, once for all who wait") {
  runtime rt(make());
  rt.run([]() -> task<> {
    const std::vector<offer> offers = offers_of_versions();
    for (const offer& o : offers)
      co_await with_secure_site(
          [&](address at) -> task<> {
            http::client web(trusting(o.client));
            int right = 0;
            scope s;
            for (int i = 0; i < 10; ++i)
              s.spawn(
                  [](http::client& by, std::string url, std::string version, int& count) -> task<> {
                    const http::fetched got = co_await by.get(std::move(url));
                    count += got.header("x-version") == version;
                    EXPECT_EQ(std::to_string(got.head.major_version()), version);
                  }(web, secure_url(at, "/"), o.version, right));
            co_await s.join();
            EXPECT_EQ(right, 10);
            if (o.version == "2") EXPECT_EQ(web.counters().connections, 1u);
            if (o.version == "1") EXPECT_LE(web.counters().connections, 8u);
          },
          site_of(o.server));
    // A layer that agrees on HTTP/2 although the client must not speak it.
    const std::vector<std::string> only_h2(1, "h2");
    co_await with_secure_site(
        [](address at) -> task<> {
          const std::vector<std::string> h2(1, "h2");
          http::client_options options = trusting(h2);
          options.http2.enabled = false;
          http::client web(options);
          const std::string said =
              co_await error_of(web.get(secure_url(at, "/")), std::errc::protocol_not_supported);
          EXPECT_NE(said.find("http2.enabled"), std::string::npos) << said;
        },
        site_of(only_h2));
  }());
}

DRIVER_TEST(client_tls, "a redirect from https to http is followed only if that is allowed") {
  runtime rt(make());
  rt.run(with_secure_site([](address at) -> task<> {
    http::client web(trusting());
    const std::string said =
        co_await error_of(web.get(secure_url(at, "/down")), std::errc::permission_denied);
    EXPECT_NE(said.find("redirect_to_plain"), std::string::npos) << said;
    http::client_options lax = trusting();
    lax.redirect_to_plain = true;
    http::client follows(lax);
    co_await error_of(follows.get(secure_url(at, "/down")), std::errc::connection_refused);
  }));
}

task<> pump(stream from, stream to) {
  try {
    while (received in = co_await from.receive()) co_await to.write(in.data());
    to.shutdown_write();
  } catch (const std::system_error&) {
  }
}

/// A proxy for one connection, which takes CONNECT alone.
task<> tunnel_once(tcp_listener door, std::string& asked) {
  const tcp_stream client = co_await door.accept();
  asked = co_await read_until(client, "\r\n\r\n");
  const std::size_t from = asked.find(' ') + 1;
  const std::string to = asked.substr(from, asked.find(' ', from) - from);
  const tcp_stream server = co_await tcp_connect(address::parse(to).value());
  co_await client.write("HTTP/1.1 200 Connected\r\n\r\n");
  scope s;
  s.spawn(pump(client, server));
  s.spawn(pump(server, client));
  co_await s.join();
}

DRIVER_TEST(client_tls, "https goes through a proxy's tunnel, which sees no request") {
  runtime rt(make());
  rt.run(with_secure_site([](address at) -> task<> {
    tcp_listener door = tcp_listener::listen(address::loopback(0));
    http::client_options options = trusting();
    options.proxy.url = url_of(door.local());
    options.proxy.except = {};
    std::string asked;
    scope s;
    s.spawn(tunnel_once(door, asked));
    {
      http::client web(options);
      for (int i = 0; i < 2; ++i) {
        const http::fetched got = co_await web.get(secure_url(at, "/"));
        EXPECT_EQ(got.status(), 200);
      }
      EXPECT_EQ(web.counters().connections, 1u);
    }
    co_await s.join();
    EXPECT_EQ(asked,
              "CONNECT " + at.to_string() + " HTTP/1.1\r\nHost: " + at.to_string() + "\r\n\r\n");
  }));
}

task<> cut_short(tcp_listener door) {
  tcp_stream raw = co_await door.accept();
  const stream over = co_await tls::accept(raw, tls_site());
  const std::string asked = co_await read_until(over, "\r\n\r\n");
  co_await over.write("HTTP/1.1 200 OK\r\n\r\nhalf of i");
  co_await sleep_for(5ms);
  raw.close();  // without close_notify, as an attacker would
}

DRIVER_TEST(client_tls, "a body that ends with its connection must end with close_notify") {
  runtime rt(make());
  rt.run([]() -> task<> {
    tcp_listener door = tcp_listener::listen(address::loopback(0));
    scope s;
    s.spawn(cut_short(door));
    http::client web(trusting());
    const std::string said =
        co_await error_of(web.get(secure_url(door.local(), "/")), std::errc::connection_aborted);
    EXPECT_NE(said.find("inside the body"), std::string::npos) << said;
    co_await s.join();
  }());
}

}  // namespace
}  // namespace heddle::test

#endif
