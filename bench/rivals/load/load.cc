// SPDX-License-Identifier: MIT
//
// A load client for measuring: one thread, N keep-alive connections over edge-triggered
// epoll, a closed loop with an optional pipeline, HTTP GETs or echoed messages. It learns the
// length of an answer from the first one of each connection, checks the first bytes of every
// answer, and lets the kernel discard long bodies (MSG_TRUNC), so it costs less than a server.
// Prints one JSON object. With --server PID it also reports the server's processor time.
#include "histogram.hh"
#include "server_time.hh"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

namespace {

constexpr std::size_t read_max = 65536;
constexpr std::size_t discard_min = 4096;  // shorter rests are cheaper to copy
constexpr std::size_t head_max = 16384;
constexpr int batch_max = 512;

struct options {
  int port = 0;
  std::size_t connections = 50;
  std::size_t pipeline = 1;
  std::uint64_t requests = 0;  // 0: bounded by time alone
  double seconds = 2;
  double warmup = 0.3;
  bool burst = false;    // all connections ask at once, then all answers are awaited
  std::size_t echo = 0;  // bytes of a message; 0: HTTP
  std::string path = "/";
  std::vector<int> servers;
};

std::uint64_t now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
}

struct connection {
  int fd = -1;
  std::size_t answer_len = 0;  // of a whole answer, once one was seen
  std::size_t left = 0;        // bytes of the present answer still to come
  std::size_t waiting = 0;     // answers of the present batch still to come
  std::uint64_t sent_at = 0;
  std::string partial;  // a head that came in pieces
};

class client {
 public:
  explicit client(const options& o) : o_(o), poll_(::epoll_create1(EPOLL_CLOEXEC)) {
    const std::string one = o.echo != 0 ? std::string(o.echo, 'e')
                                        : "GET " + o.path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (std::size_t i = 0; i < o.pipeline; ++i) batch_ += one;
    begins_ = o.echo != 0 ? one.substr(0, 8) : "HTTP/1.1 200";
    connections_.resize(o.connections);
  }

  int run() {
    for (connection& c : connections_) open(c);
    begin_ = now_ns() + static_cast<std::uint64_t>(o_.warmup * 1e9);
    std::uint64_t now = now_ns();
    while (!done(now)) {
      epoll_event events[batch_max];
      // In bursts it spins: a sleeping client would make the server pay for waking it.
      const int n = ::epoll_wait(poll_, events, batch_max, o_.burst ? 0 : 100);
      for (int i = 0; i < n; ++i) readable(*static_cast<connection*>(events[i].data.ptr));
      if (o_.burst && resting_.size() == connections_.size()) send_burst();
      now = now_ns();
      if (!measuring_ && now >= begin_) {
        measuring_ = true;
        begin_ = now;
        server_begin_ = load::server_time::of(o_.servers);
      }
    }
    report(now);
    return errors_ == 0 ? 0 : 1;
  }

 private:
  bool done(std::uint64_t now) const {
    if (errors_ > 1000) return true;
    if (!measuring_) return false;
    if (o_.requests != 0 && latency_.total() >= o_.requests) return true;
    return static_cast<double>(now - begin_) >= o_.seconds * 1e9;
  }

