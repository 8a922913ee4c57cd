// SPDX-License-Identifier: MIT
// HTTP/2 with programs that are not ours: our client and nghttpd, h2load and curl and our server.
// Each test is left out where its program is not installed.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "client/http2_peer.hh"
#include "heddle/io/process.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

bool installed(const std::string& program) {
  return std::system(("command -v " + program + " > /dev/null 2>&1").c_str()) == 0;
}

/// A folder with a small file and a large one.
class peer_folder {
 public:
  peer_folder() {
    std::string made = (std::filesystem::temp_directory_path() / "heddle-h2-XXXXXX").string();
    if (::mkdtemp(made.data()) == nullptr) std::abort();
    path = made;
    std::ofstream(path / "small") << "small\n";
    std::ofstream(path / "large") << std::string(1'000'000, 'L');
  }
  peer_folder(const peer_folder&) = delete;
  ~peer_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

/// nghttpd on a port that was free.
struct peer_server {
  peer_server() = default;
  peer_server(peer_server&&) = default;
  ~peer_server() { program.kill(SIGKILL); }
  process program;
  address at;
};

task<peer_server> start_nghttpd(std::vector<std::string> before, std::vector<std::string> after) {
  peer_server s;
  {
    tcp_listener free = tcp_listener::listen(address::loopback(0));
    s.at = free.local();
    free.close();
  }
  std::vector<std::string> words = {"nghttpd", "-a", "127.0.0.1", "--echo-upload"};
  for (std::string& each : before) words.push_back(std::move(each));
  words.push_back(std::to_string(s.at.port()));
  for (std::string& each : after) words.push_back(std::move(each));
  process_options options;
  options.input(child_stream::null).output(child_stream::null).errors(child_stream::null);
  s.program = co_await spawn_process(command_line(std::move(words)), options);
  for (int i = 0; i < 500; ++i) {
    const auto conn = co_await as_expected(tcp_connect(s.at));
    if (conn) break;
    co_await sleep_for(10ms);
  }
  co_return s;
}

task<> visit_nghttpd(http::client& web, std::string base) {
  const http::fetched small = co_await web.get(base + "/small");
  EXPECT_EQ(small.body, "small\n");
  EXPECT_EQ(small.head.major_version(), 2);
  EXPECT_EQ((co_await web.get(base + "/none")).status(), 404);
  EXPECT_EQ((co_await web.head(base + "/small")).header("content-length"), "6");
  const http::fetched large = co_await web.get(base + "/large");
  EXPECT_EQ(large.body.size(), 1'000'000u);
  const std::string sent(300'000, 'u');
  const http::fetched back = co_await web.post(base + "/small", "text/plain", sent);
  EXPECT_TRUE(back.body == sent) << back.body.size();
  http::outgoing parts("POST", base + "/small");
  parts.body("text/plain", [left = std::make_shared<int>(20)]() -> task<std::string> {
    return [](std::shared_ptr<int> n) -> task<std::string> {
      co_return --*n < 0 ? std::string() : std::string(7000, 'p');
    }(left);
  });
  EXPECT_EQ((co_await web.send(std::move(parts))).body.size(), 140'000u);
  int right = 0;
  scope s;
  for (int i = 0; i < 300; ++i)
    s.spawn([](http::client& by, std::string url, int& count) -> task<> {
      count += (co_await by.get(std::move(url))).body == "small\n";
    }(web, base + "/small", right));
  co_await s.join();
  EXPECT_EQ(right, 300);
  EXPECT_EQ(web.counters().connections, 1u);
}

HEDDLE_TEST(client_interop, "nghttpd answers our client in clear, and over TLS by ALPN") {
  if (!installed("nghttpd")) GTEST_SKIP() << "nghttpd is not installed";
  runtime rt;
  rt.run([]() -> task<> {
    const peer_folder files;
    {
      std::vector<std::string> words;  // GCC 12 takes no lists in an awaited call
      words.push_back("--no-tls");
      words.push_back("-d");
      words.push_back(files.path.string());
      const std::vector<std::string> no_keys;
      peer_server clear = co_await start_nghttpd(words, no_keys);
      http::client web(by_prior_knowledge());
      co_await visit_nghttpd(web, "http://127.0.0.1:" + std::to_string(clear.at.port()));
    }
#if HEDDLE_WITH_TLS
    const tls_files& keys = tls_files::get();
    std::vector<std::string> words, of_tls;
    words.push_back("-d");
    words.push_back(files.path.string());
    of_tls.push_back(keys.path("site.key"));
    of_tls.push_back(keys.path("site.pem"));
    peer_server secure = co_await start_nghttpd(words, of_tls);
    http::client_options options;
    const tls::client_context trust({.authorities = keys.authority(), .alpn = {"h2", "http/1.1"}});
    options.secure = [trust](stream over, std::string host) {
      return tls::connect(std::move(over), std::move(host), trust);
    };
    http::client web(options);
    co_await visit_nghttpd(web, "https://127.0.0.1:" + std::to_string(secure.at.port()));
#endif
  }());
}

task<http::response> answer_peer(http::request& r) {
  const std::string body = co_await r.text();
  co_return http::response(200)
      .header("X-Version", std::to_string(r.head().major_version()))
      .text(body.empty() ? "hello" : body);
}

task<std::string> output_of(std::vector<std::string> words) {
  process_options options;
  options.input(child_stream::null).output(child_stream::pipe).errors(child_stream::null);
  process program = co_await spawn_process(command_line(std::move(words)), options);
  std::string all;
  for (char block[4096];;) {
    const std::size_t got = co_await program.output().read_some(byte_span(block));
    if (got == 0) break;
    all.append(block, got);
  }
  static_cast<void>(co_await program.wait());
  co_return all;
}

HEDDLE_TEST(client_interop, "h2load and curl get every answer of our server") {
  runtime rt;
  rt.run(with_server(answer_peer, {}, [](address at, http::server&) -> task<> {
    if (installed("h2load")) {
      const std::vector<std::string> words = {"h2load", "-n", "2000", "-c",
                                              "4",      "-m", "20",   url_of(at)};
      const std::string said = co_await output_of(words);
      EXPECT_NE(said.find("2000 succeeded, 0 failed, 0 errored"), std::string::npos) << said;
    }
    if (installed("curl")) {
      const std::vector<std::string> words = {"curl", "-s", "--http2-prior-knowledge", "-d",
                                              "sent", "-w", "%{http_version}",         url_of(at)};
      EXPECT_EQ(co_await output_of(words), "sent2");
    }
  }));
}

}  // namespace
}  // namespace heddle::test
