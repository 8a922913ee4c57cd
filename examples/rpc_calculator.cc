// SPDX-License-Identifier: MIT
// A calculator over ONC RPC, server and client. The types come from rpc_calculator.x beside it.
//
//   build/release/examples/rpc_calculator              # a server, and a client of it
//   build/release/examples/rpc_calculator serve 7070   # Ctrl-C ends it
//   build/release/examples/rpc_calculator ask 7070
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "heddle/heddle.hh"
#include "heddle/io/signal.hh"
#include "heddle/net/provider.hh"
#include "heddle/rpc/client.hh"
#include "heddle/rpc/server.hh"
#include "rpc_calculator.hh"

using namespace heddle;
using namespace std::chrono_literals;
using v1 = calc::CALCULATOR_V1;

class calculator {
 public:
  task<double> add(const rpc::call&, calc::pair p) { co_return p.a + p.b; }
  task<calc::quotient> divide(const rpc::call&, calc::pair p) {
    calc::quotient q;
    q.set(p.b == 0 ? calc::DIVISION_BY_ZERO : calc::NONE);
    if (p.b != 0) q.value() = p.a / p.b;
    co_return q;
  }
  task<double> mean(const rpc::call&, calc::samples all) {
    double sum = 0;
    for (const double each : all) sum += each;
    co_return all.empty() ? 0 : sum / static_cast<double>(all.size());
  }
};

void add_procedures(rpc::server& s, calculator& c) {
  s.on<v1::ADD>(&calculator::add, c);
  s.on<v1::DIVIDE>(&calculator::divide, c);
  s.on<v1::MEAN>(&calculator::mean, c);
}

task<> ask(net::provider net, address at) {
  rpc::client c(co_await net.connect(at));
  const calc::pair numbers{7, 2};
  std::printf("7 + 2 = %g\n", co_await with_timeout(c.call<v1::ADD>(numbers), 5s));
  const calc::quotient q = co_await c.call<v1::DIVIDE>(numbers);
  std::printf("7 / 2 = %g\n", q.value());
  const calc::pair by_zero{7, 0};
  const calc::quotient none = co_await c.call<v1::DIVIDE>(by_zero);
  std::printf("7 / 0: %s\n", xdr::name_of(none.why));
  const calc::samples samples(std::vector<double>{1, 2, 6});
  std::printf("the mean of 1, 2 and 6 is %g\n", co_await c.call<v1::MEAN>(samples));
}

/// Ends the server when its calls are answered.
task<> stop_at_signal(rpc::server& s) {
  signal_set stop{SIGINT, SIGTERM};
  static_cast<void>(co_await stop.next());
  s.stop();
}

task<> serve(std::uint16_t port) {
  calculator c;
  rpc::server s;
  add_procedures(s, c);
  auto [door, at] = net::from_environment().listen(address::loopback(port));
  std::printf("calculator on %s\n", at.to_string().c_str());
  std::fflush(stdout);
  co_await all(s.serve(std::move(door)), stop_at_signal(s));
}

task<> both() {
  calculator c;
  rpc::server s;
  add_procedures(s, c);
  const net::provider net = net::from_environment();
  auto [door, at] = net.listen(address::loopback(0));
  co_await any(s.serve(std::move(door)), ask(net, at));
}

int main(int argc, char** argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  const auto port = static_cast<std::uint16_t>(argc > 2 ? std::atoi(argv[2]) : 7070);
  runtime rt;
  rt.run(verb == "serve" ? serve(port)
         : verb == "ask" ? ask(net::from_environment(), address::loopback(port))
                         : both());
}
