// SPDX-License-Identifier: MIT
// Each example that listens gets SIGTERM while a client is in the middle of a request. The client
// gets its answer, and the example ends with status 0.
#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "heddle/http/detail/hpack.hh"
#include "heddle/io/line_reader.hh"
#include "heddle/io/process.hh"
#include "heddle/io/unix.hh"
#include "support/tree.hh"
#include "web/harness.hh"
#if HEDDLE_WITH_TLS
#include "heddle/tls/stream.hh"
#include "support/tls_files.hh"
#endif

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

enum class speaks : std::uint8_t { http, lines, https, http_on_unix, by_another_test };

struct ending_example {
  std::string_view name;
  speaks protocol = speaks::http;
};
/// All that listen. `by_another_test`: acme needs port 443 and an authority, and curl_multi ends by
/// itself.
constexpr std::array<ending_example, 16> examples_that_listen{{
    {"acme", speaks::by_another_test},
    {"chat"},
    {"chat_websocket"},
    {"curl_multi", speaks::by_another_test},
    {"echo", speaks::lines},
    {"echo_websocket"},
    {"fiber_servers", speaks::lines},
    {"front_page"},
    {"http_unix", speaks::http_on_unix},
    {"httpd"},
    {"https", speaks::https},
    {"json_api"},
    {"page_site"},
    {"proxy"},
    {"rpc_calculator", speaks::by_another_test},
    {"upload"},
}};

/// An example that runs until it ends or goes out of scope.
struct ending_program {
  explicit ending_program(process&& p) : program(std::move(p)) {}
  ending_program(ending_program&& other) noexcept
      : program(std::move(other.program)),
        first_line(std::move(other.first_line)),
        running(std::exchange(other.running, false)) {}
  ~ending_program() {
    if (running) program.kill(SIGKILL);
  }
  /// The address in its first line.
  [[nodiscard]] address at() const {
    const std::size_t from = first_line.find("127.0.0.1");
    const std::size_t end = first_line.find_first_not_of("0123456789.:", from);
    const result<address> found = address::parse(first_line.substr(from, end - from));
    EXPECT_TRUE(found.has_value()) << first_line;
    return found.value_or(address());
  }

  /// The path in its first line.
  [[nodiscard]] std::string path() const {
    const std::size_t from = first_line.find('/', first_line.find("127.0.0.1"));
    if (from == std::string::npos) return "/";
    return first_line.substr(from, first_line.find_first_of(" \r\n", from) - from);
  }

  process program;
  std::string first_line;
  bool running = true;
};

std::vector<std::string> on_free_port() { return {"0"}; }

task<ending_program> start_ending(std::string name, std::vector<std::string> more) {
  std::vector<std::string> words{build_dir() + "/examples/" + name};
  for (std::string& word : more) words.push_back(std::move(word));
  process_options options;
  options.output(child_stream::pipe).errors(child_stream::null);
  ending_program started(co_await spawn_process(command_line(std::move(words)), options));
  line_reader lines(started.program.output());
  started.first_line = std::string(co_await with_timeout(lines.line(), 20s));
  co_return started;
}

/// `where` is an address, or the path of a Unix socket.
task<bool> is_refused(std::string where) {
  if (where[0] == '/') {
    const auto other = co_await as_expected(unix_connect(where));
    co_return !other;
  }
  const auto other = co_await as_expected(tcp_connect(address::parse(where).value()));
  co_return !other;
}

/// Sends SIGTERM and waits until the example accepts no more connections.
task<> terminate_ending(ending_program& p, std::string where) {
  p.program.kill(SIGTERM);
  const time_point end = clock::now() + 20s;
  for (;;) {
    const bool refused = co_await is_refused(where);
    if (refused) co_return;
    if (clock::now() > end) {
      ADD_FAILURE() << "it accepts connections 20 s after SIGTERM";
      co_return;
    }
    co_await sleep_for(1ms);
  }
}

