// SPDX-License-Identifier: MIT
// Figure 18 of Li and Zdancewic, 2007, as a bare epoll loop: 128 pairs of state machines send 32 KB
// to and fro over pipes of 4 KB, while other pipes are registered on which nothing happens.
//   pipes_epoll IDLE ROUNDS
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <vector>

namespace {

constexpr int pairs = 128;
constexpr std::size_t message_bytes = 32 * 1024;

struct side {
  int in, out;
  bool writing;
  std::size_t moved = 0;
  long left;  // of its messages, sent and received
  std::unique_ptr<char[]> bytes = std::make_unique<char[]>(message_bytes);

  /// Goes on until it would block, which a short answer tells without asking again; false when it
  /// has done everything.
  bool run() {
    while (left > 0) {
      const std::size_t wanted = message_bytes - moved;
      const ssize_t n = writing ? ::write(out, bytes.get() + moved, wanted)
                                : ::read(in, bytes.get() + moved, wanted);
      if (n < 0) {
        if (errno == EAGAIN) return true;
        std::abort();
      }
      moved += static_cast<std::size_t>(n);
      if (static_cast<std::size_t>(n) < wanted) return true;
      moved = 0;
      writing = !writing;
      --left;
    }
    return false;
  }
};

void make_pipe(int (&ends)[2]) {
  if (::pipe2(ends, O_NONBLOCK) != 0) {
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
  const int fd = ::open(path, O_RDWR | O_NONBLOCK);
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
  const long rounds = argc > 2 ? std::atol(argv[2]) : 64;
  rlimit most;
  ::getrlimit(RLIMIT_NOFILE, &most);
  most.rlim_cur = most.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &most);

  const int poller = ::epoll_create1(0);
  const auto watch = [&](int fd, unsigned events, void* owner) {
    epoll_event e{};
    e.events = events | EPOLLET;
    e.data.ptr = owner;
    ::epoll_ctl(poller, EPOLL_CTL_ADD, fd, &e);
  };
  for (long i = 0; i < idle; ++i) {
    watch(make_idle_pipe(), EPOLLIN, nullptr);
  }
  std::vector<side> sides;
  sides.reserve(2 * pairs);
  for (int i = 0; i < pairs; ++i) {
    int there[2], back[2];
    make_pipe(there);
    make_pipe(back);
    sides.push_back({back[0], there[1], true, 0, 2 * rounds});
    sides.push_back({there[0], back[1], false, 0, 2 * rounds});
  }
  for (side& s : sides) {
    watch(s.in, EPOLLIN, &s);
    watch(s.out, EPOLLOUT, &s);
  }
  const double begin = cpu_s();
  int running = 2 * pairs;
  epoll_event events[256];
  while (running > 0) {
    const int n = ::epoll_wait(poller, events, 256, -1);
    for (int i = 0; i < n; ++i) {
      auto* s = static_cast<side*>(events[i].data.ptr);
      if (s == nullptr || s->left == 0) continue;
      if (!s->run()) --running;
    }
  }
  const double bytes = 2.0 * pairs * static_cast<double>(rounds) * message_bytes;
  std::printf("{\"idle\":%ld,\"bytes_per_cpu_s\":%.0f}\n", idle, bytes / (cpu_s() - begin));
}
