// SPDX-License-Identifier: MIT
// A reverse proxy: every request goes to one upstream server, and bodies pass both ways as they
// come, each side read no faster than the other takes it.
//
//   build/release/examples/proxy 8080 127.0.0.1:8000
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "heddle/heddle.hh"
#include "heddle/io/line_reader.hh"
#include "heddle/net/provider.hh"
#include "heddle/web/problem_details.hh"
#include "heddle/web/server.hh"

using namespace heddle;
using namespace std::chrono_literals;

constexpr nanoseconds upstream_patience = 30s;

// Fields that are about one connection (RFC 9110 section 7.6.1) stay on it.
bool passes(const http::request_head& head, std::string_view name) {
  for (const std::string_view own :
       {"connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade",
        "expect", "host", "date", "server", "content-length", "trailer"})
    if (http::equal_ignoring_case(own, name)) return false;
  return !http::list_has_token(head.value(http::header_id::connection), name);
}

std::string upstream_head(http::request& r) {
  const http::request_head& head = r.head();
  // As HTTP/1.0, so that the answer's body comes as it is, up to its length or the end.
  std::string text(head.method_text());
  text.append(" ").append(r.path());
  if (head.has_query()) text.append("?").append(r.query());
  text.append(" HTTP/1.0\r\nHost: ").append(head.authority()).append("\r\n");
  for (std::size_t i = 0; i < head.header_count(); ++i) {
    const http::header line = head.header_at(i);
    if (passes(head, line.name)) text.append(line.name).append(": ").append(line.value) += "\r\n";
  }
  if (head.body() == http::framing::length)
    text += "Content-Length: " + std::to_string(head.content_length()) + "\r\n";
  return text + "X-Forwarded-For: " + r.peer().host() + "\r\n\r\n";
}

task<http::response> read_head(http::request& r, line_reader& lines) {
  const std::string_view first = co_await lines.line();
  int status = 0;
  if (first.starts_with("HTTP/1.") && first.size() >= 12)
    std::from_chars(first.data() + 9, first.data() + 12, status);
  if (status < 200 || status > 599) throw http::status_error(502, "the upstream speaks no HTTP");
  http::response answer(status);
  for (;;) {
    const std::string_view line = co_await lines.line();
    if (line.empty()) co_return answer;
    const std::size_t colon = line.find(':');
    if (colon == line.npos) throw http::status_error(502, "the upstream sent no header line");
    const std::string_view name = line.substr(0, colon);
    std::string_view value = line.substr(colon + 1);
    value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
    std::uint64_t length = 0;
    if (http::equal_ignoring_case(name, "content-length") &&
        std::from_chars(value.data(), value.data() + value.size(), length).ec == std::errc{})
      answer.length(length);
    if (passes(r.head(), name)) answer.header(name, value);
  }
}

task<http::response> forward(address upstream, http::request& r) {
  if (r.head().body() == http::framing::chunked)
    throw http::status_error(411, "this proxy forwards bodies of a known length only");
  auto reached = co_await as_expected(with_timeout(tcp_connect(upstream), 5s));
  if (!reached) throw http::status_error(502, "the upstream server cannot be reached");
  tcp_stream to = std::move(*reached);
  r.limit_body(std::uint64_t{1} << 30);
  co_await to.write(upstream_head(r));
  for (;;) {
    const std::string_view part = co_await r.read();
    if (part.empty()) break;
    co_await with_timeout(to.write(part), upstream_patience);
  }

  line_reader lines(to);
  http::response head = co_await with_timeout(read_head(r, lines), upstream_patience);
  http::body_writer out = co_await r.start(std::move(head));
  co_await out.write(lines.rest());
  for (;;) {
    const received in = co_await with_timeout(to.receive(), upstream_patience);
    if (in.empty()) co_return out.done();
    co_await out.write(in.text());
  }
}

task<> serve(std::uint16_t port, address upstream) {
  auto [door, at] = net::chosen().listen(address::loopback(port));
  std::printf("http://%s/ to %s\n", at.to_string().c_str(), upstream.to_string().c_str());
  std::fflush(stdout);
  co_await http::serve_until_signal(std::move(door), std::bind_front(forward, upstream));
}

int main(int argc, char** argv) {
  const result<address> upstream = address::parse(argc > 2 ? argv[2] : "127.0.0.1:8000", 80);
  if (!upstream) return std::fprintf(stderr, "usage: proxy PORT ADDRESS:PORT\n"), 2;
  runtime rt;
  rt.run(serve(static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 8080), *upstream));
}
