// SPDX-License-Identifier: MIT
//
// The ceiling with epoll: the least that one thread can do to answer HTTP requests (or to
// echo) with edge-triggered epoll. One read and one send a request, and one wait a batch.
// Heddle's servers are measured against this. Options: see answer.hh.
#include "answer.hh"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace {

constexpr std::size_t read_max = 16384;
constexpr int batch_max = 512;

struct connection {
  std::string backlog;     // echo: bytes that a full socket refused
  std::size_t unsent = 0;  // HTTP: bytes of all answers that are owed
  std::uint8_t matched = 0;

  bool idle() const { return unsent == 0 && backlog.empty(); }
};

class server {
 public:
  explicit server(const ceiling::options& o)
      : answer_(o.body, o.total),
        echo_(o.echo),
        listener_(ceiling::listen_loopback(o.port)),
        poll_(::epoll_create1(EPOLL_CLOEXEC)) {
    watch(listener_, EPOLLIN | EPOLLET);
  }

  [[noreturn]] void run() {
    epoll_event events[batch_max];
    for (;;) {
      const int n = ::epoll_wait(poll_, events, batch_max, -1);
      answer_.refresh();
      for (int i = 0; i < n; ++i) {
        const int fd = events[i].data.fd;
        if (fd == listener_) {
          accept_all();
        } else {
          serve(fd, events[i].events);
        }
      }
    }
  }

 private:
  void watch(int fd, std::uint32_t what) {
    epoll_event e{};
    e.events = what;
    e.data.fd = fd;
    if (::epoll_ctl(poll_, EPOLL_CTL_ADD, fd, &e) != 0) ceiling::fail("epoll_ctl");
  }

  void accept_all() {
    for (;;) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) return;
      if (static_cast<std::size_t>(fd) >= connections_.size())
        connections_.resize(static_cast<std::size_t>(fd) * 2);
      connections_[static_cast<std::size_t>(fd)] = connection{};
      watch(fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
      serve(fd, 0);  // the first request is often there already
    }
  }

  void serve(int fd, std::uint32_t what) {
    connection& c = connections_[static_cast<std::size_t>(fd)];
    if (!c.idle() && !send_rest(fd, c)) return;
    while (c.idle()) {
      const ssize_t n = ::recv(fd, buffer_, read_max, 0);
      if (n <= 0) {
        if (n == 0 || errno != EAGAIN) ::close(fd);
        return;
      }
      const auto len = static_cast<std::size_t>(n);
      if (echo_) {
        c.backlog.assign(buffer_, len);
      } else {
        c.unsent = ceiling::count_requests(buffer_, len, c.matched) * answer_.size();
      }
      if (!send_rest(fd, c)) return;
      // A short read means empty, and an edge will tell of more; but the edge of an end that
      // is there already has been spent.
      if (len < read_max && !(what & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))) return;
    }
  }

  // Sends what is owed until the socket is full; false when the connection is gone.
  bool send_rest(int fd, connection& c) {
    while (!c.idle()) {
      const std::size_t in_answer = (answer_.size() - c.unsent % answer_.size()) % answer_.size();
      const char* const data = echo_ ? c.backlog.data() : answer_.data() + in_answer;
      const std::size_t len =
          echo_ ? c.backlog.size()
                : std::min(c.unsent, answer_.copies() * answer_.size() - in_answer);
      const ssize_t n = ::send(fd, data, len, MSG_NOSIGNAL);
      if (n < 0 && errno != EAGAIN) {
        ::close(fd);
        return false;
      }
      const std::size_t sent = n < 0 ? 0 : static_cast<std::size_t>(n);
      if (echo_)
        c.backlog.erase(0, sent);
      else
        c.unsent -= sent;
      if (sent < len) break;
    }
    return true;
  }

  ceiling::answer answer_;
  bool echo_;
  int listener_;
  int poll_;
  std::vector<connection> connections_{64};
  char buffer_[read_max];
};

}  // namespace

int main(int argc, char** argv) {
  static server s(ceiling::read_options(argc, argv));
  s.run();
}
