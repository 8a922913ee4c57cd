// SPDX-License-Identifier: MIT
// Figure 18 of paper 003: 128 pairs of tasks send 32 KB to and fro over pipes of 4 KB, while others
// wait on pipes on which nothing happens. One item is one byte. The number is how many wait.
#include <benchmark/benchmark.h>
#include <fcntl.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "heddle/heddle.hh"
#include "heddle/io/pipe.hh"

namespace {

using namespace heddle;

constexpr int pairs = 128;
constexpr std::size_t message_bytes = 32 * 1024;
constexpr int pipe_bytes = 4 * 1024;
constexpr int rounds = 16;  // there and back, of each pair

pipe_pair small_pipe() {
  pipe_pair p = make_pipe();
  ::fcntl(p.reader.number(), F_SETPIPE_SZ, pipe_bytes);
  return p;
}

/// A pipe of which one descriptor is both ends, so that twice as many fit below the limit.
pipe_reader idle_pipe() {
  const pipe_pair p = make_pipe();
  const std::string path = "/proc/self/fd/" + std::to_string(p.reader.number());
  const int fd = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) throw failure({errno, std::generic_category()}, "cannot make an idle pipe");
  return pipe_reader(fd);
}

/// Sends a message and receives one, or the other way round.
task<> talk(pipe_reader in, pipe_writer out, bool begins) {
  const auto message = std::make_unique<std::byte[]>(message_bytes);
  const byte_span bytes(message.get(), message_bytes);
  for (int i = 0; i < rounds; ++i) {
    if (begins) co_await out.write(bytes);
    co_await in.read(bytes);
    if (!begins) co_await out.write(bytes);
  }
}

task<> wait_idle(pipe_reader in) {
  std::byte one[1];
  static_cast<void>(co_await as_expected(in.read(byte_span(one))));
}

task<> talk_all(const std::vector<pipe_pair>& there, const std::vector<pipe_pair>& back) {
  scope s;
  for (std::size_t i = 0; i < there.size(); ++i) {
    s.spawn(talk(back[i].reader, there[i].writer, true));
    s.spawn(talk(there[i].reader, back[i].writer, false));
  }
  co_await s.join();
}

void pipes(benchmark::State& state, const char* driver) {
  runtime rt({.driver = driver});
  std::vector<pipe_pair> there, back;
  for (std::int64_t i = 0; i < state.range(0); ++i) rt.spawn(wait_idle(idle_pipe()));
  for (int i = 0; i < pairs; ++i) {
    there.push_back(small_pipe());
    back.push_back(small_pipe());
  }
  for (int i = 0; i < 4; ++i) rt.once();
  for (auto _ : state) rt.run(talk_all(there, back));
  state.SetItemsProcessed(state.iterations() * pairs * 2 * rounds *
                          static_cast<std::int64_t>(message_bytes));
}
BENCHMARK_CAPTURE(pipes, epoll, "epoll")
    ->Name("pipes/epoll")
    ->Arg(0)
    ->Arg(100)
    ->Arg(1000)
    ->Arg(10000)
    ->MeasureProcessCPUTime();
BENCHMARK_CAPTURE(pipes, io_uring, "io_uring")
    ->Name("pipes/io_uring")
    ->Arg(0)
    ->Arg(100)
    ->Arg(1000)
    ->Arg(10000)
    ->MeasureProcessCPUTime();

}  // namespace

BENCHMARK_MAIN();
