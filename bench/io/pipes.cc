// SPDX-License-Identifier: MIT
// Suite io: 128 pairs of tasks send 32 KB back and forth through pipes of 4 KB, beside N tasks that
// wait for pipes in which nothing comes (Li and Zdancewic, 2007, figure 18). By hand it is the
// least: one loop on epoll that tries first. Bytes for a second of processor time.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <stdexcept>
#include <vector>

#include "heddle/heddle.hh"
#include "heddle/io/pipe.hh"

namespace {

using namespace heddle;

constexpr int pairs = 128;
constexpr int rounds = 20;  // of each pair, in one measurement
constexpr std::size_t message_bytes = 32 * 1024;
constexpr double bytes_moved = 2.0 * pairs * rounds * message_bytes;

double cpu_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

bool enough_descriptors(benchmark::State& state, std::size_t idle) {
  rlimit most{};
  ::getrlimit(RLIMIT_NOFILE, &most);
  most.rlim_cur = most.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &most);
  if (most.rlim_max >= 2 * idle + 1024) return true;
  state.SkipWithError("the limit of open files (ulimit -n) is too low");
  return false;
}

pipe_pair narrow_pipe() {
  pipe_pair p = make_pipe();
  if (::fcntl(p.reader.number(), F_SETPIPE_SZ, 4096) < 0)
    throw std::system_error(errno, std::generic_category(), "F_SETPIPE_SZ");
  return p;
}

struct way {
  pipe_pair there = narrow_pipe(), back = narrow_pipe();
};

task<> asks(way& w) {
  std::vector<std::byte> message(message_bytes);
  for (int i = 0; i < rounds; ++i) {
    co_await w.there.writer.write(message);
    co_await w.back.reader.read(message);
  }
}
task<> answers(way& w) {
  std::vector<std::byte> message(message_bytes);
  for (int i = 0; i < rounds; ++i) {
    co_await w.there.reader.read(message);
    co_await w.back.writer.write(message);
  }
}
task<> waits(pipe_reader& in) {
  std::byte one{};
  static_cast<void>(co_await as_expected(in.read(byte_span(&one, 1))));
}

task<> program(std::size_t idle, double& seconds) {
  std::vector<pipe_pair> silent;
  silent.reserve(idle);
  scope waiting;
  for (std::size_t i = 0; i < idle; ++i)
    waiting.spawn(waits(silent.emplace_back(make_pipe()).reader));
  co_await yield();
  {
    std::vector<way> ways(pairs);
    const double begin = cpu_seconds();
    scope active;
    for (way& w : ways) {
      active.spawn(asks(w));
      active.spawn(answers(w));
    }
    co_await active.join();
    seconds = cpu_seconds() - begin;
  }
  waiting.cancel();
  static_cast<void>(co_await as_expected(waiting.join()));
}

void tasks(benchmark::State& state, const char* driver) {
  const auto idle = static_cast<std::size_t>(state.range(0));
  if (!enough_descriptors(state, idle)) return;
  double seconds = 1;
  for (auto _ : state) {
    runtime rt({.driver = driver, .workers = 1});
    rt.run(program(idle, seconds));
  }
  state.counters["bytes_per_cpu_s"] = bytes_moved / seconds;
}

// --- By hand -------------------------------------------------------------------------------------

/// One side of a pair: writes and reads in turn, whichever comes first.
struct side {
  int in = -1, out = -1;
  bool writing = false;
  int turns = 0;
  std::size_t done = 0;

  /// Goes on until it would block. Whether all turns are over.
  bool run(std::vector<std::byte>& buffer) {
    while (turns < 2 * rounds) {
      const ssize_t n = writing ? ::write(out, buffer.data() + done, message_bytes - done)
                                : ::read(in, buffer.data() + done, message_bytes - done);
      if (n < 0) return false;
      done += static_cast<std::size_t>(n);
      if (done == message_bytes) {
        done = 0;
        ++turns;
        writing = !writing;
      }
    }
    return true;
  }
};

void by_hand(benchmark::State& state) {
  const auto idle = static_cast<std::size_t>(state.range(0));
  if (!enough_descriptors(state, idle)) return;
  double seconds = 1;
  for (auto _ : state) {
    const int poller = ::epoll_create1(EPOLL_CLOEXEC);
    std::vector<int> open{poller};
    const auto make = [&open](int(&p)[2], bool narrow) {
      if (::pipe2(p, O_NONBLOCK | O_CLOEXEC) != 0 ||
          (narrow && ::fcntl(p[0], F_SETPIPE_SZ, 4096) < 0))
        throw std::system_error(errno, std::generic_category(), "pipe");
      open.insert(open.end(), {p[0], p[1]});
    };
    const auto watch = [poller](int fd, unsigned events, side* s) {
      epoll_event e{};
      e.events = events | EPOLLET;
      e.data.ptr = s;
      ::epoll_ctl(poller, EPOLL_CTL_ADD, fd, &e);
    };
    for (std::size_t i = 0; i < idle; ++i) {
      int p[2];
      make(p, false);
      watch(p[0], EPOLLIN, nullptr);
    }
    std::vector<side> sides(2 * pairs);
    for (std::size_t i = 0; i < sides.size(); i += 2) {
      int there[2], back[2];
      make(there, true);
      make(back, true);
      sides[i] = {back[0], there[1], true};
      sides[i + 1] = {there[0], back[1], false};
      for (side* s : {&sides[i], &sides[i + 1]}) {
        watch(s->in, EPOLLIN, s);
        watch(s->out, EPOLLOUT, s);
      }
    }
    std::vector<std::byte> buffer(message_bytes);
    const double begin = cpu_seconds();
    std::size_t left = sides.size();
    std::vector<char> over(sides.size());
    epoll_event ready[512];
    while (left > 0) {
      const int n = ::epoll_wait(poller, ready, 512, -1);
      for (int i = 0; i < n; ++i) {
        auto* const s = static_cast<side*>(ready[i].data.ptr);
        if (s == nullptr) continue;
        char& ended = over[static_cast<std::size_t>(s - sides.data())];
        if (ended == 0 && s->run(buffer)) {
          ended = 1;
          --left;
        }
      }
    }
    seconds = cpu_seconds() - begin;
    for (const int fd : open) ::close(fd);
  }
  state.counters["bytes_per_cpu_s"] = bytes_moved / seconds;
}

void cases(benchmark::internal::Benchmark* b) { b->Iterations(1); }
#define PIPES(IDLE)                                  \
  BENCHMARK_CAPTURE(tasks, uring_##IDLE, "io_uring") \
      ->Name("io/pipes_" #IDLE "/heddle_uring")      \
      ->Arg(IDLE)                                    \
      ->Apply(cases);                                \
  BENCHMARK_CAPTURE(tasks, epoll_##IDLE, "epoll")    \
      ->Name("io/pipes_" #IDLE "/heddle_epoll")      \
      ->Arg(IDLE)                                    \
      ->Apply(cases);                                \
  BENCHMARK(by_hand)->Name("io/pipes_" #IDLE "/by_hand")->Arg(IDLE)->Apply(cases)
PIPES(0);
PIPES(128);
PIPES(1024);
PIPES(8192);
PIPES(32768);
PIPES(65536);

}  // namespace

BENCHMARK_MAIN();
