// SPDX-License-Identifier: MIT
// The servers of examples/draft over real sockets, on two workers, with the system's drivers.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <vector>

#include "draft/tool.hh"
#include "support/test.hh"
#include "support/tree.hh"

using namespace heddle;
namespace fs = std::filesystem;

namespace {

enum class language { c, cc };

/// A compiled example that runs until the test ends; with no driver named, the machine's best.
class server {
 public:
  server(const std::string& name, const char* driver, const std::vector<std::string>& arguments,
         language in = language::c)
      : folder_(fs::temp_directory_path() /
                ("heddle-draft-server-" + name + "-" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    const std::string file = test::source_dir() + "/examples/draft/" + name + ".draft";
    const bool cc = in == language::cc;
    const draft::compiled made = draft::compile(file, cc ? draft::stage::cc : draft::stage::c);
    EXPECT_TRUE(made.good()) << source::print(made.report);
    const std::string text = folder_ / (cc ? "program.cc" : "program.c");
    const std::string program = folder_ / "program", object = folder_ / "part.o";
    EXPECT_TRUE(source::write_text(text, made.text).has_value());
    const std::string examples = test::source_dir() + "/examples/draft";
    const std::string part = name == "web"          ? "/http_parse.c"
                             : name == "kv"         ? "/kv_table.c"
                             : name == "paper_http" ? "/paper_request.c"
                                                    : "";
    const std::string compiler = HEDDLE_C_COMPILER;
    const std::string compilers_cc = compiler == "gcc" ? "g++" : "clang++-19";
    const std::string flags = std::string(" -w -D_GNU_SOURCE " HEDDLE_C_FLAGS " -I") +
                              test::source_dir() + "/include -I" + examples + " ";
    std::string command = compiler + " -std=c11 -O1" + flags;
    if (cc && !part.empty()) command += "-c " + examples + part + " -o " + object + " && ";
    if (cc) {
      if (part.empty()) command.clear();
      command += compilers_cc + " -std=c++23 -O1" + flags;
    }
    command += text + " " +
               (part.empty() ? ""
                : cc         ? object
                             : examples + part) +
               " -o " + program + " " + test::build_dir() +
               "/lib/libheddle.a " HEDDLE_LINK_LIBRARIES;
    EXPECT_EQ(std::system(command.c_str()), 0);
    int out[2];
    EXPECT_EQ(::pipe(out), 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(out[1], 1);
      ::close(out[0]);
      if (*driver == '\0')
        ::unsetenv("HEDDLE_DRIVER");
      else
        ::setenv("HEDDLE_DRIVER", driver, 1);
      ::setenv("HEDDLE_WORKERS", "2", 1);
      std::vector<char*> argv = {const_cast<char*>(program.c_str())};
      for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
      argv.push_back(nullptr);
      ::execv(program.c_str(), argv.data());
      ::_exit(127);
    }
    ::close(out[1]);
    std::string line;
    for (char x; ::read(out[0], &x, 1) == 1 && x != '\n';) line += x;
    ::close(out[0]);
    port_ = static_cast<std::uint16_t>(std::atoi(line.substr(line.rfind(' ') + 1).c_str()));
    EXPECT_NE(port_, 0) << line;
  }
  server(const server&) = delete;
  ~server() {
    EXPECT_EQ(::waitpid(child_, nullptr, WNOHANG), 0) << "the server has ended";
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    fs::remove_all(folder_);
  }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

 private:
  fs::path folder_;
  pid_t child_ = -1;
  std::uint16_t port_ = 0;
};

class client {
 public:
  explicit client(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    patience(10'000);
  }
  client(const client&) = delete;
  ~client() { ::close(fd_); }

  void send(const std::string& s) {
    EXPECT_EQ(::send(fd_, s.data(), s.size(), MSG_NOSIGNAL), static_cast<ssize_t>(s.size()));
  }
  /// How long until() waits for more.
  void patience(int milliseconds) {
    const timeval bound{milliseconds / 1000, milliseconds % 1000 * 1000};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
  }
  /// Reads until `end` has come; what came.
  std::string until(const std::string& end) {
    while (in_.find(end) == std::string::npos) {
      char chunk[4096];
      const ssize_t n = ::recv(fd_, chunk, sizeof chunk, 0);
      if (n <= 0) return std::exchange(in_, {}) + "(the end)";
      in_.append(chunk, static_cast<std::size_t>(n));
    }
    const std::size_t len = in_.find(end) + end.size();
    std::string got = in_.substr(0, len);
    in_.erase(0, len);
    return got;
  }

 private:
  int fd_;
  std::string in_;
};

}  // namespace

namespace {

void talk_to_echo(const char* name, const char* driver, language in) {
  {
    const server echo(name, driver, {"0"}, in);
    std::vector<std::unique_ptr<client>> all;
    for (int i = 0; i != 40; ++i) all.push_back(std::make_unique<client>(echo.port()));
    for (int turn = 0; turn != 3; ++turn) {
      for (std::size_t i = 0; i != all.size(); ++i)
        all[i]->send("hello " + std::to_string(i) + "\n");
      for (std::size_t i = 0; i != all.size(); ++i)
        EXPECT_EQ(all[i]->until("\n"), "hello " + std::to_string(i) + "\n");
      all.resize(all.size() / 2);  // the others have gone
    }
  }
}

void talk_to_chat(language in) {
  const server chat("chat", "epoll", {"0"}, in);
  client a(chat.port());
  a.send("first\n");
  // Nothing tells a that it has joined but others who join later.
  a.patience(100);
  for (int i = 0; i != 100; ++i) {
    const client probe(chat.port());
    if (a.until("joined\n").find("joined\n") != std::string::npos) break;
  }
  a.patience(10'000);
  client b(chat.port());
  EXPECT_NE(a.until("joined\n").find("joined\n"), std::string::npos);
  b.send("hello\n");
  EXPECT_NE(a.until("hello\n").find("hello\n"), std::string::npos);
  a.send("hi\n");
  EXPECT_NE(b.until("hi\n").find("hi\n"), std::string::npos);
}

void talk_to_web(language in) {
  const fs::path site =
      fs::temp_directory_path() / ("heddle-draft-site-" + std::to_string(::getpid()));
  fs::create_directories(site);
  ASSERT_TRUE(source::write_text(site / "a.txt", "some text").has_value());
  {
    const server web("web", "", {"0", site.string()}, in);
    client c(web.port());
    c.send("GET /a.txt HTTP/1.1\r\n\r\nGET /../b HTTP/1.1\r\n\r\nHEAD /a.txt HTTP/1.1\r\n\r\n");
    EXPECT_EQ(c.until("some text"), "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsome text");
    EXPECT_EQ(c.until("\r\n\r\n"), "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(c.until("\r\n\r\n"), "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n");
    c.send("BAD\r\n\r\n");
    EXPECT_EQ(
        c.until("(never)"),
        "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n(the end)");
  }
  fs::remove_all(site);
}

void talk_to_proxy_and_kv(language in) {
  {
    const server echo("echo", "epoll", {"0"});
    const server proxy("proxy", "", {"0", std::to_string(echo.port())}, in);
    client c(proxy.port());
    c.send("over two hops\n");
    EXPECT_EQ(c.until("\n"), "over two hops\n");
  }
  const fs::path log =
      fs::temp_directory_path() / ("heddle-draft-kv-" + std::to_string(::getpid()));
  for (const bool first : {true, false}) {
    const server kv("kv", "", {"0", log.string()}, in);
    client c(kv.port());
    if (first) {
      c.send("get a\nset a one two\nset b 2\nset a 3\nwhat\n");
      for (const char* line : {"none\n", "ok\n", "ok\n", "ok\n", "what?\n"})
        EXPECT_EQ(c.until("\n"), line);
    }
    c.send("get a\nget b\nget c\n");
    for (const char* line : {"3\n", "2\n", "none\n"}) EXPECT_EQ(c.until("\n"), line);
  }
  fs::remove(log);
}

void talk_to_pool_and_hedged(language in) {
  const server echo("echo", "", {"0"});
  const std::string to = std::to_string(echo.port());
  {
    const server pool("pool", "", {"0", to}, in);
    std::vector<std::unique_ptr<client>> clients;
    for (int i = 0; i != 12; ++i) clients.push_back(std::make_unique<client>(pool.port()));
    for (int round = 0; round != 3; ++round) {
      for (auto& c : clients) c->send("round " + std::to_string(round) + "\n");
      for (auto& c : clients) EXPECT_EQ(c->until("\n"), "round " + std::to_string(round) + "\n");
    }
  }
  // A server that never answers: it listens, and nobody accepts.
  const int silent = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  ASSERT_EQ(::bind(silent, reinterpret_cast<sockaddr*>(&at), size), 0);
  ASSERT_EQ(::listen(silent, 16), 0);
  ASSERT_EQ(::getsockname(silent, reinterpret_cast<sockaddr*>(&at), &size), 0);
  const std::string slow = std::to_string(ntohs(at.sin_port));
  {
    const server hedged("hedged", "", {"0", slow, to}, in);
    client c(hedged.port());
    c.send("one\n");
    EXPECT_EQ(c.until("\n"), "one\n");
    c.send("two\n");
    EXPECT_EQ(c.until("\n"), "two\n");
  }
  ::close(silent);
  {
    // Nobody listens on the first port any more: the connection is refused at once.
    const server hedged("hedged", "", {"0", slow, to}, in);
    client c(hedged.port());
    c.send("three\n");
    EXPECT_EQ(c.until("\n"), "three\n");
    const server dead("hedged", "", {"0", slow, slow}, in);
    client d(dead.port());
    d.send("four\n");
    EXPECT_EQ(d.until("\n"), "(the end)");
  }
}

}  // namespace

HEDDLE_TEST(draft_servers, "echo gives back what each of its clients sent") {
  for (const char* name : {"echo", "paper_echo"})
    for (const char* driver : {"", "epoll", "poll"}) talk_to_echo(name, driver, language::c);
}
HEDDLE_TEST(draft_servers, "the paper's echo gives back more than its buffer holds, in pieces") {
  const server echo("paper_echo", "", {"0"});
  client c(echo.port());
  const std::string text = std::string(20'000, 'x') + "\n";
  c.send(text);
  EXPECT_EQ(c.until("\n"), text);
}

HEDDLE_TEST(draft_servers, "the paper's HTTP server sends files, and refuses what is no GET") {
  const fs::path site =
      fs::temp_directory_path() / ("heddle-paper-site-" + std::to_string(::getpid()));
  fs::create_directories(site);
  ASSERT_TRUE(source::write_text(site / "a.txt", "some text").has_value());
  ASSERT_TRUE(source::write_text(site / "long.txt", std::string(128 << 10, 'x') + "$").has_value());
  for (const char* driver : {"", "epoll", "poll"}) {
    const server http("paper_http", driver, {"0", site.string()});
    client c(http.port());
    for (int turn = 0; turn != 2; ++turn) {
      c.send(
          "GET /a.txt HTTP/1.1\r\n\r\nGET /../a.txt HTTP/1.1\r\n\r\nPUT /a.txt HTTP/1.1\r\n\r\n");
      EXPECT_TRUE(c.until("\r\n").starts_with("HTTP/1.1 200 "));
      EXPECT_TRUE(c.until("\r\n\r\n").ends_with("Content-Length: 9\r\n\r\n"));
      EXPECT_EQ(c.until("text"), "some text");
      EXPECT_TRUE(c.until("\r\n\r\n").starts_with("HTTP/1.1 404 "));
      EXPECT_TRUE(c.until("\r\n\r\n").starts_with("HTTP/1.1 400 "));
    }
    c.send("GET /long.txt HT");
    c.send("TP/1.1\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(c.until("\r\n\r\n").ends_with("Content-Length: 131073\r\n\r\n"));
    EXPECT_EQ(c.until("$").size(), (128u << 10) + 1);
    EXPECT_EQ(c.until("(never)"), "(the end)");
    client d(http.port());
    d.send("GET /" + std::string(5000, 'x'));  // no request of that size fits
    EXPECT_EQ(d.until("(never)"), "(the end)");
  }
  fs::remove_all(site);
}
HEDDLE_TEST(draft_servers, "chat tells every member what the others say") {
  talk_to_chat(language::c);
}
HEDDLE_TEST(draft_servers, "web answers pipelined requests, and refuses what is none") {
  talk_to_web(language::c);
}
HEDDLE_TEST(draft_servers, "proxy carries both directions; kv keeps its log") {
  talk_to_proxy_and_kv(language::c);
}
HEDDLE_TEST(draft_servers, "pool shares its connections; hedged asks a second server") {
  talk_to_pool_and_hedged(language::c);
}

HEDDLE_TEST(draft_servers, "in C++ they do the same: echo and chat") {
  for (const char* driver : {"", "poll"}) talk_to_echo("echo", driver, language::cc);
  talk_to_chat(language::cc);
}
HEDDLE_TEST(draft_servers, "in C++ they do the same: web, proxy and kv") {
  talk_to_web(language::cc);
  talk_to_proxy_and_kv(language::cc);
}
HEDDLE_TEST(draft_servers, "in C++ they do the same: pool and hedged") {
  talk_to_pool_and_hedged(language::cc);
}
