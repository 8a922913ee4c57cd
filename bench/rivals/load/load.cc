// SPDX-License-Identifier: MIT
//
// A load client for measuring: one thread, N connections over edge-triggered epoll, a closed loop
// with an optional pipeline, HTTP GETs (kept alive, or one for each connection) or echoed messages.
// It learns the length of each path's answer from the first one, checks the first bytes of every
// answer, and lets the kernel discard long bodies (MSG_TRUNC), so it costs less than a server.
// Prints one JSON object. With --server PID it also reports the server's processor time.
#include "head.hh"
#include "histogram.hh"
#include "options.hh"
#include "server_time.hh"

#include <netinet/tcp.h>
#include <sys/epoll.h>

#include <cerrno>
#include <ctime>

namespace {

constexpr std::size_t read_max = 65536;
constexpr std::size_t discard_min = 4096;  // shorter rests are cheaper to copy
constexpr std::size_t long_answer = 8192;  // of longer ones only the beginning is copied
constexpr std::size_t begin_max = 512;
constexpr std::size_t head_max = 16384;
constexpr int batch_max = 512;

std::uint64_t now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
}

struct connection {
  int fd = -1;
  std::size_t turn = 0;     // which path it asks for
  std::size_t left = 0;     // bytes of the present answer still to come
  std::size_t waiting = 0;  // answers of the present batch still to come
  std::uint64_t sent_at = 0;
  bool finished = false;  // answered, and the server is to close it
  std::string partial;    // a head that came in pieces
};

// What is sent at once, and how long an answer to it is, once one was seen.
struct question {
  std::string batch;
  std::size_t answer_len = 0;
};

class client {
 public:
  explicit client(const load::options& o) : o_(o), poll_(::epoll_create1(EPOLL_CLOEXEC)) {
    for (const std::string& path : o.paths) {
      std::string one = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n";
      one += o.close ? "Connection: close\r\n\r\n" : "\r\n";
      if (o.echo != 0) one = std::string(o.echo, 'e');
      question& q = questions_.emplace_back();
      for (std::size_t i = 0; i < o.pipeline; ++i) q.batch += one;
      q.answer_len = o.echo;
    }
    begins_ = o.echo != 0 ? std::string(std::min<std::size_t>(o.echo, 8), 'e') : "HTTP/1.1 200";
    connections_.resize(o.connections);
    for (std::size_t i = 0; i < o.connections; ++i) connections_[i].turn = i % o.paths.size();
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
    const std::size_t turn = c.turn;
    c = connection{};
    c.turn = turn;
    const std::uint64_t begin = now_ns();
    c.fd = load::connect_loopback(o_.port);
    if (!o_.close) {
      const int one = 1;
      ::setsockopt(c.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    }
    epoll_event e{};
    e.events = EPOLLIN | EPOLLRDHUP | EPOLLET;
    e.data.ptr = &c;
    ::epoll_ctl(poll_, EPOLL_CTL_ADD, c.fd, &e);
    send_batch(c);
    if (o_.close) c.sent_at = begin;  // connecting is part of what a user waits for
  }

  // A server may close between answers (some limit requests per connection); not within one.
  void ended(connection& c, bool wrong = false) {
    ::close(c.fd);
    if (c.finished && !wrong) return next(c);
    const bool between =
        !wrong && !o_.close && c.left == 0 && c.partial.empty() && c.waiting == o_.pipeline;
    ++(between ? reconnects_ : errors_);
    if (errors_ <= 1000) open(c);
  }

  void next(connection& c) {
    if (o_.burst) {
      resting_.push_back(&c);
    } else {
      ask(c);
    }
  }

  void ask(connection& c) {
    if (++c.turn == questions_.size()) c.turn = 0;
    if (o_.close) {
      open(c);
    } else {
      send_batch(c);
    }
  }

  // A batch is far smaller than a socket's buffer, so a short send is a failure.
  void send_batch(connection& c) {
    const std::string& batch = questions_[c.turn].batch;
    c.waiting = o_.pipeline;
    c.sent_at = now_ns();
    const ssize_t n = ::send(c.fd, batch.data(), batch.size(), MSG_NOSIGNAL);
    if (n != static_cast<ssize_t>(batch.size()) && n >= 0) ++errors_;
  }

  void readable(connection& c) {
    for (;;) {
      const bool discard = c.left >= discard_min;
      const bool long_one = questions_[c.turn].answer_len > long_answer;
      const std::size_t want = discard ? c.left : long_one ? begin_max : read_max;
      const ssize_t n = ::recv(c.fd, buffer_, want, (discard ? MSG_TRUNC : 0) | MSG_DONTWAIT);
      if (n <= 0) {
        if (n == 0 || errno != EAGAIN) ended(c);
        return;
      }
      const auto len = static_cast<std::size_t>(n);
      bytes_ += len;
      if (discard) {
        c.left -= len;
        if (c.left == 0) answered(c);
      } else if (!take(c, std::string_view(buffer_, len))) {
        return ended(c, true);
      }
      // Less than asked for is all there is. The end may be there already, and its edge spent.
      if (len < want && !o_.close) return;
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
      if (c.finished) return false;
      if (c.left == 0) {
        std::size_t& answer_len = questions_[c.turn].answer_len;
        const std::size_t known = std::min(in.size(), begins_.size());
        if (in.substr(0, known) != std::string_view(begins_).substr(0, known)) return false;
        if (answer_len == 0) answer_len = load::answer_length(in);
        if (known < begins_.size() || answer_len == 0) {
          c.partial = in;
          return in.size() < head_max;
        }
        c.left = answer_len;
      }
      const std::size_t part = std::min(c.left, in.size());
      c.left -= part;
      in.remove_prefix(part);
      if (c.left == 0) answered(c);
    }
    return true;
  }

  void answered(connection& c) {
    if (measuring_) latency_.add(now_ns() - c.sent_at);
    if (--c.waiting != 0) return;
    if (o_.close) {
      c.finished = true;
    } else {
      next(c);
    }
  }

  void send_burst() {
    std::vector<connection*> all;
    all.swap(resting_);
    for (connection* c : all) ask(*c);
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
                static_cast<unsigned long long>(bytes_), questions_[0].answer_len);
    if (!o_.servers.empty())
      std::printf(",\"server_cpu_s\":%.4f,\"server_user_s\":%.4f",
                  used.total_s - server_begin_.total_s, used.user_s - server_begin_.user_s);
    std::printf("}\n");
  }

  load::options o_;
  int poll_;
  std::vector<question> questions_;
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

}  // namespace

int main(int argc, char** argv) {
  load::options o;
  if (!o.read(argc, argv)) {
    load::options::usage();
    return 2;
  }
  static client c(o);
  return c.run();
}
