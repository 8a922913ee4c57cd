// SPDX-License-Identifier: MIT
// Instructions of one request on a kept connection, client and server in one process: a handler's
// small text as an answer.
#include <cstdlib>

#include "heddle/heddle.hh"
#include "heddle/web/server.hh"

using namespace heddle;

namespace {

constexpr std::string_view request =
    "GET /file/abc HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: gate/1\r\nAccept: */*\r\n\r\n";

task<http::response> hello(http::request&) { co_return http::response(200).text("hello\n"); }

task<> ask(address at, long n) {
  tcp_stream conn = co_await tcp_connect(at);
  for (long i = 0; i < n; ++i) {
    co_await conn.write(request);
    const received answer = co_await conn.receive();
    if (answer.empty()) std::abort();
  }
}

task<> program(long n) {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  const address at = door.local();
  http::server web(hello);
  scope s;
  s.spawn(web.serve(std::move(door)));
  co_await ask(at, n);
  web.stop();
  co_await s.join();
}

}  // namespace

int main(int argc, char** argv) {
  runtime_options options;  // epoll: each step is a system call, at the same place in every run
  options.driver = "epoll";
  options.memory_bytes = std::size_t{1} << 28;
  runtime rt(options);
  rt.run(program(argc > 1 ? std::atol(argv[1]) : 1000));
}
