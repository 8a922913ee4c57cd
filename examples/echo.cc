// SPDX-License-Identifier: MIT
// An echo server: one straight-line task a connection. Ctrl-C ends it.
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "heddle/heddle.hh"
#include "heddle/io/signal.hh"
#include "heddle/net/provider.hh"

using namespace heddle;

task<> echo(stream peer) {
  while (received in = co_await peer.receive()) co_await peer.write(in.data());
}

task<> serve(std::uint16_t port) {
  auto [door, at] = net::from_environment().listen(address::loopback(port));
  std::printf("echo on %s\n", at.to_string().c_str());
  std::fflush(stdout);
  for (;;) spawn(echo(co_await door.accept()));
}

task<> program(std::uint16_t port) {
  signal_set stop{SIGINT, SIGTERM};
  co_await any(serve(port), stop.next());  // the first to end cancels the other
}

int main(int argc, char** argv) {
  runtime rt;
  rt.run(program(static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 7007)));
}
