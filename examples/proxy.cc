// SPDX-License-Identifier: MIT
// A reverse proxy: each request goes to an upstream that is up, and its answer back to the client.
// Bodies pass both ways while they arrive, and a slow receiver slows its sender down.
//
//   build/release/examples/proxy 8080 http://127.0.0.1:8000 http://127.0.0.1:8001
#include <cstdio>
#include <cstdlib>

#include "heddle/heddle.hh"
#include "heddle/net/provider.hh"
#include "heddle/proxy/reverse_proxy.hh"
#include "heddle/web/server.hh"

using namespace heddle;

void print_line(std::string_view line) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

task<> serve(std::uint16_t port, std::vector<std::string> upstreams) {
  const net::provider net = net::from_environment();
  http::reverse_proxy proxy({.upstreams = std::move(upstreams),
                             .by = http::balance::least_requests,
                             .tcp = net::source_of(net),
                             .log = print_line});
  auto [door, at] = net.listen(address::loopback(port));
  std::printf("http://%s/ to %zu upstreams\n", at.to_string().c_str(), proxy.upstreams());
  std::fflush(stdout);
  co_await http::serve_until_signal(std::move(door), proxy);
}

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: proxy PORT UPSTREAM_URL...\n"), 2;
  try {
    runtime rt;
    rt.run(serve(static_cast<std::uint16_t>(std::atoi(argv[1])), {argv + 2, argv + argc}));
  } catch (const std::exception& why) {
    return std::fprintf(stderr, "proxy: %s\n", why.what()), 1;
  }
}
