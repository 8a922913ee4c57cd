// SPDX-License-Identifier: MIT
// Answers that no handler makes, and what HTTP/2 owes its clients whatever their streams wait for.
#include "heddle/io/layer.hh"
#include "support/wait_until.hh"
#include "web/http2_client.hh"
#if HEDDLE_WITH_TLS
#include "web/secure_server.hh"
#endif

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

task<http::response> answer_early(http::request& r) {
  if (r.path() == "/large") co_return http::response(200).text(std::string(500'000, 'l'));
  if (r.path() == "/read") static_cast<void>(co_await r.text());
  if (r.path() == "/cookies") {
    std::string all;
    for (std::size_t i = 0; i < r.head().header_count(); ++i)
      if (http::equal_ignoring_case(r.head().header_at(i).name, "cookie"))
        all += "[" + std::string(r.head().header_at(i).value) + "]";
    co_return http::response(200).text(all);
  }
  co_return http::response(200).text("x");
}

}  // namespace

DRIVER_TEST(early_answers, "RFC 9110 9.3.2: the answer to HEAD has no body, whoever makes it") {
  http::server_options options;
  options.header_timeout = 50ms;
  runtime rt(make());
  rt.run(with_server(answer_early, options, [](address at, http::server&) -> task<> {
    const std::string long_path(9'000, 'p'), long_field(20'000, 'f');
    const std::pair<std::string, std::string> asked[] = {
        {"HEAD / HTTP/1.1\r\nHost: x\r\nX: " + long_field + "\r\n\r\n", "431"},
        {"HEAD /" + long_path + " HTTP/1.1\r\nHost: x\r\n\r\n", "414"},
        {"HEAD / HTTP/1.1\r\nno field\r\n\r\n", "400"},
        {"HEAD /read HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n", "413"},
        {"HEAD / HTTP/1.1\r\nHo", "408"}};
    for (const auto& [bytes, status] : asked) {
      const std::string got = co_await talk(at, bytes);
      EXPECT_EQ(status_of(got), status);
      EXPECT_EQ(body_of(got), "") << status;
      EXPECT_NE(field_of(got, "Content-Length"), "") << status;
      std::string as_get = bytes;  // others are told why
      const std::string told = co_await talk(at, as_get.replace(0, 4, "GET"));
      EXPECT_EQ(status_of(told), status);
      EXPECT_NE(body_of(told), "") << status;
    }
  }));
}

DRIVER_TEST(early_answers, "HTTP/2: the answer to a HEAD that is refused has no body") {
  runtime rt(make());
  rt.run(with_server(answer_early, {}, [](address at, http::server&) -> task<> {
    http2_client c(co_await connect_to(at));
    std::vector<std::pair<std::string, std::string>> many;
    for (int i = 0; i < 120; ++i) many.emplace_back("x" + std::to_string(i), "y");
    c.request(1, "HEAD", "/", many, true);
    const std::string first = co_await c.until("HEADERS 1");
    EXPECT_TRUE(first.starts_with("HEADERS 1 END :status=431")) << first;
    c.request(3, "HEAD", "/" + std::string(9'000, 'p'), {}, true);
    const std::string second = co_await c.until("HEADERS 3");
    EXPECT_TRUE(second.starts_with("HEADERS 3 END :status=414")) << second;
    c.request(5, "GET", "/", many, true);
    const std::string third = co_await c.until("DATA 5");
    EXPECT_TRUE(third.starts_with("HEADERS 5 :status=431")) << third;
  }));
}

DRIVER_TEST(early_answers, "RFC 9113 8.2.3: the pieces of a Cookie field are one field") {
  runtime rt(make());
  rt.run(with_server(answer_early, {}, [](address at, http::server& web) -> task<> {
    http2_client c(co_await connect_to(at));
    std::vector<std::pair<std::string, std::string>> crumbs;
    std::string whole;
    for (int i = 0; i < 150; ++i) {
      crumbs.emplace_back("cookie", "c" + std::to_string(i) + "=v");
      whole += (i == 0 ? "" : "; ") + crumbs.back().second;
    }
    c.get(1, "/cookies", crumbs);
    const std::string all = co_await c.until("DATA 1");
    EXPECT_NE(all.find(":status=200"), all.npos) << all;
    EXPECT_EQ(c.body, "[" + whole + "]");
    // Bytes count as ever.
    c.get(3, "/cookies",
          std::vector(
              40, std::pair<std::string, std::string>("cookie", "big=" + std::string(500, 'v'))));
    EXPECT_NE((co_await c.until("HEADERS 3")).find(":status=431"), std::string::npos);
    EXPECT_EQ(web.counters().errors, 0u);
  }));
}

DRIVER_TEST(early_answers, "GOAWAY does not wait for a stream whose window is used up") {
  runtime rt(make());
  rt.run(with_server(answer_early, {}, [](address at, http::server& web) -> task<> {
    http2_client c(co_await connect_to(at));
    c.get(1, "/large");
    co_await c.send();
    while (c.body.size() < http::http2_first_window) {
      const std::string one = co_await c.next();
      if (one == "closed" || one == "nothing") break;
    }
    web.stop();
    EXPECT_EQ(co_await c.next(2s), "GOAWAY 2147483647 0");
    EXPECT_EQ(co_await c.next(2s), "PING draining");
    EXPECT_EQ(co_await c.next(2s), "GOAWAY 1 0");
    c.window(0, 1 << 20);
    c.window(1, 1 << 20);
    const std::string all = co_await c.until("closed");
    EXPECT_EQ(c.body.size(), 500'000u) << all;
  }));
}

DRIVER_TEST(early_answers, "after a client's GOAWAY the connection ends with its last stream") {
  runtime rt(make());
  rt.run(with_server(answer_early, {}, [](address at, http::server& web) -> task<> {
    http2_client c(co_await connect_to(at));
    c.get(1, "/");
    http::put_goaway(c.out, 0, http2_error::no_error, {});
    const std::string all = co_await c.until("closed");
    EXPECT_NE(all.find("DATA 1 1 END"), all.npos) << all;
    EXPECT_NE(all.find("closed"), all.npos) << all;
    c.shut();
    const bool ended = co_await wait_until([&] { return web.counters().open == 0; });
    EXPECT_TRUE(ended);
  }));
}

namespace {

task<http::response> upgrade_early(http::request& r) {
  http::upgraded to = co_await r.upgrade("echo", http::response(101));
  std::string early = to.early;
  while (early.size() < 4) early += (co_await to.connection.receive()).text();
  co_await to.connection.write(std::string_view(early));
  co_return to.done();
}

}  // namespace

DRIVER_TEST(early_answers, "RFC 9110 7.8: a request with a body, or an empty one, is upgraded") {
  runtime rt(make());
  rt.run(with_server(upgrade_early, {}, [](address at, http::server&) -> task<> {
    const std::string head =
        "POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n";
    for (const char* const rest :
         {"\r\n", "Content-Length: 0\r\n\r\n", "Content-Length: 5\r\n\r\n12345",
          "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"}) {
      const std::string got = co_await talk(at, head + rest + "ping");
      EXPECT_EQ(status_of(got), "101") << rest;
      EXPECT_EQ(body_of(got), "ping") << rest;
    }
    const std::string large = co_await talk(at, head + "Content-Length: 99999999\r\n\r\n");
    EXPECT_EQ(status_of(large), "413");
    stream conn = co_await connect_to(at);
    co_await conn.write(
        std::string_view(head + "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n"));
    EXPECT_EQ(status_of(co_await read_until(conn, "\r\n\r\n")), "100");
    co_await conn.write("12ping");
    EXPECT_EQ(body_of(co_await read_all(conn)), "ping");
  }));
}

#if HEDDLE_WITH_TLS
namespace {

tls::client_context h2_client() {
  return tls::client_context({.authorities = tls_files::get().authority(), .alpn = {"h2"}});
}
tls::server_context h2_site(bool own_records) {
  return tls::server_context({.certificates = {tls_files::get().certificate("site")},
                              .alpn = {"h2", "http/1.1"},
                              .own_records = own_records});
}

template <class Body>
task<> with_h2_site(bool own_records, Body body) {
  return with_secure_server(answer_early, h2_site(own_records), std::move(body));
}

}  // namespace

DRIVER_TEST(early_answers, "RFC 9113 3.2: behind ALPN's h2 a request of HTTP/1.1 is an error") {
  HEDDLE_NEEDS_TCP();
  runtime rt(make());
  rt.run(with_h2_site(true, [](address at) -> task<> {
    stream conn = co_await tls::connect(co_await tcp_connect(at), "localhost", h2_client());
    co_await conn.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::string got = co_await read_all(conn);
    EXPECT_EQ(got.find("HTTP/1.1"), got.npos) << got;
    EXPECT_NE(got.find("no connection preface"), got.npos) << got;
    http2_client c(co_await tls::connect(co_await tcp_connect(at), "localhost", h2_client()));
    c.get(1, "/");
    EXPECT_TRUE((co_await c.until("DATA")).ends_with("DATA 1 1 END\n"));
  }));
}

namespace {

/// Holds back what is written if it is told so, and keeps the connection below open.
class holding_layer final : public stream_layer {
 public:
  holding_layer(stream over, const bool& hold, std::string& held)
      : inner_(std::move(over)), hold_(hold), held_(held) {}
  task<received> pull() override { return take(inner_); }
  task<> push(chain out) override {
    held_ += out.to_string();
    if (!hold_) co_await inner_.write(std::exchange(held_, {}));
  }
  void close() noexcept override { inner_.close(); }

 private:
  static task<received> take(stream from) { co_return co_await from.receive(); }
  stream inner_;
  const bool& hold_;
  std::string& held_;
};

}  // namespace

DRIVER_TEST(early_answers, "a request and close_notify in one packet are answered, and it ends") {
  HEDDLE_NEEDS_TCP();
  for (const bool own_records : {false, true}) {
    runtime rt(make());
    rt.run(with_h2_site(own_records, [](address at) -> task<> {
      bool hold = false;
      std::string held;
      stream below = co_await tcp_connect(at);
      stream layered = make_stream(std::make_unique<holding_layer>(below, hold, held));
      // GCC 12 would destroy these twice as parts of the next line.
      const tls::client_options trusts{.authorities = tls_files::get().authority()};
      const tls::client_context context(trusts);
      const std::string host = "localhost";
      stream conn = co_await tls::connect(std::move(layered), host, context);
      hold = true;
      co_await conn.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      const std::size_t request = held.size();
      conn.shutdown_write();
      EXPECT_TRUE(co_await wait_until([&] { return held.size() > request; }));
      co_await below.write(std::string_view(held));
      const std::string got = co_await with_timeout(read_all(conn), 10s);
      EXPECT_EQ(body_of(got), "x") << got;
    }));
  }
}

DRIVER_TEST(early_answers, "plain HTTP on a port of TLS is answered in plain text") {
  HEDDLE_NEEDS_TCP();
  runtime rt(make());
  rt.run(with_h2_site(true, [](address at) -> task<> {
    const std::string got = co_await talk(at, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(status_of(got), "400");
    EXPECT_NE(body_of(got).find("https://"), std::string::npos) << got;
    const std::string head = co_await talk(at, "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(status_of(head), "400");
    EXPECT_EQ(body_of(head), "");
  }));
}
#endif
