// SPDX-License-Identifier: MIT
// A program of a user that calls a procedure by ONC RPC, over a pair of sockets.
#include <cstdio>
#include <heddle/heddle.hh>
#include <heddle/io/tcp.hh>
#include <heddle/rpc/client.hh>
#include <heddle/rpc/server.hh>

#include "calls.hh"

using namespace heddle;

struct adder {
  task<std::int32_t> add(const rpc::call&, pair p) { co_return p.a + p.b; }
};

task<> ask(address at) {
  rpc::client c(co_await tcp_connect(at));
  const pair numbers{40, 2};
  std::printf("package: a call gives %d\n", co_await c.call<CALLS_V1::ADD>(numbers));
}

task<> run() {
  adder a;
  rpc::server s;
  s.on<CALLS_V1::ADD>(&adder::add, a);
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  const address at = door.local();
  co_await any(s.serve(std::move(door)), ask(at));
}

int main() {
  runtime rt;
  rt.run(run());
}
