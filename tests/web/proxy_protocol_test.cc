// SPDX-License-Identifier: MIT
// The PROXY protocol: the examples and limits of its specification, and listeners that read it.
#include "heddle/http/proxy_protocol.hh"

#include <string>
#include <vector>

#include "web/harness.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;
using http::proxy_header_state;

const std::string proxy_signature("\r\n\r\n\0\r\nQUIT\n", 12);

/// "client server size", or what else became of it.
std::string header_in(const std::string& bytes, std::size_t most = 4096) {
  http::proxy_header found;
  switch (http::parse_proxy_header(bytes, found, most)) {
    case proxy_header_state::need_more:
      return "more";
    case proxy_header_state::failed:
      return "failed";
    default:
      return found.client.to_string() + " " + found.server.to_string() + " " +
             std::to_string(found.size);
  }
}

std::string binary(char command, char family, const std::string& rest) {
  std::string all = proxy_signature;
  (all += command) += family;
  (all += static_cast<char>(rest.size() >> 8)) += static_cast<char>(rest.size() & 255);
  return all + rest;
}

HEDDLE_TEST(proxy_protocol, "version 1: the lines of the specification") {
  EXPECT_EQ(header_in("PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\nGET / HTTP/1.1\r\n"),
            "192.168.0.1:56324 192.168.0.11:443 47");
  EXPECT_EQ(header_in("PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n"),
            "255.255.255.255:65535 255.255.255.255:65535 56");
  EXPECT_EQ(header_in("PROXY TCP6 2001:db8::1 2001:db8::2 1 0\r\n"),
            "[2001:db8::1]:1 [2001:db8::2]:0 40");
  EXPECT_EQ(header_in("PROXY UNKNOWN\r\n"), "  15");
  const std::string longest =
      "PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
      "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n";
  EXPECT_EQ(longest.size(), 107u);
  EXPECT_EQ(header_in(longest), "  107");
  EXPECT_EQ(header_in("PROXY UNKNOWN " + std::string(92, 'x') + "\r\n"), "failed");
}

HEDDLE_TEST(proxy_protocol, "version 1: what is no header is refused, however it is split") {
  for (const char* line :
       {"GET / HTTP/1.1\r\n\r\n", "PROXY TCP4 192.168.0.1 192.168.0.11 56324\r\n",
        "PROXY TCP4 192.168.0.1 192.168.0.11 56324 443 \r\n",
        "PROXY  TCP4 192.168.0.1 192.168.0.11 56324 443\r\n",
        "PROXY TCP4 192.168.0.1 192.168.0.11 056324 443\r\n",
        "PROXY TCP4 192.168.0.1 192.168.0.11 65536 443\r\n",
        "PROXY TCP4 192.168.0.1 192.168.0.11 -1 443\r\n", "PROXY TCP4 ::1 ::1 1 1\r\n",
        "PROXY TCP6 192.168.0.1 192.168.0.11 1 1\r\n", "PROXY TCP6 fe80::1%lo ::1 1 1\r\n",
        "PROXY TCP4 192.168.0.1:5 192.168.0.11 1 1\r\n",
        "PROXY UDP4 192.168.0.1 192.168.0.11 1 1\r\n", "PROXY \r\n",
        "PROXY TCP4 192.168.0.1 192.168.0.11 1 1\n", "proxy TCP4 1.1.1.1 1.1.1.1 1 1\r\n",
        "PROXY TCP4 192.168.0.1 192.168.0.11 1 1\rX", "PROXY UNKNOWN x\rx\r\n"}) {
    const std::string text = line;
    EXPECT_EQ(header_in(text), "failed") << line;
    bool refused = false;
    for (std::size_t n = 0; n <= text.size() && !refused; ++n) {
      const std::string now = header_in(text.substr(0, n));
      EXPECT_TRUE(now == "more" || now == "failed") << line << n;
      refused = now == "failed";
    }
    EXPECT_TRUE(refused);
  }
}

HEDDLE_TEST(proxy_protocol, "version 2: addresses, commands and families") {
  const std::string v4("\xc0\x00\x02\x01\xc6\x33\x64\x02\xdc\x04\x01\xbb", 12);
  EXPECT_EQ(header_in(binary(0x21, 0x11, v4) + "GET"), "192.0.2.1:56324 198.51.100.2:443 28");
  const std::string v6 = "\x20\x01\x0d\xb8" + std::string(11, '\0') + "\x01" + "\x20\x01\x0d\xb8" +
                         std::string(11, '\0') + "\x02" + std::string("\x00\x50\x01\xbb", 4);
  EXPECT_EQ(header_in(binary(0x21, 0x21, v6)), "[2001:db8::1]:80 [2001:db8::2]:443 52");
  EXPECT_EQ(header_in(binary(0x20, 0x00, "")), "  16");     // LOCAL
  EXPECT_EQ(header_in(binary(0x20, 0x11, v4)), "  28");     // its addresses do not count
  EXPECT_EQ(header_in(binary(0x21, 0x00, "any")), "  19");  // UNSPEC
  EXPECT_EQ(header_in(binary(0x21, 0x12, v4)), "  28");     // UDP over IPv4
  EXPECT_EQ(header_in(binary(0x21, 0x31, std::string(216, 'u'))), "  232");
  EXPECT_EQ(header_in(binary(0x21, 0x11, v4.substr(1))), "failed");
  EXPECT_EQ(header_in(binary(0x22, 0x11, v4)), "failed");
  EXPECT_EQ(header_in(binary(0x11, 0x11, v4)), "failed");
  EXPECT_EQ(header_in(binary(0x21, 0x41, v4)), "failed");
  EXPECT_EQ(header_in(binary(0x21, 0x13, v4)), "failed");
}

