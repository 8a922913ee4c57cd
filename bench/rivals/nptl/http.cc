// SPDX-License-Identifier: MIT
//
// A web server of threads, as Knot on a thread package (Krohn and others, 2007, section 8.1): 350
// threads, each with one connection at a time, and files in memory. `http PORT FOLDER [THREADS]`.
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../small_files.hh"

#include <cstdio>
#include <cstdlib>

namespace {

rival::files site;
int door = -1;

void serve(int fd) {
  std::string in;
  char buffer[4096];
  for (;;) {
    std::size_t end = in.find("\r\n\r\n");
    while (end == std::string::npos) {
      const ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
      if (n <= 0) return;
      in.append(buffer, static_cast<std::size_t>(n));
      end = in.find("\r\n\r\n");
    }
    const rival::answered a = site.answer(std::string_view(in).substr(0, end + 4));
    for (std::size_t sent = 0; sent < a.text.size();) {
      const ssize_t n = ::send(fd, a.text.data() + sent, a.text.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) return;
      sent += static_cast<std::size_t>(n);
    }
    if (!a.keep) return;
    in.erase(0, end + 4);
  }
}

void* loop(void*) {
  for (;;) {
    const int fd = ::accept(door, nullptr, nullptr);
    if (fd < 0) continue;
    serve(fd);
    ::close(fd);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 3 ? std::atoi(argv[3]) : 350;
  if (argc < 3 || threads < 1 || !site.load(argv[2])) {
    std::fprintf(stderr, "usage: http PORT FOLDER [THREADS]\n");
    return 2;
  }
  door = rival::listen_loopback(std::atoi(argv[1]), 0);
  if (door < 0) return 1;
  pthread_attr_t small;
  ::pthread_attr_init(&small);
  ::pthread_attr_setstacksize(&small, 128 << 10);  // as the paper has it
  for (int i = 1; i < threads; ++i) {
    pthread_t t;
    if (::pthread_create(&t, &small, &loop, nullptr) != 0) return 1;
  }
  loop(nullptr);
}
