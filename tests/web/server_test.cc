// SPDX-License-Identifier: MIT
// The server on every driver: keep-alive, pipelining, bodies, errors, files, draining.
#include "heddle/web/server.hh"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "heddle/web/static_files.hh"
#include "web/harness.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

task<http::response> answer_site(http::request& r) {
  if (r.path() == "/echo") co_return http::response(200).text(co_await r.text());
  if (r.path() == "/throw") throw std::runtime_error("on purpose");
  if (r.path() == "/bad")
    co_return http::response(200).header("X-A", "b\r\nSet-Cookie: c").text("");
  if (r.path() == "/large")
    co_return http::response(200).body("text/plain", std::string(300'000, 'l'));
  if (r.path().starts_with("/shared")) {
    const std::string lines = "X-Shared: 1\r\nContent-Length: 5\r\n";
    http::response made(200);
    made.body(piece::copy_of(std::string_view("first")))
        .shared_lines(piece(std::string(lines)), 19);
    if (r.path() == "/shared/other") made.body(piece::copy_of(std::string_view("the other")));
    co_return made;
  }
  co_return http::response(200).header("X-Path", r.path()).text("hi\n");
}

std::size_t count_of(const std::string& text, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

}  // namespace

DRIVER_TEST(http_server, "pipelined requests are answered in order on one connection") {
  runtime rt(make());
  rt.run(with_server(answer_site, {}, [](address at, http::server& web) -> task<> {
    const std::string all =
        co_await talk(at,
                      "GET /a HTTP/1.1\r\nHost: x\r\n\r\nHEAD /b HTTP/1.1\r\nHost: x\r\n\r\n"
                      "GET /c HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(count_of(all, "HTTP/1.1 200 OK\r\n"), 3u) << all;
    EXPECT_LT(all.find("X-Path: /a"), all.find("X-Path: /b"));
    EXPECT_LT(all.find("X-Path: /b"), all.find("X-Path: /c"));
    EXPECT_EQ(count_of(all, "hi\n"), 2u);  // HEAD has no body
    EXPECT_EQ(count_of(all, "Connection: close"), 1u);
    EXPECT_EQ(web.counters().requests, 3u);
  }));
}

DRIVER_TEST(http_server, "before it stops, answers say that their connection ends") {
  runtime rt(make());
  rt.run(with_server(answer_site, {}, [](address at, http::server& web) -> task<> {
    const std::string one = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
    stream kept = co_await connect_to(at);
    stream busy = co_await connect_to(at);
    for (const stream& conn : {kept, busy}) {
      co_await conn.write(std::string_view(one));
      EXPECT_EQ(count_of(co_await read_until(conn, "hi\n"), "Connection: close"), 0u);
    }
    web.end_kept_connections();
    EXPECT_FALSE(web.stopping());
    // One that is idle stays, and its next request is answered.
    co_await kept.write(std::string_view(one));
    const std::string last = co_await read_all(kept);
    EXPECT_EQ(count_of(last, "200 OK"), 1u) << last;
    EXPECT_EQ(field_of(last, "Connection"), "close") << last;
    // Requests that have arrived are all answered, and the last answer says it.
    const std::string three = one + one + one;
    co_await busy.write(std::string_view(three));
    const std::string all = co_await read_all(busy);
    EXPECT_EQ(count_of(all, "200 OK"), 3u) << all;
    EXPECT_EQ(count_of(all, "Connection: close"), 1u) << all;
    EXPECT_GT(all.find("Connection: close"), all.rfind("200 OK")) << all;
  }));
}

DRIVER_TEST(http_server, "shared lines may say the length, which goes when the body changes") {
  runtime rt(make());
  rt.run(with_server(answer_site, {}, [](address at, http::server&) -> task<> {
    const std::string same =
        co_await talk(at, "GET /shared HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(count_of(same, "X-Shared: 1\r\nContent-Length: 5\r\n"), 1u) << same;
    EXPECT_EQ(count_of(same, "Content-Length"), 1u);
    EXPECT_TRUE(same.ends_with("\r\n\r\nfirst"));
    const std::string other =
        co_await talk(at, "GET /shared/other HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(count_of(other, "X-Shared: 1\r\nContent-Length: 9\r\n"), 1u) << other;
    EXPECT_EQ(count_of(other, "Content-Length"), 1u);
    EXPECT_TRUE(other.ends_with("\r\n\r\nthe other"));
  }));
}

DRIVER_TEST(http_server,
            "bodies by length and in chunks reach the handler, byte by byte if need be") {
  runtime rt(make());
  rt.run(with_server(answer_site, {}, [](address at, http::server&) -> task<> {
    const std::string text =
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nfirst"
        "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        "3\r\nsec\r\n3\r\nond\r\n0\r\n\r\n";
    const std::string at_once = co_await talk(at, text);
    EXPECT_NE(at_once.find("\r\n\r\nfirst"), std::string::npos) << at_once;
    EXPECT_NE(at_once.find("\r\n\r\nsecond"), std::string::npos) << at_once;
    stream conn = co_await connect_to(at);
    for (const char c : text) {
      co_await conn.write(std::string_view(&c, 1));
      co_await yield();
    }
    std::string slowly;
    while (received in = co_await with_timeout(conn.receive(), 10s)) slowly += in.text();
    EXPECT_EQ(count_of(slowly, "200 OK"), 2u);
    EXPECT_NE(slowly.find("\r\n\r\nsecond"), std::string::npos) << slowly;
  }));
}

namespace {

task<http::response> untrue(http::request& r) {
  const std::string_view path = r.path();
  http::response answer(path == "/large"   ? 1000
                        : path == "/small" ? 99
                        : path == "/early" ? 101
                                           : 200);
  answer.text("hello");
  if (path == "/length") answer.length(9);
  if (path == "/own-length") answer.header("content-length", "3");
  if (path == "/coding") answer.header("Transfer-Encoding", "chunked");
  if (path == "/keep") answer.header("Connection", "keep-alive");
  if (path == "/close") answer.header("connection", "Close");
  if (path == "/half") co_await r.read();
  if (path == "/added") r.add_header("Content-Length", "3");
  co_return answer;
}

}  // namespace

DRIVER_TEST(http_server,
            "an answer whose head would not be true is a 500, and no other one's body") {
  runtime rt(make());
  rt.run(with_server(untrue, {}, [](address at, http::server&) -> task<> {
    const std::string second = "GET /true HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    for (const std::string& path :
         std::vector<std::string>{"/large", "/small", "/early", "/length", "/own-length", "/coding",
                                  "/keep", "/added"}) {
      const std::string all =
          co_await talk(at, "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n" + second);
      EXPECT_TRUE(all.starts_with("HTTP/1.1 500 ")) << path << all;
      EXPECT_EQ(all.find("hello"), all.rfind("hello")) << path << all;
    }
    const std::string closed = co_await talk(at, "GET /close HTTP/1.1\r\nHost: x\r\n\r\n" + second);
    EXPECT_TRUE(closed.starts_with("HTTP/1.1 200 "));
    EXPECT_TRUE(closed.ends_with("hello"));
    EXPECT_EQ(count_of(closed, "hello"), 1u);
    EXPECT_EQ(field_of(closed, "Connection"), "close");
    // HEAD says what GET would.
    const std::string head =
        co_await talk(at, "HEAD /length HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(field_of(head, "Content-Length"), "9");
  }));
}

DRIVER_TEST(http_server, "a client that began its body unasked keeps its connection") {
  runtime rt(make());
  rt.run(with_server(untrue, {}, [](address at, http::server& web) -> task<> {
    stream conn = co_await connect_to(at);
    co_await conn.write(
        "POST /half HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: "
        "10\r\n\r\nhello");
    co_await sleep_for(5ms);
    co_await conn.write("worldGET /true HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    const std::string all = co_await read_all(conn);
    EXPECT_EQ(count_of(all, "200 OK"), 2u) << all;
    EXPECT_EQ(web.counters().bodies_abandoned, 0u);
  }));
}

DRIVER_TEST(http_server, "mistakes of clients and of handlers get an answer and lose nothing") {
  runtime rt(make());
  rt.run(with_server(answer_site, {}, [](address at, http::server& web) -> task<> {
    EXPECT_NE((co_await talk(at, "NONSENSE\r\n\r\n")).find("HTTP/1.1 400"), std::string::npos);
    EXPECT_NE((co_await talk(at, "GET / HTTP/1.1\r\n\r\n")).find("HTTP/1.1 400"),
              std::string::npos);
    EXPECT_NE((co_await talk(at, "GET /throw HTTP/1.1\r\nHost: x\r\n\r\n")).find("HTTP/1.1 500"),
              std::string::npos);
    const std::string split = co_await talk(at, "GET /bad HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_NE(split.find("HTTP/1.1 500"), std::string::npos);
    EXPECT_EQ(split.find("Set-Cookie"), std::string::npos);
    EXPECT_EQ(web.counters().errors, 2u);
    EXPECT_NE(
        (co_await talk(at, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n"))
            .find("HTTP/1.1 413"),
        std::string::npos);
  }));
}

DRIVER_TEST(http_server, "a head that never ends is given up after its timeout") {
  http::server_options options;
  options.header_timeout = 50ms;
  options.idle_timeout = 1s;  // a busy machine may send its first byte late
  runtime rt(make());
  rt.run(with_server(answer_site, options, [](address at, http::server&) -> task<> {
    EXPECT_NE((co_await talk(at, "GET / HT")).find("HTTP/1.1 408"), std::string::npos);
    EXPECT_EQ(co_await talk(at, ""), "");
  }));
}

DRIVER_TEST(http_server, "large answers arrive whole, and draining waits for them") {
  runtime rt(make());
  rt.run(with_server(answer_site, {}, [](address at, http::server&) -> task<> {
    const std::string all =
        co_await talk(at,
                      "GET /large HTTP/1.1\r\nHost: x\r\n\r\n"
                      "GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(count_of(all, "200 OK"), 2u);
    EXPECT_GT(all.size(), 600'000u);
  }));
}

DRIVER_TEST(http_server, "a first request that is on its way when draining begins is answered") {
  HEDDLE_NEEDS_SOCKET();
  runtime rt(make());
  http::server_options options;
  options.drain_grace = 1s;  // a busy machine may send the first request late
  rt.run(with_server(answer_site, options, [](address at, http::server& web) -> task<> {
    stream fresh = co_await connect_to(at), silent = co_await connect_to(at);
    stream idle = co_await connect_to(at);
    co_await idle.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(co_await idle.receive());
    while (web.counters().open != 3) co_await sleep_for(1ms);
    web.stop();
    // At once: the request that follows would come too late after the grace.
    EXPECT_FALSE(co_await with_timeout(idle.receive(), 10s));
    co_await fresh.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    std::string all;
    while (received in = co_await with_timeout(fresh.receive(), 10s)) all += in.text();
    EXPECT_EQ(all.find("HTTP/1.1 200 OK"), 0u);
    EXPECT_NE(all.find("Connection: close"), std::string::npos) << all;
    EXPECT_FALSE(co_await with_timeout(silent.receive(), 10s));  // after its grace
  }));
}

namespace {
constexpr nanoseconds trust = 100ms;

std::string make_site() {
  std::string root = "/tmp/heddle-site-XXXXXX";
  EXPECT_NE(::mkdtemp(root.data()), nullptr);
  std::filesystem::create_directories(root + "/sub/deeper");
  std::ofstream(root + "/index.html") << "<p>index";
  std::ofstream(root + "/a b.txt") << "0123456789";
  std::ofstream(root + "/.secret") << "no";
  std::ofstream(root + "/sub/big.bin") << std::string(3'000'000, 'b');
  std::filesystem::create_symlink("/etc/passwd", root + "/escape");
  std::filesystem::create_symlink("../a b.txt", root + "/sub/inside");
  return root;
}

task<std::string> get_page(address at, std::string target, std::string more = "") {
  co_return co_await talk(
      at, "GET " + target + " HTTP/1.1\r\nHost: x\r\n" + more + "Connection: close\r\n\r\n");
}

task<> check_site(address at, const std::string& root) {
  EXPECT_EQ(status_of(co_await get_page(at, "/")), "200");
  const std::string file = co_await get_page(at, "/a%20b.txt");
  EXPECT_EQ(status_of(file), "200");
  EXPECT_TRUE(file.ends_with("\r\n\r\n0123456789"));
  EXPECT_EQ(field_of(file, "Content-Type"), "text/plain; charset=utf-8");
  const std::string tag = field_of(file, "ETag");
  EXPECT_EQ(status_of(co_await get_page(at, "/a%20b.txt", "If-None-Match: " + tag + "\r\n")),
            "304");
  EXPECT_EQ(status_of(co_await get_page(at, "/a%20b.txt", "If-Match: \"other\"\r\n")), "412");
  const std::string part = co_await get_page(at, "/a%20b.txt", "Range: bytes=2-4\r\n");
  EXPECT_EQ(status_of(part), "206");
  EXPECT_TRUE(part.ends_with("\r\n\r\n234"));
  EXPECT_EQ(field_of(part, "Content-Range"), "bytes 2-4/10");
  EXPECT_EQ(status_of(co_await get_page(at, "/a%20b.txt", "Range: bytes=90-\r\n")), "416");
  EXPECT_EQ(status_of(co_await get_page(at, "/sub")), "301");
  const std::string listing = co_await get_page(at, "/sub/");
  EXPECT_NE(listing.find("big.bin"), std::string::npos);
  const std::string big = co_await get_page(at, "/sub/big.bin");
  EXPECT_EQ(big.size() - big.find("\r\n\r\n") - 4, 3'000'000u);
  EXPECT_EQ(status_of(co_await get_page(at, "/sub/inside")), "200");
  EXPECT_EQ(status_of(co_await get_page(at, "/.secret")), "404");
  EXPECT_EQ(status_of(co_await get_page(at, "/escape")), "404");
  EXPECT_EQ(status_of(co_await get_page(at, "/../etc/passwd")), "400");
  EXPECT_EQ(status_of(co_await get_page(at, "/%2e%2e/etc/passwd")), "400");
  EXPECT_EQ(status_of(co_await get_page(at, "/none")), "404");
  std::ofstream(root + "/a b.txt") << "changed";
  co_await sleep_for(trust + 10ms);
  EXPECT_TRUE((co_await get_page(at, "/a%20b.txt")).ends_with("changed"));
}
}  // namespace

DRIVER_TEST(static_files,
            "a directory is served, with conditions and ranges, and nothing escapes") {
  std::unique_ptr<driver> io = make();
  if (std::string(io->name()) == "sim")
    GTEST_SKIP() << "the root is opened in the real file system";
  const std::string root = make_site();
  {
    runtime rt(std::move(io));
    http::static_options options;
    options.trust = trust;
    http::static_files files(root, options);
    rt.run(
        with_server([&files](http::request& r) { return files.answer(r); }, {},
                    [&root](address at, http::server&) -> task<> { return check_site(at, root); }));
  }
  std::filesystem::remove_all(root);
}

DRIVER_TEST(http_server, "one that was cancelled from outside can serve again, and be stopped") {
  runtime rt(make());
  rt.run([]() -> task<> {
    http::server web(answer_site, {});
    for (int i = 0; i < 2; ++i) {
      auto [door, at] = open_door();
      const auto asks_twice = [](address at) -> task<> {
        EXPECT_EQ(status_of(co_await ask(at, "GET /a")), "200");
        const stream idle = co_await connect_to(at);
        co_await sleep_for(1ms);  // the connection is there when all is cancelled
      };
      co_await any(web.serve(door), asks_twice(at));
      EXPECT_EQ(web.counters().open, 0u);
    }
    web.stop();
    EXPECT_EQ(web.counters().requests, 2u);
  }());
}

namespace {

const std::string& last_body() {
  static const std::string bytes(1 << 20, 'l');
  return bytes;
}

/// The last answer of its connection: by the handler's word, because it failed, or written in
/// parts.
task<http::response> answer_last(http::request& r) {
  if (r.path() == "/fails") throw std::runtime_error("on purpose");
  if (r.path() != "/parts") co_return http::response(200).text(std::string(last_body())).close();
  http::body_writer out = co_await r.start(http::response(200).close());
  co_await out.write(last_body());
  co_return out.done();
}

}  // namespace

DRIVER_TEST(http_server, "RFC 9112 9.6: requests behind the last answer do not take it away") {
  http::server_options options;
  options.failed = [](const http::request_head&, const std::exception_ptr&) {};
  runtime rt(make());
  rt.run(with_server(answer_last, options, [](address at, http::server& web) -> task<> {
    for (const std::string path : {"/", "/parts", "/fails"}) {
      stream conn = co_await connect_to(at);
      const std::string asked = "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n";
      co_await conn.write(std::string_view(asked));
      EXPECT_TRUE(co_await conn.readable());
      // The server has time to close, if that is all that it does.
      co_await sleep_for(20ms);
      const std::string more = asked + asked;
      for (int i = 0; i != 3; ++i) {
        static_cast<void>(co_await as_expected(conn.write(std::string_view(more))));
        co_await sleep_for(10ms);
      }
      const std::string got = co_await read_all(conn);
      EXPECT_EQ(status_of(got), path == "/fails" ? "500" : "200");
      EXPECT_EQ(field_of(got, "Connection"), "close");
      EXPECT_FALSE(got.ends_with('>')) << path << got.substr(got.size() - 40);
      if (path != "/fails") {
        EXPECT_GE(got.size(), last_body().size()) << path;
      }
    }
    EXPECT_EQ(web.counters().requests, 3u);
  }));
}

namespace {

task<http::response> cut_answer(http::request& r) {
  if (r.path() == "/next") co_return http::response(200).text("NEXT");
  const std::string big(12'000'000, 'a');
  auto out = co_await r.start(http::response(200).length(big.size()));
  static_cast<void>(co_await as_expected(with_timeout(out.write(big), 50ms)));
  co_return out.done();
}

}  // namespace

DRIVER_TEST(http_server,
            "a write that was cut short ends the connection, whatever the handler says") {
  runtime rt(make());
  rt.run(with_server(cut_answer, {}, [](address at, http::server&) -> task<> {
    stream conn = co_await connect_to(at);
    co_await conn.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    co_await sleep_for(200ms);
    static_cast<void>(co_await as_expected(  // the server may have closed it
        conn.write(std::string_view("GET /next HTTP/1.1\r\nHost: a\r\n\r\n"))));
    std::string all;
    for (;;) {
      auto in = co_await as_expected(with_timeout(conn.receive(), 20s));
      EXPECT_TRUE(in || in.error() != std::errc::timed_out) << "the connection was kept";
      if (!in || in->empty()) break;
      all += in->text();
    }
    EXPECT_EQ(all.find("NEXT"), std::string::npos);
  }));
}

namespace {

task<http::response> cancelled_inside(http::request&) {
  cancel_source stop;
  stop.cancel();
  co_await with_cancel(stop, sleep_for(1s));
  co_return http::response(200);
}

}  // namespace

DRIVER_TEST(http_server, "a cancellation of the handler's own is a 500") {
  runtime rt(make());
  rt.run(with_server(cancelled_inside, {}, [](address at, http::server&) -> task<> {
    const std::string all =
        co_await talk(at, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(all.substr(0, 13), "HTTP/1.1 500 ") << all;
  }));
}