HEDDLE_TEST(proxy_protocol,
            "version 2: fields must fill the header, and a checksum must be right") {
  const std::string v4("\xc0\x00\x02\x01\xc6\x33\x64\x02\xdc\x04\x01\xbb", 12);
  EXPECT_EQ(header_in(binary(0x21, 0x11, v4 + std::string("\x04\x00\x02ok", 5))),
            "192.0.2.1:56324 198.51.100.2:443 33");
  EXPECT_EQ(header_in(binary(0x21, 0x11, v4 + std::string("\x04\x00\x03ok", 5))), "failed");
  EXPECT_EQ(header_in(binary(0x21, 0x11, v4 + "\x04")), "failed");
  EXPECT_EQ(header_in(binary(0x21, 0x11, v4 + std::string("\x03\x00\x04\0\0\0\0", 7))), "failed");
  EXPECT_EQ(header_in(binary(0x21, 0x11, v4), 27), "failed");  // bytes_max
  const std::string good = binary(0x21, 0x11, v4);
  for (std::size_t n = 0; n < good.size(); ++n) EXPECT_EQ(header_in(good.substr(0, n)), "more");
}

HEDDLE_TEST(proxy_protocol, "what is written is read again") {
  for (const int version : {1, 2}) {
    for (const auto& [client, server] : {std::pair("192.0.2.1:1234", "198.51.100.2:80"),
                                         std::pair("[2001:db8::1]:1234", "[2001:db8::2]:80")}) {
      const std::string text = http::proxy_header_text(version, address::parse(client).value(),
                                                       address::parse(server).value());
      EXPECT_EQ(header_in(text),
                std::string(client) + " " + server + " " + std::to_string(text.size()));
    }
    const std::string mixed = http::proxy_header_text(
        version, address::parse("[2001:db8::1]:1").value(), address::parse("192.0.2.1:2").value());
    EXPECT_EQ(header_in(mixed),
              "[2001:db8::1]:1 [::ffff:192.0.2.1]:2 " + std::to_string(mixed.size()));
    EXPECT_EQ(header_in(http::proxy_header_text(version, {}, {})), version == 1 ? "  15" : "  16");
  }
}

/// Talks to a server behind such a listener, in parts that '|' separates; gives all that it
/// answers.
task<std::string> through(std::string text, const char* trusted, nanoseconds timeout = 20s) {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  const address at = door.local();
  const http::handler tell = [](http::request& r) -> task<http::response> {
    co_return http::response(200).text(r.peer().host()).close();
  };
  http::server web(tell);
  http::proxy_protocol_options o;
  o.trusted = {network::parse(trusted).value()};
  o.timeout = timeout;
  scope s;
  s.spawn(web.serve(http::listen_for_proxies(door, o)));
  stream on = co_await tcp_connect(at);
  std::string got;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('|'), text.size());
    co_await on.write(text.substr(0, end));
    text.erase(0, end + 1);
    if (!text.empty()) co_await sleep_for(5ms);
  }
  got = co_await read_all(on);
  web.stop();
  web.stop();
  co_await s.settled();
  co_return got;
}

DRIVER_TEST(proxy_protocol, "a listener takes the client from the header of a trusted peer") {
  HEDDLE_NEEDS_TCP();
  runtime rt(make());
  rt.run([]() -> task<> {
    const std::string head = "PROXY TCP4 192.0.2.1 198.51.100.1 1234 80\r\n";
    const std::string request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    const std::string split =
        "PRO|" + head.substr(3, 10) + '|' + head.substr(13) + "GE|" + request.substr(2);
    EXPECT_EQ(body_of(co_await through(head + request, "127.0.0.0/8")), "192.0.2.1");
    EXPECT_EQ(body_of(co_await through(head + '|' + request, "127.0.0.0/8")), "192.0.2.1");
    EXPECT_EQ(body_of(co_await through(split, "127.0.0.0/8")), "192.0.2.1");
    // No header, none in time, and a header from someone who may not send one.
    EXPECT_EQ(co_await through(request, "127.0.0.0/8"), "");
    EXPECT_EQ(co_await through("PROXY ", "127.0.0.0/8", 20ms), "");
    EXPECT_EQ(body_of(co_await through(request, "10.0.0.0/8")), "127.0.0.1");
    EXPECT_EQ(status_of(co_await through(head + request, "10.0.0.0/8")), "400");
  });
}

}  // namespace
}  // namespace heddle::test
