// SPDX-License-Identifier: MIT
//
// Holds idle connections: opens N, one after the other, asks once on each (HTTP, kept alive; or 100
// bytes that are echoed), and reads the answer. Prints {"open":N}, keeps them until its standard
// input ends, then prints how many the server still had open, {"alive":N}. Each opening waits for
// its answer, so that a server's memory is that of idle connections alone, never of a burst.
#include "head.hh"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace {

constexpr std::size_t read_max = 65536;
constexpr std::size_t of_one_address = 20'000;  // an address has 64,512 ports at most

// The answer to one request on `fd`, or the echo; false when it is none.
bool ask(int fd, const std::string& request, bool echo) {
  if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) < 0) return false;
  static char buffer[read_max];
  std::string got;
  for (std::size_t whole = 0; whole == 0 || got.size() < whole;) {
    const ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
    if (n <= 0) return false;
    got.append(buffer, static_cast<std::size_t>(n));
    whole = echo ? request.size() : load::answer_length(got);
  }
  return echo ? got == request : got.starts_with("HTTP/1.1 200");
}

bool alive(int fd) {
  char byte;
  return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 || std::atoi(argv[1]) <= 0 || std::atoi(argv[2]) <= 0) {
    std::fprintf(stderr, "usage: idle PORT CONNECTIONS PATH|--echo\n");
    return 2;
  }
  const bool echo = std::strcmp(argv[3], "--echo") == 0;
  const std::string request =
      echo ? std::string(100, 'e')
           : std::string("GET ") + argv[3] + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  rlimit most{};
  ::getrlimit(RLIMIT_NOFILE, &most);
  most.rlim_cur = most.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &most);

  std::vector<int> all(std::strtoul(argv[2], nullptr, 10));
  for (int& fd : all) {
    const auto before = static_cast<std::size_t>(&fd - all.data());
    fd = load::connect_loopback(std::atoi(argv[1]),
                                static_cast<std::uint32_t>(before / of_one_address));
    if (!ask(fd, request, echo)) {
      std::fprintf(stderr, "idle: connection %td was not answered\n", &fd - all.data());
      return 1;
    }
  }
  std::printf("{\"open\":%zu}\n", all.size());
  std::fflush(stdout);
  char byte;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  std::size_t left = 0;
  for (const int fd : all) left += alive(fd);
  std::printf("{\"alive\":%zu}\n", left);
}