  void open(connection& c) {
    c = connection{};
    c.fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(o_.port));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (c.fd < 0 || ::connect(c.fd, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) {
      std::perror("load: connect");
      std::exit(1);
    }
    const int one = 1;
    ::setsockopt(c.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    ::fcntl(c.fd, F_SETFL, O_NONBLOCK);
    epoll_event e{};
    e.events = EPOLLIN | EPOLLRDHUP | EPOLLET;
    e.data.ptr = &c;
    ::epoll_ctl(poll_, EPOLL_CTL_ADD, c.fd, &e);
    send_batch(c);
  }

  // A server may close between answers (some limit requests per connection); not within one.
  void reopen(connection& c, bool wrong = false) {
    const bool between = !wrong && c.left == 0 && c.partial.empty() && c.waiting == o_.pipeline;
    ++(between ? reconnects_ : errors_);
    ::close(c.fd);
    if (errors_ <= 1000) open(c);
  }

  // A batch is far smaller than a socket's buffer, so a short send is a failure.
  void send_batch(connection& c) {
    c.waiting = o_.pipeline;
    c.sent_at = now_ns();
    const ssize_t n = ::send(c.fd, batch_.data(), batch_.size(), MSG_NOSIGNAL);
    if (n != static_cast<ssize_t>(batch_.size()) && n >= 0) ++errors_;
  }

  void readable(connection& c) {
    for (;;) {
      const bool discard = c.left >= discard_min;
      const std::size_t want = discard ? c.left : read_max;
      const ssize_t n = ::recv(c.fd, buffer_, want, discard ? MSG_TRUNC : 0);
      if (n <= 0) {
        if (n == 0 || errno != EAGAIN) reopen(c);
        return;
      }
      const auto len = static_cast<std::size_t>(n);
      bytes_ += len;
      if (discard) {
        c.left -= len;
        if (c.left == 0) answered(c);
      } else if (!take(c, std::string_view(buffer_, len))) {
        return reopen(c, true);
      }
      if (len < want) return;
    }
  }

  // False when what came is no answer to what was asked.
  bool take(connection& c, std::string_view in) {
    std::string joined;
    if (!c.partial.empty()) {
      joined = std::move(c.partial);
      joined += in;
      c.partial.clear();
      in = joined;
    }
    while (!in.empty()) {
      if (c.left == 0) {
        const std::size_t known = std::min(in.size(), begins_.size());
        if (in.substr(0, known) != std::string_view(begins_).substr(0, known)) return false;
        if (c.answer_len == 0) c.answer_len = o_.echo != 0 ? o_.echo : measure(in);
        if (known < begins_.size() || c.answer_len == 0) {
          c.partial = in;
          return in.size() < head_max;
        }
        c.left = c.answer_len;
      }
      const std::size_t part = std::min(c.left, in.size());
      c.left -= part;
      in.remove_prefix(part);
      if (c.left == 0) answered(c);
    }
    return true;
  }

  // The length of a whole answer, from its head; 0 while the head is incomplete.
  static std::size_t measure(std::string_view in) {
    const std::size_t end = in.find("\r\n\r\n");
    if (end == std::string_view::npos) return 0;
    std::string head(in.substr(0, end + 2));
    std::transform(head.begin(), head.end(), head.begin(),
                   [](unsigned char ch) { return static_cast<char>(std::tolower(ch)); });
    const std::size_t at = head.find("\r\ncontent-length:");
    if (at == std::string::npos) {
      std::fprintf(stderr, "load: an answer without Content-Length\n");
      std::exit(1);
    }
    return end + 4 + std::strtoul(head.c_str() + at + 17, nullptr, 10);
  }

  void answered(connection& c) {
    if (measuring_) latency_.add(now_ns() - c.sent_at);
    if (--c.waiting != 0) return;
    if (o_.burst) {
      resting_.push_back(&c);
    } else {
      send_batch(c);
    }
  }

  void send_burst() {
    std::vector<connection*> all;
    all.swap(resting_);
    for (connection* c : all) send_batch(*c);
    all.clear();
    if (resting_.empty()) resting_.swap(all);  // keeps the memory
  }

  void report(std::uint64_t now) {
    const auto used = load::server_time::of(o_.servers);
    const double seconds = static_cast<double>(now - begin_) * 1e-9;
    const auto requests = static_cast<double>(latency_.total());
    std::printf("{\"requests\":%.0f,\"seconds\":%.4f,\"requests_per_s\":%.0f", requests, seconds,
                requests / seconds);
    std::printf(",\"p50_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f",
                static_cast<double>(latency_.at(0.5)) / 1e3,
                static_cast<double>(latency_.at(0.99)) / 1e3,
                static_cast<double>(latency_.at(0.999)) / 1e3);
    std::printf(",\"errors\":%llu,\"reconnects\":%llu,\"bytes\":%llu,\"answer_bytes\":%zu",
                static_cast<unsigned long long>(errors_),
                static_cast<unsigned long long>(reconnects_),
                static_cast<unsigned long long>(bytes_), connections_[0].answer_len);
    if (!o_.servers.empty())
      std::printf(",\"server_cpu_s\":%.4f,\"server_user_s\":%.4f",
                  used.total_s - server_begin_.total_s, used.user_s - server_begin_.user_s);
    std::printf("}\n");
  }

  options o_;
  int poll_;
  std::string batch_;
  std::string begins_;  // what every answer begins with
  std::vector<connection> connections_;
  std::vector<connection*> resting_;  // bursts: answered, and waiting for the others
  load::histogram latency_;
  load::server_time server_begin_;
  std::uint64_t begin_ = 0;
  std::uint64_t errors_ = 0;
  std::uint64_t reconnects_ = 0;
  std::uint64_t bytes_ = 0;
  bool measuring_ = false;
  char buffer_[read_max];
};

options read_options(int argc, char** argv) {
  options o;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const char* const value = argv[i + 1];
    if (name == "--port")
      o.port = std::atoi(value);
    else if (name == "--connections")
      o.connections = std::strtoul(value, nullptr, 10);
    else if (name == "--pipeline")
      o.pipeline = std::strtoul(value, nullptr, 10);
    else if (name == "--requests")
      o.requests = std::strtoul(value, nullptr, 10);
    else if (name == "--seconds")
      o.seconds = std::atof(value);
    else if (name == "--warmup")
      o.warmup = std::atof(value);
    else if (name == "--burst")
      o.burst = std::atoi(value) != 0;
    else if (name == "--echo")
      o.echo = std::strtoul(value, nullptr, 10);
    else if (name == "--path")
      o.path = value;
    else if (name == "--server")
      o.servers.push_back(std::atoi(value));
    else
      o.port = -1;
  }
  if (argc % 2 == 0 || o.port <= 0 || o.connections == 0 || o.pipeline == 0) {
    std::fprintf(
        stderr,
        "usage: load --port P [--connections N] [--pipeline D] [--path /P | --echo BYTES]\n"
        "            [--seconds S] [--requests K] [--warmup S] [--server PID]...\n");
    std::exit(2);
  }
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  static client c(read_options(argc, argv));
  return c.run();
}
