// SPDX-License-Identifier: MIT
// Our client against a server that is not ours: the openssl command.
#include <cstdlib>
#include <string>

#include "heddle/heddle.hh"
#include "heddle/io/line_reader.hh"
#include "heddle/io/process.hh"
#include "heddle/io/tcp.hh"
#include "heddle/tls/stream.hh"
#include "support/test.hh"
#include "support/tls_files.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

bool has_openssl() { return std::system("openssl version > /dev/null 2>&1") == 0; }

/// `openssl s_server` that gives each line back from its end to its beginning.
struct reversing_server {
  process program;
  address at;
};

task<reversing_server> start_server(std::vector<std::string> more) {
  const tls_files& files = tls_files::get();
  std::vector<std::string> words{"openssl",
                                 "s_server",
                                 "-accept",
                                 "127.0.0.1:0",
                                 "-rev",
                                 "-cert",
                                 files.path("site.pem"),
                                 "-key",
                                 files.path("site.key")};
  words.insert(words.end(), more.begin(), more.end());
  process_options options;
  options.input(child_stream::null).output(child_stream::pipe).errors(child_stream::null);
  reversing_server s;
  s.program = co_await spawn_process(command_line(std::move(words)), options);
  line_reader lines(s.program.output());
  for (;;) {
    const std::string line(co_await with_timeout(lines.line(), 20s));
    if (line.starts_with("ACCEPT ")) {
      s.at = address::parse(line.substr(7)).value();
      co_return s;
    }
  }
}

task<tls::session> reverse(address at, tls::client_context trust) {
  stream conn = co_await tls::connect(co_await tcp_connect(at), "localhost", trust);
  const std::string line = std::string(200, 'a') + "b\n";
  co_await conn.write(byte_view(std::string_view(line)));
  std::string got(line.size(), '\0');
  EXPECT_EQ(co_await conn.read(got), line.size());
  EXPECT_EQ(got.substr(0, 2), "ba");
  co_return *tls::session_of(conn);
}

task<> agrees_with_openssl() {
  for (const char* version : {"-tls1_2", "-tls1_3"}) {
    std::vector<std::string> words{version, "-alpn", "echo"};
    reversing_server s = co_await start_server(std::move(words));
    tls::client_options options{.authorities = tls_files::get().authority(), .alpn = {"echo"}};
    const tls::client_context trust(options);
    const tls::session first = co_await reverse(s.at, trust);
    EXPECT_EQ(first.protocol, std::string(version) == "-tls1_2" ? "TLSv1.2" : "TLSv1.3");
    EXPECT_EQ(first.alpn, "echo");
    EXPECT_FALSE(first.resumed);
    EXPECT_TRUE((co_await reverse(s.at, trust)).resumed);
    s.program.kill(9);
    co_await s.program.wait();
  }
}

/// An OCSP answer as the openssl command makes it; what it says does not matter here.
std::string make_ocsp() {
  const tls_files& f = tls_files::get();
  const std::string out = f.path("ocsp.der");
  const std::string command = "cd " + f.path("") + " && touch index.txt && openssl ocsp -index " +
                              "index.txt -rsigner ca.pem -rkey ca.key -CA ca.pem -issuer ca.pem " +
                              "-cert site.pem -respout ocsp.der -noverify > /dev/null 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0);
  return out;
}

task<> staples(std::string ocsp) {
  tls::client_options options{.authorities = tls_files::get().authority(), .wants_ocsp = true};
  const tls::client_context trust(options);
  std::vector<std::string> words{"-status_file", ocsp};
  reversing_server s = co_await start_server(std::move(words));
  EXPECT_TRUE((co_await reverse(s.at, trust)).stapled);
  s.program.kill(9);
  co_await s.program.wait();

  tls::certificate_files files = tls_files::get().certificate("site");
  files.ocsp = ocsp;
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  const address at = door.local();
  listener secure = tls::listen(
      door, tls::server_context({.certificates = {files}, .own_records = tests_own_records()}));
  auto serve_one = [](listener from) -> task<> {
    stream conn = co_await from.accept();
    static_cast<void>(co_await as_expected(conn.receive()));
  };
  scope tasks;
  tasks.spawn(serve_one(secure));
  stream conn = co_await tls::connect(co_await tcp_connect(at), "localhost", trust);
  EXPECT_TRUE(tls::session_of(conn)->stapled);
  conn.close();
  co_await tasks.join();
}

HEDDLE_TEST(tls_peers, "openssl s_server and our client agree, and its sessions go on") {
  if (!has_openssl()) GTEST_SKIP() << "it needs the openssl command";
  runtime rt;
  rt.run(agrees_with_openssl());
}

HEDDLE_TEST(tls_peers, "an OCSP answer is stapled, and asked for") {
  if (!has_openssl()) GTEST_SKIP() << "it needs the openssl command";
  runtime rt;
  rt.run(staples(make_ocsp()));
}

}  // namespace
}  // namespace heddle::test
