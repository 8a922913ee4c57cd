// SPDX-License-Identifier: MIT
// echo.draft as a task of C++: what compiled Draft is measured against.
#include <cstdio>
#include <cstdlib>

#include "heddle/heddle.hh"
#include "heddle/io/tcp.hh"
#include "options.hh"

using namespace heddle;

namespace {

task<> session(tcp_stream peer) {
  while (received in = co_await peer.receive()) co_await peer.write(in.data());
}

task<> serve(std::uint16_t port) {
  tcp_listener l = tcp_listener::listen(address::loopback(port));
  std::printf("echo on port %u\n", l.local().port());
  std::fflush(stdout);
  for (;;) {
    tcp_stream s = co_await l.accept();
    const auto number = static_cast<std::uint64_t>(s.number());
    spawn(color(number), session(std::move(s)));
  }
}

}  // namespace

int main(int argc, char** argv) {
  runtime rt(from_environment());
  rt.run(serve(static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 7777)));
}
