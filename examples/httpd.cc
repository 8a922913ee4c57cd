// SPDX-License-Identifier: MIT
// A web server in a few lines: a handler is a function from a request to a response.
#include <cstdio>
#include <cstdlib>

#include "heddle/heddle.hh"
#include "heddle/net/provider.hh"
#include "heddle/web/server.hh"

using namespace heddle;

task<http::response> answer(http::request& r) {
  if (r.path() == "/") co_return http::response(200).text("hello\n");
  if (r.path() == "/echo") co_return http::response(200).text(co_await r.text());
  co_return http::error_response(404, "try / or /echo");
}

task<> serve(std::uint16_t port) {
  auto [door, at] = net::from_environment().listen(address::loopback(port));
  std::printf("http://%s/\n", at.to_string().c_str());
  std::fflush(stdout);
  co_await http::serve_until_signal(std::move(door), answer);
}

int main(int argc, char** argv) {
  runtime rt;
  rt.run(serve(static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 8080)));
}
