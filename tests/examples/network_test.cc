// SPDX-License-Identifier: MIT
// Each example that listens or connects by TCP, in C++, Draft and Tame, with the kernel's TCP and
// with TCP in the program (HEDDLE_NET), in a network namespace. It needs root; elsewhere it is
// skipped.
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "heddle/heddle.hh"
#include "heddle/io/line_reader.hh"
#include "heddle/io/process.hh"
#include "heddle/io/tcp.hh"
#include "heddle/web/server.hh"
#include "support/namespaces.hh"
#include "support/test.hh"
#include "support/tree.hh"
#if HEDDLE_WITH_TLS
#include "support/tls_files.hh"
#endif

using namespace heddle;
using namespace std::chrono_literals;
using heddle::test::build_dir;
using heddle::test::net_namespace;

namespace {

constexpr std::string_view get_page = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::uint16_t upstream_port = 7001;
constexpr std::size_t large_bytes = 3'000'000;

/// An example that serves: its arguments, and an exchange with it. HOST in an argument is replaced
/// by an address of this machine, which an example with TCP in the program reaches by packets.
struct served_example {
  std::string_view name;
  std::vector<std::string> arguments;
  std::string_view ask;
  std::string_view answer;  ///< its beginning
  std::uint16_t port = 7777;
  std::size_t more = 0;  ///< bytes that follow: more than any buffer on the way holds
};

const std::vector<served_example>& served_examples() {
  static const std::vector<served_example> all{
      {"echo", {"7777"}, "hello\n", "hello\n"},
      {"fiber_servers", {"7777"}, "one two\n", "2 words, 2 in all\n"},
      {"httpd", {"7777"}, get_page, "HTTP/1.1 200 "},
      {"chat", {"7777"}, get_page, "HTTP/1.1 200 "},
      {"chat_websocket", {"7777"}, get_page, "HTTP/1.1 200 "},
      {"front_page", {"7777"}, get_page, "HTTP/1.1 200 "},
      {"upload", {"7777"}, get_page, "HTTP/1.1 200 "},
      {"echo_websocket", {"7777"}, get_page, "HTTP/1.1 404 "},
      {"json_api", {"7777"}, get_page, "HTTP/1.1 404 "},
      {"page_site", {"7777"}, get_page, "HTTP/1.1 "},
      {"proxy", {"7777", "http://HOST:7001"}, get_page, "HTTP/1.1 200 "},
      {"acme", {"a.test", "a@a.test", "FOLDER"}, "", "", 443},
      {"draft/echo", {"7777"}, "hello\n", "hello\n"},
      {"draft/paper_echo", {"7777"}, "hello\n", "hello\n"},
      {"draft/chat", {"7777"}, "", ""},
      {"draft/kv", {"7777", "FOLDER/kv.log"}, "set a b\nget a\n", "ok\nb\n"},
      {"draft/web", {"7777", "."}, get_page, "HTTP/1.1 "},
      {"draft/paper_http", {"7777", "."}, get_page, "HTTP/1."},
      {"draft/proxy", {"7777", "7001", "HOST"}, get_page, "HTTP/1.1 200 "},
      {"draft/pool", {"7777", "7002"}, "hello\n", "hello\n"},
      {"draft/hedged", {"7777", "7002", "7002"}, "hello\n", "hello\n"},
      {"tame_knot", {"7777"}, "GET /hello HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK"},
      {"tame_knot",
       {"7777", "FOLDER"},
       "GET /large HTTP/1.1\r\n\r\n",
       "HTTP/1.1 200 OK",
       7777,
       large_bytes},
  };
  return all;
}

/// The addresses of one choice of network.
struct tried_network {
  const char* choice;     ///< HEDDLE_NET
  const char* own;        ///< where the examples listen
  const char* upstream;   ///< where this test listens for them
  const char* seen_from;  ///< the address that their connections come from
};
constexpr tried_network tried[] = {{"kernel", "127.0.0.1", "127.0.0.1", "127.0.0.1"},
                                   {"user:tun0,10.9.0.2/24", "10.9.0.2", "10.9.0.1", "10.9.0.2"}};

std::vector<std::string> words_of(std::string_view name, const std::vector<std::string>& arguments,
                                  const tried_network& net, const std::string& folder) {
  std::vector<std::string> words{build_dir() + "/examples/" + std::string(name)};
  for (std::string word : arguments) {
    if (const std::size_t at = word.find("HOST"); at != word.npos)
      word.replace(at, 4, net.upstream);
    if (const std::size_t at = word.find("FOLDER"); at != word.npos) word.replace(at, 6, folder);
    words.push_back(std::move(word));
  }
  return words;
}

/// Connects as soon as the example listens. Closed: it did not within 20 s.
task<stream> connect_when_open(address to) {
  const time_point end = clock::now() + 20s;
  while (clock::now() < end) {
    auto made = co_await as_expected(with_timeout(tcp_connect(to), 2s));
    if (made) co_return std::move(*made);
    co_await sleep_for(20ms);
  }
  co_return stream();
}

task<> try_served(const served_example& e, const tried_network& net, std::string folder) {
  // Each example has a port of its own: the kernel may keep a killed program's socket for a while.
  const bool fixed = e.port != 7777;
  const auto place = static_cast<std::uint16_t>(&e - served_examples().data());
  const std::uint16_t port = fixed ? e.port : static_cast<std::uint16_t>(e.port + 10 * place);
  std::vector<std::string> words = words_of(e.name, e.arguments, net, folder);
  if (!fixed) words[1] = std::to_string(port);
  const process_options options =
      process_options().output(child_stream::null).errors(child_stream::null);
  process p = co_await spawn_process(command_line(std::move(words)), options);
  // Compiled Draft programs and Tame programs listen on any loopback port; only the stack has
  // 10.9.0.2.
  const address at = address::parse(net.own)->with_port(port);
  stream s = co_await connect_when_open(at);
  EXPECT_TRUE(s.is_open()) << "nobody listens on " << at.to_string();
  if (s.is_open() && !e.answer.empty()) {
    co_await s.write(e.ask);
    std::string got(e.answer.size(), '\0');
    static_cast<void>(co_await as_expected(with_timeout(s.read(got), 20s)));
    EXPECT_EQ(got, e.answer);
    std::string rest(e.more, '\0');
    std::size_t arrived = 0;
    static_cast<void>(co_await as_expected(with_timeout(s.read(rest, arrived), 20s)));
    EXPECT_EQ(arrived, e.more);
  }
  s.close();
  p.kill(SIGKILL);
  static_cast<void>(co_await p.wait());
}

/// An example that runs to its end: what it prints must contain `wanted`.
task<> try_run(std::string name, std::vector<std::string> arguments, tried_network net,
               std::string wanted) {
  std::vector<std::string> words = words_of(name, arguments, net, "");
  const process_options options =
      process_options().output(child_stream::pipe).errors(child_stream::null);
  process p = co_await spawn_process(command_line(std::move(words)), options);
  std::string text;
  char part[4096];
  while (const std::size_t n = co_await with_timeout(p.output().read_some(part), 30s))
    text.append(part, n);
  const exit_status how = co_await p.wait();
  EXPECT_TRUE(how.success()) << name << ": status " << how.code;
  EXPECT_NE(text.find(wanted), std::string::npos) << name << " printed: " << text;
}

/// Serves a page, and notes the address of the last client.
struct page_server {
  std::string seen;
  task<http::response> answer(http::request& r) {
    seen = r.peer().host();
    co_return http::response(200).text("a page\n");
  }
};

task<> echo_lines(stream s) {
  for (;;) {
    const received in = co_await s.receive();
    if (in.empty()) co_return;
    co_await s.write(in.data());
  }
}
task<> serve_echo(tcp_listener door) {
  for (;;) spawn(echo_lines(co_await door.accept()));
}

task<> try_all(scope& s, const tried_network& net, const std::string& folder) {
  page_server pages;
  s.spawn(http::serve(tcp_listener::listen(address::any(upstream_port)),
                      [&pages](http::request& r) { return pages.answer(r); }));
  s.spawn(serve_echo(tcp_listener::listen(address::any(upstream_port + 1))));
  for (const served_example& e : served_examples()) {
    if (!std::filesystem::exists(build_dir() + "/examples/" + std::string(e.name))) continue;
    SCOPED_TRACE(std::string(e.name) + " with " + net.choice);
    pages.seen.clear();
    co_await try_served(e, net, folder);
    if (e.name.ends_with("proxy")) {
      EXPECT_EQ(pages.seen, net.seen_from);
    }
  }
  using words = std::vector<std::string>;
  const words none, page{"http://HOST:7001/"};
  co_await try_run("crawler", page, net, "1 pages over 1 connections");
  EXPECT_EQ(pages.seen, net.seen_from);
  co_await try_run("rpc_calculator", none, net, "the mean of 1, 2 and 6 is 3");
  if (std::filesystem::exists(build_dir() + "/examples/curl_multi"))
    co_await try_run("curl_multi", none, net, "5 of 5 pages through libcurl");
  if (std::filesystem::exists(build_dir() + "/examples/tame_knot"))
    co_await try_run("tame_knot", none, net, "2 requests, 1 file in the cache");
#if HEDDLE_WITH_TLS
  const heddle::test::tls_files& files = heddle::test::tls_files::get();
  const words secure{"0", files.path("site.pem"), files.path("site.key"), files.authority()};
  co_await try_run("https", secure, net, "hello over TLS, /me");
#endif
  s.cancel();
}

}  // namespace

