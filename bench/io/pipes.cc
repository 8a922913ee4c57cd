// SPDX-License-Identifier: MIT
// Figure 18 of Li and Zdancewic, 2007: 128 pairs of tasks send 32 KB to and fro over pipes of 4 KB,
// while others wait on pipes on which nothing happens: `io/pipes_idle_N/heddle_DRIVER`, N of them
// waiting. The counter is bytes for each second of processor time. The largest N fills the
// descriptor limit; rivals do the same as `pipes N ROUNDS` (bench/rivals).
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/resource.h>

#include <cerrno>
#include <ctime>
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
constexpr int rounds = 64;  // there and back, of each pair; as many as rivals do in one run

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
task<> talk(pipe_reader in, pipe_writer out, byte_span message, bool begins) {
  for (int i = 0; i < rounds; ++i) {
    if (begins) co_await out.write(message);
    co_await in.read(message);
    if (!begins) co_await out.write(message);
  }
}

task<> wait_idle(pipe_reader in, int& waiting) {
  std::byte one[1];
  ++waiting;
  static_cast<void>(co_await as_expected(in.read(byte_span(one))));
}

struct conversation {
  pipe_pair there = small_pipe(), back = small_pipe();
  std::unique_ptr<std::byte[]> memory = std::make_unique<std::byte[]>(2 * message_bytes);
  [[nodiscard]] byte_span message(std::size_t of) {
    return {memory.get() + of * message_bytes, message_bytes};
  }
};

task<> talk_all(std::vector<conversation>& all) {
  scope s;
  for (conversation& c : all) {
    s.spawn(talk(c.back.reader, c.there.writer, c.message(0), true));
    s.spawn(talk(c.there.reader, c.back.writer, c.message(1), false));
  }
  co_await s.join();
}

double cpu_s() {
  timespec t;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

void pipes(benchmark::State& state, const char* driver, int idle) {
  runtime rt({.driver = driver});
  int waiting = 0;
  for (int i = 0; i < idle; ++i) rt.spawn(wait_idle(idle_pipe(), waiting));
  std::vector<conversation> all(pairs);
  while (waiting < idle) rt.once();
  for (int i = 0; i < 4; ++i) rt.once();  // what they asked for has reached the kernel
  const double begin = cpu_s();
  for (auto _ : state) rt.run(talk_all(all));
  const double bytes = static_cast<double>(state.iterations()) * 2 * pairs * rounds * message_bytes;
  state.counters["bytes_per_cpu_s"] = bytes / (cpu_s() - begin);
}

/// As many idle pipes as fit beside the four ends of each pair, and a few for the rest.
int idle_most() {
  rlimit limit;
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  constexpr rlim_t others = 4 * pairs + 64, enough = 100'000;
  return static_cast<int>(std::min(limit.rlim_max, enough + others) - others);
}

}  // namespace

int main(int argc, char** argv) {
  for (const char* const driver : {"epoll", "io_uring"})
    for (const int idle : {0, 100, 1000, 10'000, idle_most()}) {
      const std::string subject = driver[0] == 'e' ? "heddle_epoll" : "heddle_uring";
      benchmark::RegisterBenchmark(
          ("io/pipes_idle_" + std::to_string(idle) + "/" + subject).c_str(), pipes, driver, idle)
          ->MeasureProcessCPUTime();
    }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
