// SPDX-License-Identifier: MIT
//
// An open-loop load client: it asks at a given rate, whatever the server does, as many
// independent users would. Requests have their times from one seed (exponential gaps); what a
// request waits for a free connection counts as its own wait, so a slow server cannot hide
// behind a client that waits for it. Users are patient for a while: an answer that comes later is
// late, a request that could not even be sent by then is given up.
// Rate 0: a closed loop, as fast as the server answers. Prints one JSON object.
#include "histogram.hh"
#include "server_time.hh"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <random>
#include <string_view>

namespace {

constexpr std::size_t read_max = 65536;
constexpr std::size_t head_max = 16384;
constexpr int batch_max = 512;
constexpr std::uint64_t second = 1000000000u;

struct options {
  int port = 0;
  std::size_t connections = 400;
  double rate = 1000;
  double seconds = 2;
  double warmup = 0.5;
  double patience = 0.25;
  unsigned seed = 1;
  std::string path = "/";
  std::vector<int> servers;
};

std::uint64_t now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * second + static_cast<std::uint64_t>(t.tv_nsec);
}

struct connection {
  int fd = -1;
  bool busy = false;
  int status = 0;         // of the present answer, once its head is known
  std::size_t left = 0;   // bytes of it that are still to come
  std::uint64_t due = 0;  // when its request should have been sent
  std::string head;       // until it is whole
};

class client {
 public:
  explicit client(const options& o)
      : o_(o),
        poll_(::epoll_create1(EPOLL_CLOEXEC)),
        patience_ns_(static_cast<std::uint64_t>(o.patience * 1e9)),
        chance_(o.seed),
        gap_(1.0),
        text_("GET " + o.path + " HTTP/1.1\r\nHost: localhost\r\n\r\n") {
    ::prctl(PR_SET_TIMERSLACK, 1L);  // sleeps end when they should
    connections_.resize(o.connections);
  }

  int run() {
    for (connection& c : connections_) {
      open(c);
      idle_.push_back(&c);
    }
    const std::uint64_t start = start_ = now_ns();
    begin_ = start + static_cast<std::uint64_t>(o_.warmup * 1e9);
    end_ = begin_ + static_cast<std::uint64_t>(o_.seconds * 1e9);
    next_ = start;
    bool measuring = false;
    for (std::uint64_t now = start; now < end_ && errors_ < 1000; now = now_ns()) {
      if (!measuring && now >= begin_) {
        measuring = true;
        server_begin_ = load::server_time::of(o_.servers);
        measured_from_ = now;
      }
      ask_due(now);
      wait(now);
    }
    const std::uint64_t now = now_ns();
    while (!closed_loop() && next_ < end_) note_asked();  // due while this client did not run
    report(now);
    return errors_ == 0 ? 0 : 1;
  }