HEDDLE_TEST(examples_network, "each TCP example works with the kernel's TCP and with our own") {
  const net_namespace own;
  if (!own) GTEST_SKIP() << "it needs root, namespaces and /dev/net/tun";
  const net_namespace::visit in(own);
  const int device = heddle::test::make_tun("tun0", "10.9.0.1", IFF_VNET_HDR | IFF_MULTI_QUEUE);
  if (device < 0) GTEST_SKIP() << "it needs root, namespaces and /dev/net/tun";
  ::close(device);
  char folder[] = "/tmp/heddle-network-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  std::ofstream(std::string(folder) + "/large") << std::string(large_bytes, 'l');
  for (const tried_network& net : tried) {
    ::setenv("HEDDLE_NET", net.choice, 1);
    runtime rt;
    rt.run(with_scope(try_all, std::cref(net), std::string(folder)));
    std::filesystem::remove(std::string(folder) + "/kv.log");
  }
  ::unsetenv("HEDDLE_NET");
  std::filesystem::remove_all(folder);
}

HEDDLE_TEST(examples_network, "every example that uses TCP is tried on both networks") {
  const std::vector<std::string_view> run_to_end{"crawler", "curl_multi", "https",
                                                 "rpc_calculator"};
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(heddle::test::source_dir() + "/examples")) {
    const std::string kind = file.path().extension();
    if (kind != ".cc" && kind != ".tcc" && kind != ".draft") continue;
    std::ostringstream text;
    text << std::ifstream(file.path()).rdbuf();
    const std::string all = text.str();
    const std::string name = (kind == ".draft" ? "draft/" : "") + file.path().stem().string();
    EXPECT_TRUE(kind != ".cc" || (all.find("tcp_listener::listen(") == all.npos &&
                                  all.find("tcp_connect(") == all.npos))
        << name << " uses sockets: take listeners and connections from net::from_environment()";
    if (all.find("net::from_environment()") == all.npos && all.find("tcp_listen(") == all.npos &&
        all.find("net.listen(") == all.npos)
      continue;
    EXPECT_TRUE(std::ranges::any_of(served_examples(),
                                    [&](const served_example& e) { return e.name == name; }) ||
                std::ranges::find(run_to_end, name) != run_to_end.end())
        << "add " << name << " to served_examples";
  }
}
