// SPDX-License-Identifier: MIT
// Which address counts as the client's behind proxies.
#include "heddle/http/forwarded.hh"

#include <string>
#include <vector>

#include "heddle/http/parser.hh"
#include "web/harness.hh"

namespace heddle::test {
namespace {

using http::forwarded_field;

std::string client_of(const std::string& fields, const char* peer,
                      forwarded_field field = forwarded_field::x_forwarded_for) {
  const std::string text = "GET / HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n";
  const http::limits bounds;
  http::request_parser parser(bounds);
  EXPECT_EQ(parser.feed(text), http::parse_state::done);
  const std::vector<network> trusted = {network::parse("10.0.0.0/8").value(),
                                        network::parse("2001:db8::/32").value()};
  return http::client_address(parser.head(), address::parse(peer, 80).value(), trusted, field)
      .to_string();
}

HEDDLE_TEST(forwarded, "only what trusted proxies wrote counts, from the end") {
  EXPECT_EQ(client_of("X-Forwarded-For: 192.0.2.1\r\n", "10.0.0.1"), "192.0.2.1:0");
  // Not a trusted peer: anyone can write the field.
  EXPECT_EQ(client_of("X-Forwarded-For: 192.0.2.1\r\n", "198.51.100.1"), "198.51.100.1:80");
  // The client's own element stays unread.
  EXPECT_EQ(client_of("X-Forwarded-For: 6.6.6.6, 192.0.2.1\r\n", "10.0.0.1"), "192.0.2.1:0");
  EXPECT_EQ(client_of("X-Forwarded-For: 6.6.6.6, 192.0.2.1, 10.0.0.2\r\n", "10.0.0.1"),
            "192.0.2.1:0");
  EXPECT_EQ(client_of("X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 192.0.2.1\r\n", "10.0.0.1"),
            "192.0.2.1:0");
  EXPECT_EQ(client_of("X-Forwarded-For: 10.0.0.3, 10.0.0.2\r\n", "10.0.0.1"), "10.0.0.3:0");
  EXPECT_EQ(client_of("X-Forwarded-For: 192.0.2.1:1234\r\n", "[2001:db8::1]"), "192.0.2.1:1234");
  EXPECT_EQ(client_of("", "10.0.0.1"), "10.0.0.1:80");
  EXPECT_EQ(client_of("X-Forwarded-For: \r\n", "10.0.0.1"), "10.0.0.1:80");
  EXPECT_EQ(client_of("X-Forwarded-For: 192.0.2.1, unknown\r\n", "10.0.0.1"), "10.0.0.1:80");
  EXPECT_EQ(client_of("X-Forwarded-For: 192.0.2.1, unknown, 10.0.0.2\r\n", "10.0.0.1"),
            "10.0.0.2:0");
}

HEDDLE_TEST(forwarded, "the other field is not looked at") {
  const std::string both = "X-Forwarded-For: 192.0.2.1\r\nForwarded: for=192.0.2.2\r\n";
  EXPECT_EQ(client_of(both, "10.0.0.1"), "192.0.2.1:0");
  EXPECT_EQ(client_of(both, "10.0.0.1", forwarded_field::forwarded), "192.0.2.2:0");
}

HEDDLE_TEST(forwarded, "elements of RFC 7239 are read with their quotes and parameters") {
  const auto of = [](const std::string& value) {
    return client_of("Forwarded: " + value + "\r\n", "10.0.0.1", forwarded_field::forwarded);
  };
  EXPECT_EQ(of("for=192.0.2.43"), "192.0.2.43:0");
  EXPECT_EQ(of("For=\"[2001:db9:cafe::17]:4711\""), "[2001:db9:cafe::17]:4711");
  EXPECT_EQ(of("for=192.0.2.60;proto=http;by=203.0.113.43"), "192.0.2.60:0");
  EXPECT_EQ(of("proto=http; host=\"a;for=6.6.6.6\" ; for=\"192.0.2.60:80\""), "192.0.2.60:80");
  EXPECT_EQ(of("for=192.0.2.43, for=198.51.100.17"), "198.51.100.17:0");
  EXPECT_EQ(of("for=192.0.2.43, for=10.9.9.9"), "192.0.2.43:0");
  EXPECT_EQ(of("for=_hidden"), "10.0.0.1:80");
  EXPECT_EQ(of("for=unknown, for=10.0.0.5"), "10.0.0.5:0");
  EXPECT_EQ(of("by=203.0.113.43"), "10.0.0.1:80");
}

HEDDLE_TEST(forwarded, "a quote that the client leaves open hides nothing that a proxy wrote") {
  for (const std::string front : {"\"", "\"6.6.6.6", "a=\"b\\", "\"a\", \"", "\\\"", ",,\"\t"}) {
    EXPECT_EQ(client_of("X-Forwarded-For: " + front + ", 192.0.2.1\r\n", "10.0.0.1"), "192.0.2.1:0")
        << front;
    for (const char* own : {"for=192.0.2.1", "for=\"192.0.2.1\"", "by=\"a,b\";for=192.0.2.1"}) {
      const std::string line = "Forwarded: " + front + ", " + own + "\r\n";
      EXPECT_EQ(client_of(line, "10.0.0.1", forwarded_field::forwarded), "192.0.2.1:0") << line;
    }
  }
}

DRIVER_TEST(forwarded, "the handler and the log get the address that a trusted proxy tells") {
  HEDDLE_NEEDS_TCP();
  runtime rt(make());
  rt.run([]() -> task<> {
    std::vector<std::string> logged;
    http::server_options o;
    o.trusted_proxies = {network::parse("127.0.0.0/8").value()};
    o.log = [&logged](const http::access& a) { logged.push_back(a.peer->host()); };
    const http::handler tell = [](http::request& r) -> task<http::response> {
      co_return http::response(200).text(r.peer().host() + " by " + r.connection_peer().host());
    };
    co_await with_server(tell, o, [](address at, http::server&) -> task<> {
      stream on = co_await connect_to(at);
      // Two requests of two clients on one connection.
      co_await on.write(
          std::string_view("GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n"));
      EXPECT_EQ(body_of(co_await read_until(on, ".0.1")), "192.0.2.1 by 127.0.0.1");
      co_await on.write(
          std::string_view("GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.2\r\n\r\n"
                           "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
      const std::string got = co_await read_all(on);
      EXPECT_NE(got.find("192.0.2.2 by 127.0.0.1"), got.npos);
      EXPECT_NE(got.find("127.0.0.1 by 127.0.0.1"), got.npos);
    });
    EXPECT_EQ(logged, (std::vector<std::string>{"192.0.2.1", "192.0.2.2", "127.0.0.1"}));
  });
}

}  // namespace
}  // namespace heddle::test
