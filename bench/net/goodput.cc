// SPDX-License-Identifier: MIT
// How fast a large answer arrives over a network that loses and delays packets, from ours (with
// CUBIC) and from the kernel's TCP with CUBIC and with BBR; the receiver is the kernel's. The
// network is a box between two TUN devices in namespaces of the benchmark's own, so it needs root.
// One command for the whole table:
//   build/dist/bench/net_goodput
// HEDDLE_TRACE=FILE writes the packets of the last transfer (heddle trace tcp FILE); those of the
// kernel by tcpdump, which must be installed. ROUNDS=N transfers each N times instead of five.
#include <benchmark/benchmark.h>
#include <netinet/tcp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "heddle/heddle.hh"
#include "heddle/io/tcp.hh"
#include "heddle/net/provider.hh"
#include "tests/support/namespaces.hh"

namespace {

using namespace heddle;
using heddle::test::lossy_network;
using heddle::test::net_namespace;

enum sender : std::uint8_t { user_cubic, kernel_cubic, kernel_bbr };
constexpr std::size_t answer_bytes = 4 << 20;

/// tcpdump in this thread's namespace, as long as this lives.
class tcpdump_of {
 public:
  explicit tcpdump_of(const char* file) {
    if (file == nullptr) return;
    child_ = ::fork();
    if (child_ == 0) {
      ::execlp("tcpdump", "tcpdump", "-i", "box0", "-s", "128", "-U", "-w", file, nullptr);
      ::_exit(127);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  tcpdump_of(const tcpdump_of&) = delete;
  tcpdump_of& operator=(const tcpdump_of&) = delete;
  ~tcpdump_of() {
    if (child_ <= 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ::kill(child_, SIGTERM);
    ::waitpid(child_, nullptr, 0);
  }

 private:
  ::pid_t child_ = -1;
};

int rounds() {
  const char* const said = std::getenv("ROUNDS");
  return said == nullptr ? 5 : std::max(std::atoi(said), 1);
}

/// Seconds from the first byte to the last.
task<double> read_answer() {
  stream s = co_await tcp_connect(*address::parse("10.9.0.2:80"));
  co_await s.write("?");
  const auto began = std::chrono::steady_clock::now();
  std::size_t got = 0;
  while (received in = co_await s.receive()) got += in.size();
  if (got != answer_bytes) throw std::runtime_error("bytes are missing");
  co_return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

task<> give_answer(net::provider net, sender from) {
  auto [door, at] = net.listen(*address::parse("10.9.0.2:80"));
  if (from != user_cubic) {
    const std::string_view name = from == kernel_bbr ? "bbr" : "cubic";
    if (::setsockopt(door.number(), IPPROTO_TCP, TCP_CONGESTION, name.data(),
                     static_cast<socklen_t>(name.size())) != 0)
      throw std::runtime_error("the kernel has no such congestion control");
  }
  stream s = co_await door.accept();
  static_cast<void>(co_await s.receive());
  co_await s.write(std::string(answer_bytes, 'g'));
  s.shutdown_write();
  static_cast<void>(co_await as_expected(s.receive()));  // until the reader closes
}

void transfer(benchmark::State& state) {
  const auto from = static_cast<sender>(state.range(0));
  std::uint64_t seed = 1;
  for (auto _ : state) {
    lossy_network net({.loss = static_cast<double>(state.range(1)) / 1000,
                       .delay_us = static_cast<std::uint32_t>(state.range(2)) * 1000,
                       .seed = seed++});
    if (!net) {
      state.SkipWithError("it needs root, namespaces and /dev/net/tun");
      return;
    }
    double took = 0;
    std::thread server([&] {
      const net_namespace::visit in(net.near);
      if (from != user_cubic) heddle::test::add_loopback_address("10.9.0.2");
      const tcpdump_of dump(from == user_cubic ? nullptr : std::getenv("HEDDLE_TRACE"));
      runtime rt;
      rt.run([from]() -> task<> {
        const char* const trace = std::getenv("HEDDLE_TRACE");
        net::user_options user;
        if (trace != nullptr && from == user_cubic) user.trace = trace;
        net::provider over = from == user_cubic ? net::user(user) : net::kernel();
        co_await give_answer(std::move(over), from);
      });
    });
    std::this_thread::sleep_for(
        std::chrono::milliseconds(std::getenv("HEDDLE_TRACE") == nullptr ? 100 : 600));
    {
      const net_namespace::visit in(net.far);
      runtime rt;
      took = rt.run(read_answer());
    }
    server.join();
    state.SetIterationTime(took);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(answer_bytes) * state.iterations());
}

BENCHMARK(transfer)
    ->ArgNames({"sender", "permille_lost", "ms_each_way"})
    ->ArgsProduct({{user_cubic, kernel_cubic, kernel_bbr}, {0, 10, 20, 30, 40, 50}, {0, 10}})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(rounds());

}  // namespace
