// SPDX-License-Identifier: MIT
//
// A web server of Boost.Fiber's threads: one for each connection, files in memory. A thread that
// would block leaves its descriptor to epoll and waits; the first thread polls, and sleeps there
// when no other can run. `http PORT FOLDER`.
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../small_files.hh"

#include <boost/fiber/context.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#include <boost/fiber/pooled_fixedsize_stack.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace {

namespace fibers = boost::fibers;

rival::files site;
int poller = -1;
long sleeping = 0, all = 0;  // threads that wait for descriptors, and all of them

// Until the descriptor is ready; edge-triggered, so that it is told once.
struct waiting {
  int fd;
  fibers::context* who = nullptr;
  void wait() {
    who = fibers::context::active();
    ++sleeping;
    who->suspend();
  }
};

void serve(int fd) {
  waiting self{fd};
  epoll_event e{};
  e.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  e.data.ptr = &self;
  ::epoll_ctl(poller, EPOLL_CTL_ADD, fd, &e);
  std::string in;
  char buffer[4096];
  bool open = true;
  while (open) {
    std::size_t end = in.find("\r\n\r\n");
    while (open && end == std::string::npos) {
      const ssize_t n = ::recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
      if (n < 0 && errno == EAGAIN) {
        self.wait();
        continue;
      }
      open = n > 0;
      if (open) in.append(buffer, static_cast<std::size_t>(n));
      end = in.find("\r\n\r\n");
    }
    if (!open) break;
    const rival::answered a = site.answer(std::string_view(in).substr(0, end + 4));
    for (std::size_t sent = 0; open && sent < a.text.size();) {
      const ssize_t n =
          ::send(fd, a.text.data() + sent, a.text.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && errno == EAGAIN) {
        self.wait();
        continue;
      }
      open = n > 0;
      if (open) sent += static_cast<std::size_t>(n);
    }
    open = open && a.keep;
    in.erase(0, end + 4);
  }
  ::close(fd);
  --all;
}

fibers::pooled_fixedsize_stack& stacks() {
  static fibers::pooled_fixedsize_stack pool(16384);
  return pool;
}

void loop(int door) {
  epoll_event e{};
  e.events = EPOLLIN;
  ::epoll_ctl(poller, EPOLL_CTL_ADD, door, &e);
  epoll_event ready[512];
  for (;;) {
    const int n = ::epoll_wait(poller, ready, 512, sleeping == all ? -1 : 0);
    for (int i = 0; i < n; ++i) {
      if (ready[i].data.ptr == nullptr) {
        for (int fd; (fd = ::accept4(door, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
          ++all;
          fibers::fiber(fibers::launch::post, std::allocator_arg, stacks(), serve, fd).detach();
        }
        continue;
      }
      waiting& w = *static_cast<waiting*>(ready[i].data.ptr);
      if (w.who == nullptr) continue;
      --sleeping;
      fibers::context::active()->schedule(std::exchange(w.who, nullptr));
    }
    boost::this_fiber::yield();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || !site.load(argv[2])) {
    std::fprintf(stderr, "usage: http PORT FOLDER\n");
    return 2;
  }
  poller = ::epoll_create1(EPOLL_CLOEXEC);
  const int door = rival::listen_loopback(std::atoi(argv[1]), SOCK_NONBLOCK);
  if (door < 0) return 1;
  loop(door);
}
