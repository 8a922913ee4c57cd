// SPDX-License-Identifier: MIT
// Answers that are written bit by bit: their framing, their ends, and what a broken one looks like.
#include "heddle/web/body_writer.hh"

#include "web/harness.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

task<http::response> write_in_parts(http::request& r) {
  http::response head(200);
  if (r.path() == "/length") head.length(12);
  if (r.path() == "/short") head.length(20);
  if (r.path() == "/nothing") {
    http::body_writer none = co_await r.start(http::response(204));
    co_return none.done();
  }
  http::body_writer out = co_await r.start(std::move(head));
  co_await out.write("one ");
  co_await out.write("");
  co_await out.write("two ");
  if (r.path() == "/throw") throw std::runtime_error("on purpose");
  if (r.path() == "/other") co_return http::response(500).text("too late");
  co_await out.write("last");
  if (r.path() == "/trailer") out.trailer("Digest", "abc");
  co_return out.done();
}

task<http::response> mirror(http::request& r) {
  http::body_writer out = co_await r.start(http::response(200));
  for (;;) {
    const std::string_view part = co_await r.read();
    if (part.empty()) break;
    co_await out.write(part);
  }
  out.trailer("X-Check", r.trailer("x-check"));
  EXPECT_EQ(r.trailer("host"), "");  // it came, but a request is not routed by its trailers
  co_return out.done();
}

}  // namespace

DRIVER_TEST(body_writer, "a body without a length is sent in chunks, with trailers at its end") {
  runtime rt(make());
  rt.run(with_server(write_in_parts, {}, [](address at, http::server& web) -> task<> {
    const std::string plain = co_await ask(at, "GET /");
    EXPECT_EQ(field_of(plain, "Transfer-Encoding"), "chunked");
    EXPECT_EQ(body_of(plain), "4\r\none \r\n4\r\ntwo \r\n4\r\nlast\r\n0\r\n\r\n");
    const std::string trailer = co_await ask(at, "GET /trailer");
    EXPECT_TRUE(trailer.ends_with("0\r\nDigest: abc\r\n\r\n")) << trailer;
    const std::string length = co_await ask(at, "GET /length");
    EXPECT_EQ(field_of(length, "Content-Length"), "12");
    EXPECT_EQ(field_of(length, "Transfer-Encoding"), "");
    EXPECT_EQ(body_of(length), "one two last");
    EXPECT_EQ(web.counters().errors, 0u);
  }));
}