 private:
  void open(connection& c) {
    c = connection{};
    c.fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(o_.port));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (c.fd < 0 || ::connect(c.fd, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) {
      std::perror("open: connect");
      std::exit(1);
    }
    const int one = 1;
    ::setsockopt(c.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    ::fcntl(c.fd, F_SETFL, O_NONBLOCK);
    epoll_event e{};
    e.events = EPOLLIN | EPOLLRDHUP | EPOLLET;
    e.data.ptr = &c;
    ::epoll_ctl(poll_, EPOLL_CTL_ADD, c.fd, &e);
  }

  [[nodiscard]] bool closed_loop() const { return o_.rate <= 0; }
  [[nodiscard]] bool counts(std::uint64_t due) const { return due >= begin_ && due < end_; }

  void ask_due(std::uint64_t now) {
    if (closed_loop()) {
      while (!idle_.empty()) send(now);
      return;
    }
    while (next_ <= now) {
      line_.push_back(next_);
      note_asked();
    }
    while (!line_.empty()) {
      const std::uint64_t due = line_.front();
      const bool hopeless = due + patience_ns_ <= now;
      if (!hopeless && idle_.empty()) break;
      line_.pop_front();
      if (!hopeless)
        send(due);
      else if (counts(due))
        ++given_up_;
    }
  }

  // The next request is due: it counts, and the one after it gets its time.
  void note_asked() {
    if (counts(next_)) ++asked_;
    next_ += static_cast<std::uint64_t>(gap_(chance_) * 1e9 / o_.rate);
  }

  // Of the idle connections the one that has been idle longest.
  void send(std::uint64_t due) {
    connection& c = *idle_.front();
    idle_.pop_front();
    c.busy = true;
    c.due = due;
    const ssize_t n = ::send(c.fd, text_.data(), text_.size(), MSG_NOSIGNAL);
    if (n != static_cast<ssize_t>(text_.size()) && n >= 0) ++errors_;
  }

  void wait(std::uint64_t now) {
    epoll_event events[batch_max];
    timespec span{0, 50'000'000};
    if (!closed_loop())
      span.tv_nsec =
          next_ <= now ? 0 : static_cast<long>(std::min<std::uint64_t>(next_ - now, 50'000'000));
    const int n = ::epoll_pwait2(poll_, events, batch_max, &span, nullptr);
    for (int i = 0; i < n; ++i) readable(*static_cast<connection*>(events[i].data.ptr));
  }

  void readable(connection& c) {
    for (;;) {
      const bool discard = c.left > 0;
      const std::size_t want = discard ? c.left : read_max;
      const ssize_t n = ::recv(c.fd, buffer_, want, discard ? MSG_TRUNC : 0);
      if (n <= 0) {
        if (n == 0 || errno != EAGAIN) reopen(c);
        return;
      }
      const auto len = static_cast<std::size_t>(n);
      if (discard) {
        c.left -= len;
      } else if (!take_head(c, std::string_view(buffer_, len))) {
        return reopen(c);
      }
      if (c.left == 0 && c.status != 0) answered(c);
      if (len < want && !discard) return;
    }
  }

  void reopen(connection& c) {
    const bool between = !c.busy;
    if (!between) ++errors_;
    ::close(c.fd);
    if (errors_ > 1000) return;
    const bool was_idle = between;
    open(c);
    if (!was_idle) idle_.push_back(&c);
  }

  // False when what came is no answer.
  bool take_head(connection& c, std::string_view in) {
    c.head += in;
    const std::size_t end = c.head.find("\r\n\r\n");
    if (end == std::string::npos) return c.head.size() < head_max;
    const std::string_view head(c.head.data(), end + 2);
    if (!c.busy || !head.starts_with("HTTP/1.1 ") || head.size() < 12) return false;
    c.status = std::atoi(head.data() + 9);
    std::size_t at = head.find("\r\nContent-Length: ");
    if (at == head.npos) at = head.find("\r\ncontent-length: ");
    if (at == head.npos) return false;
    const std::size_t length = std::strtoul(head.data() + at + 18, nullptr, 10);
    const std::size_t body = c.head.size() - end - 4;
    if (body > length) return false;
    c.left = length - body;
    return true;
  }

  void answered(connection& c) {
    const std::uint64_t now = now_ns();
    if (closed_loop() ? now >= begin_ : counts(c.due)) {
      const std::uint64_t took = now - c.due;
      if (c.status == 200) {
        ++answered_;
        all_.add(took);
        if (took <= patience_ns_ || closed_loop()) ++good_;
      } else if (c.status == 503) {
        ++refused_;
        refused_took_.add(took);
      } else {
        ++errors_;
      }
    }
    c.busy = false;
    c.status = 0;
    c.head.clear();
    idle_.push_back(&c);
  }

  void report(std::uint64_t now) {
    const auto used = load::server_time::of(o_.servers);
    const double seconds = static_cast<double>(now - measured_from_) * 1e-9;
    const auto us = [](std::uint64_t ns) { return static_cast<double>(ns) / 1e3; };
    const auto count = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
    std::printf("{\"seconds\":%.4f,\"asked\":%llu,\"answered\":%llu,\"good\":%llu", seconds,
                count(asked_), count(answered_), count(good_));
    std::printf(",\"refused\":%llu,\"given_up\":%llu,\"errors\":%llu", count(refused_),
                count(given_up_), count(errors_));
    std::printf(",\"goodput_per_s\":%.1f,\"p50_us\":%.1f,\"p99_us\":%.1f,\"refused_p99_us\":%.1f",
                static_cast<double>(good_) / seconds, us(all_.at(0.5)), us(all_.at(0.99)),
                us(refused_took_.at(0.99)));
    std::printf(",\"client_cpu_s\":%.4f,\"client_s\":%.4f",
                static_cast<double>(std::clock()) / CLOCKS_PER_SEC,
                static_cast<double>(now - start_) * 1e-9);
    if (!o_.servers.empty())
      std::printf(",\"server_cpu_s\":%.4f", used.total_s - server_begin_.total_s);
    std::printf("}\n");
  }

  options o_;
  int poll_;
  std::uint64_t patience_ns_;
  std::mt19937_64 chance_;
  std::exponential_distribution<double> gap_;
  std::string text_;
  std::vector<connection> connections_;
  std::deque<connection*> idle_;
  std::deque<std::uint64_t> line_;  // requests that should have been sent, by their times
  load::histogram all_;
  load::histogram refused_took_;
  load::server_time server_begin_;
  std::uint64_t start_ = 0;
  std::uint64_t measured_from_ = 0;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t asked_ = 0;
  std::uint64_t answered_ = 0;
  std::uint64_t good_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t given_up_ = 0;
  std::uint64_t errors_ = 0;
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
    else if (name == "--rate")
      o.rate = std::atof(value);
    else if (name == "--seconds")
      o.seconds = std::atof(value);
    else if (name == "--warmup")
      o.warmup = std::atof(value);
    else if (name == "--patience")
      o.patience = std::atof(value);
    else if (name == "--seed")
      o.seed = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
    else if (name == "--path")
      o.path = value;
    else if (name == "--server")
      o.servers.push_back(std::atoi(value));
    else
      o.port = -1;
  }
  if (argc % 2 == 0 || o.port <= 0 || o.connections == 0) {
    std::fprintf(stderr,
                 "usage: open --port P [--rate R] [--connections N] [--path /P] [--seconds S]\n"
                 "            [--warmup S] [--patience S] [--seed K] [--server PID]...\n");
    std::exit(2);
  }
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  static client c(read_options(argc, argv));
  return c.run();
}
