// SPDX-License-Identifier: MIT
//
// What both ceilings share: their options, the listening socket, the one answer they give
// (a short one is kept in several copies, so that pipelined requests are answered by one send),
// and the search for the ends of requests. Nothing here is part of Heddle.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

namespace ceiling {

struct options {
  int port = 0;            // 0: the system picks, and we print it
  std::size_t body = 100;  // bytes of the answer's body
  std::size_t total = 0;   // 0, or the length of the whole answer, reached by padding
  bool echo = false;       // give back what comes, instead of HTTP
};

[[noreturn]] inline void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

inline options read_options(int argc, char** argv) {
  options o;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--echo") {
      o.echo = true;
    } else if (i + 1 < argc && arg == "--port") {
      o.port = std::atoi(argv[++i]);
    } else if (i + 1 < argc && arg == "--body") {
      o.body = std::strtoul(argv[++i], nullptr, 10);
    } else if (i + 1 < argc && arg == "--total") {
      o.total = std::strtoul(argv[++i], nullptr, 10);
    } else {
      std::fprintf(stderr, "usage: %s [--port P] [--body BYTES] [--total BYTES] [--echo]\n",
                   argv[0]);
      std::exit(2);
    }
  }
  return o;
}

// Accepted sockets inherit TCP_NODELAY from the listening one, so no call per connection.
inline int listen_loopback(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int one = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<std::uint16_t>(port));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t len = sizeof at;
  if (::bind(fd, reinterpret_cast<sockaddr*>(&at), len) != 0) fail("bind");
  if (::listen(fd, 4096) != 0) fail("listen");
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &len);
  std::printf("listening 127.0.0.1:%d\n", ntohs(at.sin_port));
  std::fflush(stdout);
  return fd;
}

// The answer, `copies()` times in a row. Its date is rewritten in place when the second
// changes; two texts take turns, so that a send under way never sees its bytes change.
class answer {
 public:
  static constexpr std::size_t copies_max = 32;
  static constexpr std::size_t copied_max = 256 * 1024;  // long answers need no company

  answer(std::size_t body, std::size_t total) {
    std::string one = "HTTP/1.1 200 OK\r\nServer: ceiling\r\nDate: ";
    date_at_ = one.size();
    one += "Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Type: text/plain\r\nContent-Length: " +
           std::to_string(body) + "\r\n";
    const std::size_t bare = one.size() + 2 + body;
    const std::size_t pad_head = std::strlen("X-Pad: \r\n");
    if (total >= bare + pad_head)
      one += "X-Pad: " + std::string(total - bare - pad_head, 'x') + "\r\n";
    one += "\r\n";
    size_ = one.size() + body;
    copies_ = std::clamp<std::size_t>(copied_max / size_, 1, copies_max);
    texts_[0].reserve(copies_ * size_);  // nothing long is ever there a third time
    for (std::size_t i = 0; i < copies_; ++i) texts_[0].append(one).append(body, 'x');
    texts_[1] = texts_[0];
    refresh();
  }

  // Once a loop turn: a coarse clock read costs a few nanoseconds.
  void refresh() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (now.tv_sec == second_) return;
    second_ = now.tv_sec;
    tm parts{};
    ::gmtime_r(&second_, &parts);
    char date[32];
    std::strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    current_ ^= 1;
    for (std::size_t i = 0; i < copies_; ++i)
      std::memcpy(texts_[current_].data() + i * size_ + date_at_, date, 29);
  }

  const char* data() const { return texts_[current_].data(); }
  std::size_t size() const { return size_; }
  std::size_t copies() const { return copies_; }

 private:
  std::string texts_[2];
  std::size_t size_ = 0;
  std::size_t copies_ = 1;
  std::size_t date_at_ = 0;
  int current_ = 0;
  std::time_t second_ = -1;
};

// Counts the blank lines that end requests. `matched` (0 to 3) is how much of one the
// connection's earlier bytes ended with.
inline std::size_t count_requests(const char* text, std::size_t len, std::uint8_t& matched) {
  static constexpr char end[] = "\r\n\r\n";
  std::size_t found = 0;
  const char* at = text;
  const char* const stop = text + len;
  while (at < stop) {
    if (matched == 0) {
      const void* hit = ::memmem(at, static_cast<std::size_t>(stop - at), end, 4);
      if (hit != nullptr) {
        ++found;
        at = static_cast<const char*>(hit) + 4;
        continue;
      }
      at = stop - at > 3 ? stop - 3 : at;  // only a beginning of an end can be left
      while (at < stop && *at != '\r') ++at;
      if (at == stop) break;
    }
    if (*at == end[matched]) {
      ++at;
      if (++matched == 4) {
        matched = 0;
        ++found;
      }
    } else {
      matched = *at == '\r' ? 1 : 0;
      ++at;
    }
  }
  return found;
}

}  // namespace ceiling