DRIVER_TEST(body_writer, "HTTP/1.0 gets a body that ends with the connection, HEAD and 204 none") {
  runtime rt(make());
  rt.run(with_server(write_in_parts, {}, [](address at, http::server&) -> task<> {
    const std::string old = co_await talk(at, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(field_of(old, "Transfer-Encoding"), "");
    EXPECT_EQ(field_of(old, "Connection"), "close");
    EXPECT_EQ(body_of(old), "one two last");
    const std::string head = co_await ask(at, "HEAD /");
    EXPECT_EQ(field_of(head, "Transfer-Encoding"), "chunked");
    EXPECT_EQ(body_of(head), "");
    const std::string nothing = co_await ask(at, "GET /nothing");
    EXPECT_EQ(field_of(nothing, "Transfer-Encoding"), "");
    EXPECT_EQ(body_of(nothing), "");
  }));
}

DRIVER_TEST(body_writer, "an answer that cannot be finished is cut, so that the client sees it") {
  runtime rt(make());
  rt.run(with_server(write_in_parts, {}, [](address at, http::server& web) -> task<> {
    for (const char* target : {"GET /throw", "GET /other"}) {
      const std::string cut = co_await ask(at, target);
      EXPECT_NE(cut.find("two "), std::string::npos);
      EXPECT_EQ(cut.find("0\r\n\r\n"), std::string::npos) << cut;
      EXPECT_EQ(cut.find("500"), std::string::npos) << cut;
    }
    // Where the end of the connection ends the body, only a reset says that it is not whole;
    // a Unix socket has none.
    const std::string old = co_await talk(at, "GET /throw HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\n\r\n");
    if (transport() != "unix") {
      EXPECT_NE(old.find("<"), std::string::npos) << old;
    }
    const std::string promised = co_await ask(at, "GET /short");
    EXPECT_EQ(body_of(promised), "one two last");
    EXPECT_EQ(web.counters().errors, 4u);
  }));
}

DRIVER_TEST(body_writer, "answers that are streamed follow each other on one connection") {
  runtime rt(make());
  rt.run(with_server(write_in_parts, {}, [](address at, http::server&) -> task<> {
    const std::string all = co_await talk(at,
                                          "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
                                          "GET /length HTTP/1.1\r\nHost: x\r\n\r\n"
                                          "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(count_of(all, "HTTP/1.1 200 OK"), 3u);
    EXPECT_EQ(count_of(all, "0\r\n\r\n"), 2u);
  }));
}

DRIVER_TEST(body_writer, "a body is answered while it is still being read, trailers included") {
  HEDDLE_NEEDS_SOCKET();
  runtime rt(make());
  rt.run(with_server(mirror, {}, [](address at, http::server&) -> task<> {
    stream conn = co_await connect_to(at);
    co_await conn.write("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    co_await conn.write("5\r\nfirst\r\n");
    const std::string early = co_await read_until(conn, "5\r\nfirst\r\n");
    EXPECT_EQ(status_of(early), "200");
    co_await conn.write("6\r\nsecond\r\n0\r\nX-Check: 17\r\nHost: evil\r\n\r\n");
    const std::string late = co_await read_until(conn, "\r\n\r\n");
    EXPECT_EQ(late, "6\r\nsecond\r\n0\r\nX-Check: 17\r\n\r\n");
  }));
}

HEDDLE_TEST(body_writer,
            "a client that takes nothing holds one part of the answer, and is let go") {
  sim_options world;
  world.socket_buffer_bytes = 4096;
  runtime rt(std::make_unique<sim_driver>(std::move(world)));
  static std::size_t written;
  written = 0;
  http::server_options options;
  options.write_timeout = 5s;
  const auto endless = [](http::request& r) -> task<http::response> {
    http::body_writer out = co_await r.start(http::response(200));
    const std::string part(16 * 1024, 'p');
    for (;;) {
      co_await out.write(part);
      written += part.size();
    }
  };
  rt.run(with_server(endless, options, [](address at, http::server& web) -> task<> {
    stream conn = co_await connect_to(at);
    co_await conn.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    const time_point began = clock::now();
    while (web.counters().open > 0 || web.counters().connections == 0) co_await sleep_for(100ms);
    EXPECT_LT(written, 64u * 1024);
    EXPECT_LT(clock::now() - began, transport() == "tls" ? 12s : 7s);
    EXPECT_EQ(web.counters().write_timeouts, 1u);
  }));
}

DRIVER_TEST(upgraded, "a connection is handed over with what the client sent behind its request") {
  runtime rt(make());
  const auto shout = [](http::request& r) -> task<http::response> {
    http::upgraded to = co_await r.upgrade("shout");
    std::string line = to.early;
    while (line.find('\n') == std::string::npos) {
      received in = co_await to.connection.receive();
      if (in.empty()) break;
      line += in.text();
    }
    for (char& c : line) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
    co_await to.connection.write(std::string_view(line));
    co_return to.done();
  };
  rt.run(with_server(shout, {}, [](address at, http::server& web) -> task<> {
    const std::string all = co_await talk(at,
                                          "GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\n"
                                          "Upgrade: other, shout\r\n\r\nhello\n");
    EXPECT_EQ(status_of(all), "101");
    EXPECT_EQ(field_of(all, "Upgrade"), "shout");
    EXPECT_EQ(body_of(all), "HELLO\n");
    const std::string no = co_await ask(at, "GET /");
    EXPECT_EQ(status_of(no), "426");
    EXPECT_EQ(field_of(no, "Upgrade"), "shout");
    EXPECT_EQ(web.counters().errors, 0u);
  }));
}