task<> expect_good_end(ending_program& p) {
  const auto how = co_await as_expected(with_timeout(p.program.wait(), 20s));
  EXPECT_TRUE(how.has_value()) << "it still runs 20 s after SIGTERM";
  if (!how) co_return;
  p.running = false;
  EXPECT_TRUE(how->success()) << "status " << how->code << ", signal " << how->signal;
}

/// A request whose head is cut in two by the signal.
task<> ask_across_the_end(stream conn, ending_program& p, std::string where) {
  // The first answer shows that the connection was accepted: a listener that closes resets others.
  co_await conn.write("GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n");
  static_cast<void>(co_await read_until(conn, "\r\n\r\n"));
  co_await conn.write("GET " + p.path() + " HTTP/1.1\r\nHost: loc");
  co_await terminate_ending(p, where);
  co_await conn.write("alhost\r\n\r\n");
  const std::string answer = co_await read_all(std::move(conn));
  EXPECT_NE(answer.find("HTTP/1.1 "), std::string::npos) << answer;
  EXPECT_NE(answer.find("\r\n\r\n"), std::string::npos) << answer;
  EXPECT_EQ(answer.find("<Connection reset"), std::string::npos) << answer;
  EXPECT_NE(status_of(answer), "404") << "it prints this address: " << p.first_line;
}

task<http::response> answer_as_upstream(http::request&) {
  co_return http::response(200).text("from upstream\n");
}

task<> end_http(std::string name) {
  std::vector<std::string> words{"0"};
  tcp_listener upstream = tcp_listener::listen(address::loopback(0));
  scope s;
  if (name == "proxy") {
    words.push_back("http://" + upstream.local().to_string());
    s.spawn(http::serve(upstream, answer_as_upstream));
  }
  if (name == "page_site") words.push_back(source_dir() + "/examples/pages");
  ending_program p = co_await start_ending(name, words);
  const address at = p.at();
  stream conn = co_await tcp_connect(at);
  co_await ask_across_the_end(std::move(conn), p, at.to_string());
  co_await expect_good_end(p);
  s.cancel();
  co_await s.settled();
}

/// A connection of lines and one of HTTP: each sends back the bytes that it gets.
task<> end_lines(std::string name) {
  ending_program p = co_await start_ending(name, on_free_port());
  const address at = p.at();
  tcp_stream conn = co_await tcp_connect(at);
  co_await conn.write("hello\n");
  EXPECT_NE((co_await read_until(conn, "\n")).find('\n'), std::string::npos);
  co_await terminate_ending(p, at.to_string());
  co_await expect_good_end(p);
}

task<> end_on_unix() {
  const std::string path = "/tmp/heddle-end-" + std::to_string(::getpid()) + ".socket";
  const std::vector<std::string> words{path};
  ending_program p = co_await start_ending("http_unix", words);
  stream conn = co_await unix_connect(path);
  co_await ask_across_the_end(std::move(conn), p, path);
  co_await expect_good_end(p);
  EXPECT_FALSE(std::filesystem::exists(path));
}

#if HEDDLE_WITH_TLS
task<> end_https() {
  const tls_files& files = tls_files::get();
  const std::vector<std::string> words{"0", files.path("site.pem"), files.path("site.key")};
  ending_program p = co_await start_ending("https", words);
  const address at = p.at();
  const tls::client_context trust({.authorities = files.authority()});
  stream conn = co_await tls::connect(co_await tcp_connect(at), "localhost", trust);
  co_await ask_across_the_end(std::move(conn), p, at.to_string());
  co_await expect_good_end(p);
}
#endif

task<> end_one(ending_example e) {
  switch (e.protocol) {
    case speaks::http:
      return end_http(std::string(e.name));
    case speaks::lines:
      return end_lines(std::string(e.name));
    case speaks::http_on_unix:
      return end_on_unix();
    case speaks::https:
#if HEDDLE_WITH_TLS
      return end_https();
#endif
    case speaks::by_another_test:
      break;
  }
  return []() -> task<> { co_return; }();
}

