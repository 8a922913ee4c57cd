// SPDX-License-Identifier: MIT
// The examples as built programs: each runs, and does what its file says.
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "heddle/heddle.hh"
#include "heddle/io/line_reader.hh"
#include "heddle/io/process.hh"
#include "heddle/io/tcp.hh"
#include "support/test.hh"
#include "support/tree.hh"

using namespace heddle;
using namespace std::chrono_literals;

namespace {

std::string example(const char* name) { return heddle::test::build_dir() + "/examples/" + name; }

/// What a program prints; it must end well, within a time.
task<std::string> output_of(std::string name) {
  process p =
      co_await spawn_process({example(name.c_str())}, process_options().output(child_stream::pipe));
  std::string all;
  char part[4096];
  while (std::size_t n = co_await with_timeout(p.output().read(part), 20s)) all.append(part, n);
  const exit_status how = co_await p.wait();
  EXPECT_TRUE(how.success()) << name;
  co_return all;
}

/// A server's port, from the line that it prints first: "... 127.0.0.1:PORT...".
task<std::uint16_t> port_of(line_reader& lines) {
  const std::string first(co_await with_timeout(lines.line(), 20s));
  const std::size_t colon = first.rfind(':');
  EXPECT_NE(colon, std::string::npos) << first;
  co_return static_cast<std::uint16_t>(std::atoi(first.c_str() + colon + 1));
}

/// Starts a server on a free port, talks to it, ends it.
template <class Talk>
task<> with_server(std::string name, Talk talk) {
  process p = co_await spawn_process({example(name.c_str()), "0"},
                                     process_options().output(child_stream::pipe));
  line_reader lines(p.output());
  const std::uint16_t port = co_await port_of(lines);
  co_await with_timeout(talk(address::loopback(port)), 20s);
  p.kill(SIGTERM);
  static_cast<void>(co_await p.wait());
}

task<> two_echoes(address at) {
  tcp_stream one = co_await tcp_connect(at), other = co_await tcp_connect(at);
  line_reader from_one(one), from_other(other);
  co_await one.write("first\n");
  co_await other.write("second\n");
  EXPECT_EQ(co_await from_other.line(), "second");
  EXPECT_EQ(co_await from_one.line(), "first");
}

task<> three_requests(address at) {
  tcp_stream conn = co_await tcp_connect(at);
  line_reader lines(conn);
  co_await conn.write(
      "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nagain"
      "GET /none HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  std::string all;
  while (received in = co_await conn.receive()) all += in.text();
  const std::size_t hello = all.find("\r\n\r\nhello\n");
  const std::size_t again = all.find("\r\n\r\nagain");
  EXPECT_EQ(all.find("HTTP/1.1 200 OK\r\n"), 0u);
  EXPECT_LT(hello, again) << all;
  EXPECT_NE(all.find("HTTP/1.1 404 Not Found\r\n", again), std::string::npos) << all;
}

/// Gives how long before the end of the page its first section came.
task<nanoseconds> ask_for_a_page_in_parts(address at) {
  tcp_stream conn = co_await tcp_connect(at);
  co_await conn.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const time_point begun = clock::now();
  nanoseconds early{};
  std::string all;
  while (received in = co_await conn.receive()) {
    all += in.text();
    if (early == nanoseconds{} && all.find("<section>") != std::string::npos)
      early = clock::now() - begun;
  }
  const nanoseconds whole = clock::now() - begun;
  EXPECT_GE(whole, 400ms);
  for (const char* text : {"<li>four</ul>", "Hello, &lt;you&gt;", "rain &amp; wind", "load ",
                           "<b>books</b>", "<!-- no banner -->", " visits"})
    EXPECT_NE(all.find(text), std::string::npos) << text << " in " << all;
  EXPECT_TRUE(all.ends_with("\r\n0\r\n\r\n"));
  co_return whole - early;
}

/// The parts before the slow one come while that is fetched; all parts together take as long as it.
task<> a_page_in_parts(address at) {
  nanoseconds before_the_end{};
  // A busy machine may show both to this program at once; not each time.
  for (int i = 0; i != 10 && before_the_end < 50ms; ++i)
    before_the_end = co_await ask_for_a_page_in_parts(at);
  EXPECT_GE(before_the_end, 50ms);
}

}  // namespace

HEDDLE_TEST(examples, "lookup: prints the addresses of this machine and where they come from") {
  runtime rt;
  const std::string text = rt.run(output_of("lookup"));
  EXPECT_TRUE(text.starts_with("localhost: ")) << text;
  EXPECT_NE(text.find("answers come from "), std::string::npos) << text;
}

HEDDLE_TEST(examples, "multidns: parallel beats windowed beats serial, and all have the answers") {
  runtime rt;
  std::string text;
  int serial = 0, parallel = 0, windowed = 0;
  const auto took = [&](const char* what) {
    const char* line = std::strstr(text.c_str(), what);
    int ms = -1;
    if (line != nullptr) std::sscanf(line + std::strlen(what), " 8 names in %d ms", &ms);
    return ms;
  };
  // A busy machine may hold up one of them for the 20 ms that are between two; not each time.
  for (int i = 0; i != 10 && !(parallel < windowed && windowed < serial); ++i) {
    text = rt.run(output_of("multidns"));
    serial = took("serial");
    parallel = took("parallel");
    windowed = took("windowed");
  }
  EXPECT_GE(serial, 8 * 20) << text;
  EXPECT_GE(windowed, 2 * 20) << text;
  EXPECT_LT(windowed, serial) << text;
  EXPECT_GE(parallel, 20) << text;
  EXPECT_LT(parallel, windowed) << text;
  std::size_t right = 0;
  for (std::size_t at = 0; (at = text.find("dddd is 192.0.2.4\n", at)) != std::string::npos; ++at)
    ++right;
  EXPECT_EQ(right, 3u) << text;
}

HEDDLE_TEST(examples, "policy: background work gets every fourth turn") {
  runtime rt;
  const std::string out = rt.run(output_of("policy"));
  EXPECT_EQ(std::count(out.begin(), out.end(), 'i'), 12) << out;
  EXPECT_EQ(std::count(out.begin(), out.end(), 'b'), 6) << out;
  EXPECT_GE(out.find("bb"), 12u) << out;  // never two in a row while others want their turn
}

HEDDLE_TEST(examples, "colors: no money appears or vanishes, on any number of workers") {
  runtime rt;
  for (const char* workers : {"1", "2", "4"}) {
    ::setenv("HEDDLE_WORKERS", workers, 1);
    const std::string out = rt.run(output_of("colors"));
    ::unsetenv("HEDDLE_WORKERS");
    EXPECT_EQ(out, "20000 transfers, and 0 appeared or vanished\n");
  }
}

HEDDLE_TEST(examples, "echo: two connections at once, each gets its own lines back") {
  runtime rt;
  rt.run(with_server("echo", &two_echoes));
}

/// The example with the folder of its pages.
task<> a_page_from_files() {
  process p = co_await spawn_process(
      {example("page_site"), "0", heddle::test::source_dir() + "/examples/pages"},
      process_options().output(child_stream::pipe));
  line_reader lines(p.output());
  const std::uint16_t port = co_await port_of(lines);
  tcp_stream conn = co_await tcp_connect(address::loopback(port));
  co_await conn.write("GET /?q=%3Crain HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  std::string all;
  while (received in = co_await conn.receive()) all += in.text();
  for (const char* text : {"<title>News</title>", "for <a href=\"/?q=%3Crain\">&lt;rain</a>",
                           "<a href=\"/news?about=1\">&lt;No&gt; news</a> <small>today</small>",
                           "weather: unknown", "a file &amp; lies beside", "1 visits"})
    EXPECT_NE(all.find(text), std::string::npos) << text << " in " << all;
  p.kill(SIGTERM);
  static_cast<void>(co_await p.wait());
}

HEDDLE_TEST(examples,
            "page_site: a page from files shows a table, a file and a text for a failure") {
  runtime rt;
  rt.run(a_page_from_files());
}

HEDDLE_TEST(examples, "httpd: pages, an echoed body and a clear 404 on one connection") {
  runtime rt;
  rt.run(with_server("httpd", &three_requests));
}

HEDDLE_TEST(examples, "front_page: what is ready is sent while a slow part is fetched") {
  runtime rt;
  rt.run(with_server("front_page", &a_page_in_parts));
}
