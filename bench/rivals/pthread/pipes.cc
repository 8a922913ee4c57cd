// SPDX-License-Identifier: MIT
// Figure 18 of Li and Zdancewic, 2007, with a thread each: 128 pairs send 32 KB to and fro over
// pipes of 4 KB, while other threads wait on pipes on which nothing happens. Stacks of 32 KB, as in
// the paper.
//   pipes IDLE ROUNDS
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <vector>

namespace {

constexpr int pairs = 128;
constexpr std::size_t message_bytes = 32 * 1024;
long rounds = 64;
pthread_barrier_t start;

struct side {
  int in, out;
  bool begins;
};

void all_of(int fd, char* bytes, bool write) {
  for (std::size_t moved = 0; moved < message_bytes;) {
    const ssize_t n = write ? ::write(fd, bytes + moved, message_bytes - moved)
                            : ::read(fd, bytes + moved, message_bytes - moved);
    if (n <= 0) std::abort();
    moved += static_cast<std::size_t>(n);
  }
}

void* talk(void* arg) {
  const side& s = *static_cast<side*>(arg);
  const auto bytes = std::make_unique<char[]>(message_bytes);
  ::pthread_barrier_wait(&start);
  for (long i = 0; i < rounds; ++i) {
    if (s.begins) all_of(s.out, bytes.get(), true);
    all_of(s.in, bytes.get(), false);
    if (!s.begins) all_of(s.out, bytes.get(), true);
  }
  return nullptr;
}

void* wait_idle(void* arg) {
  char c;
  static_cast<void>(!::read(static_cast<int>(reinterpret_cast<long>(arg)), &c, 1));
  return nullptr;
}

void make_pipe(int (&ends)[2]) {
  if (::pipe(ends) != 0) {
    std::perror("pipe");
    std::exit(1);
  }
  ::fcntl(ends[0], F_SETPIPE_SZ, 4096);
}

/// A pipe of which one descriptor is both ends, so that twice as many fit below the limit.
int make_idle_pipe() {
  int ends[2];
  make_pipe(ends);
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
  const int fd = ::open(path, O_RDWR);
  if (fd < 0) {
    std::perror("open");
    std::exit(1);
  }
  ::close(ends[0]);
  ::close(ends[1]);
  return fd;
}

double cpu_s() {
  timespec t;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
  const long idle = argc > 1 ? std::atol(argv[1]) : 0;
  rounds = argc > 2 ? std::atol(argv[2]) : rounds;
  rlimit most;
  ::getrlimit(RLIMIT_NOFILE, &most);
  most.rlim_cur = most.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &most);
  pthread_attr_t small;
  ::pthread_attr_init(&small);
  ::pthread_attr_setstacksize(&small, 32 * 1024);
  ::pthread_barrier_init(&start, nullptr, 2 * pairs + 1);

  for (long i = 0; i < idle; ++i) {
    pthread_t t;
    void* const fd = reinterpret_cast<void*>(long{make_idle_pipe()});
    if (::pthread_create(&t, &small, wait_idle, fd) != 0) {
      std::fprintf(stderr, "no more threads after %ld\n", i);
      return 1;
    }
  }
  std::vector<side> sides;
  for (int i = 0; i < pairs; ++i) {
    int there[2], back[2];
    make_pipe(there);
    make_pipe(back);
    sides.push_back({back[0], there[1], true});
    sides.push_back({there[0], back[1], false});
  }
  std::vector<pthread_t> threads(sides.size());
  for (std::size_t i = 0; i < sides.size(); ++i)
    ::pthread_create(&threads[i], &small, talk, &sides[i]);
  const double begin = cpu_s();
  ::pthread_barrier_wait(&start);
  for (const pthread_t t : threads) ::pthread_join(t, nullptr);
  const double bytes = 2.0 * pairs * static_cast<double>(rounds) * message_bytes;
  std::printf("{\"idle\":%ld,\"bytes_per_cpu_s\":%.0f}\n", idle, bytes / (cpu_s() - begin));
  std::fflush(stdout);
  ::_exit(0);  // the idle ones wait for ever
}