/// The handler has asked for the body, so it runs when the signal comes.
task<> end_httpd_in_handler() {
  ending_program p = co_await start_ending("httpd", on_free_port());
  const address at = p.at();
  tcp_stream conn = co_await tcp_connect(at);
  co_await conn.write(
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_NE((co_await read_until(conn, "\r\n\r\n")).find("100 Continue"), std::string::npos);
  co_await terminate_ending(p, at.to_string());
  co_await conn.write("nine then");
  const std::string answer = co_await read_all(conn);
  EXPECT_EQ(status_of(answer), "200") << answer;
  EXPECT_NE(answer.find("nine then"), std::string::npos) << answer;
  co_await expect_good_end(p);
}

std::string frame_of_http2(char type, char flags, char stream, std::string_view payload) {
  const auto size = static_cast<char>(payload.size());
  std::string all{'\0', '\0', size, type, flags, '\0', '\0', '\0', stream};
  return all.append(payload);
}

std::string head_of_http2() {
  std::string head;
  for (const auto& [name, value] :
       std::initializer_list<std::array<std::string_view, 2>>{{":method", "POST"},
                                                              {":scheme", "http"},
                                                              {":path", "/echo"},
                                                              {":authority", "x"},
                                                              {"content-length", "9"},
                                                              {"expect", "100-continue"}})
    http::hpack_encode(head, name, value);
  return head;
}

task<> end_httpd_in_http2_handler() {
  ending_program p = co_await start_ending("httpd", on_free_port());
  const address at = p.at();
  tcp_stream conn = co_await tcp_connect(at);
  const std::string head = head_of_http2();
  co_await conn.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame_of_http2(4, 0, 0, "") +
                      frame_of_http2(1, 4, 1, head));
  // The head of status 100 is a frame of this stream.
  const std::string status_100("\1\4\0\0\0\1", 6);
  co_await read_until(conn, status_100);
  co_await terminate_ending(p, at.to_string());
  co_await conn.write(frame_of_http2(0, 1, 1, "nine then"));
  const std::string answer = co_await read_all(conn);
  EXPECT_NE(answer.find("nine then"), std::string::npos);
  co_await expect_good_end(p);
}

}  // namespace

HEDDLE_TEST(example_ends, "every example that listens is known here") {
  for (const auto& file : std::filesystem::directory_iterator(source_dir() + "/examples")) {
    if (file.path().extension() != ".cc") continue;
    std::ostringstream text;
    text << std::ifstream(file.path()).rdbuf();
    if (text.str().find("listener::listen(") == std::string::npos &&
        text.str().find("net.listen(address::") == std::string::npos &&
        text.str().find("net::from_environment().listen(") == std::string::npos)
      continue;
    const std::string name = file.path().stem().string();
    EXPECT_TRUE(std::ranges::any_of(examples_that_listen,
                                    [&](const ending_example& e) { return e.name == name; }))
        << "add " << name << " to examples_that_listen";
  }
}

HEDDLE_TEST(example_ends,
            "SIGTERM in the middle of a request: it is answered, and the status is 0") {
  for (const ending_example& e : examples_that_listen) {
    SCOPED_TRACE(std::string(e.name));
    if (!std::filesystem::exists(build_dir() + "/examples/" + std::string(e.name))) continue;
    runtime rt;
    rt.run(end_one(e));
  }
}

HEDDLE_TEST(example_ends, "a handler that waits for the rest of a body gets it after SIGTERM") {
  runtime rt;
  rt.run(end_httpd_in_handler());
}

HEDDLE_TEST(example_ends, "a handler of HTTP/2 that waits for a body gets it after SIGTERM") {
  runtime rt;
  rt.run(end_httpd_in_http2_handler());
}
