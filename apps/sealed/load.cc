// SPDX-License-Identifier: MIT
// The load client's loop: sockets by hand, because discarding inside the kernel (MSG_TRUNC) and
// looking at all sockets once a millisecond instead of waiting for them are nobody else's need.
#include "load.hh"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <system_error>
#include <thread>
#include <utility>

#include "client.hh"
#include "heddle/io/file.hh"

namespace sealed {
namespace {

using clock = std::chrono::steady_clock;

// The client looks at its sockets once in a while instead of being woken for each arrival, which
// would cost it more than discarding does; what arrives meanwhile fits into their buffers.
constexpr std::chrono::microseconds pace(4000);
constexpr int socket_buffer_bytes = 4 << 20;
// One answer is on its way while the next is asked for, so that no server waits for its client.
constexpr int requests_ahead = 2;
constexpr double stall_s = 10;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

double seconds_of(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

double own_cpu_s() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
}

/// utime and stime are the 14th and 15th field; the 2nd is a name in parentheses.
double cpu_s_of(const std::vector<pid_t>& pids) {
  double ticks = 0;
  for (const pid_t pid : pids) {
    std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(in, line);
    const std::size_t name_end = line.rfind(')');
    double user = 0;
    double system = 0;
    if (name_end == line.npos ||
        std::sscanf(line.c_str() + name_end + 1,
                    " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lf %lf", &user, &system) != 2)
      throw trouble("process " + std::to_string(pid) + " is not there (--pid)");
    ticks += user + system;
  }
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

/// One connection. Its first steps block; once it asks, it discards.
class discarder {
 public:
  discarder(const heddle::address& server, const shared_key& key, std::string name,
            std::uint64_t size)
      : name_(std::move(name)), size_(size) {
    fd_ = ::socket(server.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &socket_buffer_bytes, sizeof socket_buffer_bytes);
    if (fd_ < 0 || ::connect(fd_, server.native(), server.native_len()) != 0) fail("connect");
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const key_pair own;
    const client_greeting ours = greet_server(own);
    server_greeting theirs;
    if (::send(fd_, ours.data(), ours.size(), MSG_NOSIGNAL) != ssize_t(ours.size()) ||
        ::recv(fd_, theirs.data(), theirs.size(), MSG_WAITALL) != ssize_t(theirs.size()))
      throw trouble("a connection ended before it was greeted: is --connections too many?");
    const agreement chosen = read_agreement(theirs);
    const session_secrets secrets = secrets_of_client(own, key, ours, theirs);
    opener_.emplace(chosen.algorithm, secrets.from_server);
    sealer_.emplace(chosen.algorithm, secrets.from_client);
    sealed_size_ = sealed_size(size, chosen.record_bytes);
    records_ = (size + chosen.record_bytes - 1) / chosen.record_bytes;
    for (int i = 0; i < requests_ahead; ++i) ask();
  }
  discarder(discarder&& other) noexcept = delete;
  ~discarder() { ::close(fd_); }

  [[nodiscard]] int fd() const noexcept { return fd_; }

  /// Takes what is there. Gives bytes of the file, and counts answers that are complete.
  double take(std::uint64_t& answers) {
    std::uint64_t got = 0;
    for (;;) {
      const bool in_head = head_have_ < sizeof head_;
      const ssize_t n =
          in_head ? ::recv(fd_, head_ + head_have_, sizeof head_ - head_have_, MSG_DONTWAIT)
                  : ::recv(fd_, nullptr, std::min<std::uint64_t>(left_, 1 << 30),
                           MSG_DONTWAIT | MSG_TRUNC);
      if (n < 0 && errno == EAGAIN) break;
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail("recv");
      if (n == 0) throw trouble("the server ended a connection");
      if (in_head) {
        head_have_ += static_cast<std::size_t>(n);
        if (head_have_ == sizeof head_) open_head();
        continue;
      }
      got += static_cast<std::uint64_t>(n);
      left_ -= static_cast<std::uint64_t>(n);
      if (left_ > 0) break;  // that was all there is; asking again would only cost
      opener_->skip(records_);
      head_have_ = 0;
      ++answers;
      ask();
    }
    return static_cast<double>(got) * static_cast<double>(size_) /
           static_cast<double>(sealed_size_);
  }

 private:
  void ask() {
    std::string record(name_.size() + record_overhead, '\0');
    sealer_->seal(record_type::request, name_, record);
    if (::send(fd_, record.data(), record.size(), MSG_NOSIGNAL) != ssize_t(record.size()))
      fail("send");
  }

  void open_head() {
    const heddle::byte_view head(head_, header_bytes);
    const heddle::byte_span body(head_ + header_bytes, sizeof head_ - header_bytes);
    const auto header = parse_header(head);
    if (!header || header->type != record_type::answer || header->size != 8 ||
        !opener_->open(head, body) || size_of_text({head_ + header_bytes, 8}) != size_)
      throw trouble("an answer does not begin where it must: records were lost or made up");
    left_ = sealed_size_;
  }

  int fd_ = -1;
  std::string name_;
  std::uint64_t size_;
  std::uint64_t sealed_size_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t left_ = 0;
  std::optional<record_opener> opener_;
  std::optional<record_sealer> sealer_;
  std::size_t head_have_ = 0;
  char head_[header_bytes + 8 + tag_bytes];
};

}  // namespace

std::string load_result::json() const {
  char text[400];
  std::snprintf(text, sizeof text,
                "{\"seconds\":%.3f,\"answers\":%llu,\"bytes_per_s\":%.0f,"
                "\"bytes_per_server_cpu_s\":%.0f,\"server_cpus\":%.4f,\"client_cpus\":%.4f}",
                seconds, static_cast<unsigned long long>(answers), bytes / seconds,
                server_cpu_s > 0 ? bytes / server_cpu_s : 0.0, server_cpu_s / seconds,
                client_cpu_s / seconds);
  return text;
}

heddle::task<std::uint64_t> verify(const load_options& o, const shared_key& key) {
  heddle::file copy;
  if (!o.expected.empty()) copy = co_await heddle::open_file(o.expected);
  std::uint64_t size = 0;
  for (const heddle::address& at : o.servers) {
    client files(key);
    co_await files.connect(at);
    size = co_await files.ask(o.name);
    std::uint64_t have = 0;
    std::string same;
    for (;;) {
      const std::string_view part = co_await files.next();
      if (part.empty()) break;
      if (copy) {
        same.resize(part.size());
        const std::size_t got = co_await copy.read_at(have, same);
        if (got != part.size() || same != part)
          throw trouble("what the server sent differs from " + o.expected + " near byte " +
                        std::to_string(have));
      }
      have += part.size();
    }
  }
  co_return size;
}

load_result run_load(const load_options& o, const shared_key& key, std::uint64_t size) {
  if (size == 0) throw trouble("an empty file measures nothing: ask for a larger one");
  std::vector<std::unique_ptr<discarder>> all;
  for (unsigned i = 0; i < o.connections; ++i)
    all.push_back(std::make_unique<discarder>(o.servers[i % o.servers.size()], key, o.name, size));
  load_result sum;
  clock::time_point begin = clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(clock::now() - begin).count(); };
  const auto run_for = [&](double seconds) {
    double last_s = 0;
    while (passed() < seconds) {
      std::this_thread::sleep_for(pace);
      const double before = sum.bytes;
      for (const auto& one : all) sum.bytes += one->take(sum.answers);
      if (sum.bytes > before) last_s = passed();
      if (passed() - last_s > stall_s)
        throw trouble("nothing came for ten seconds: does the server hang?");
    }
  };
  run_for(o.warmup_s);
  sum = {};
  const double client_before = own_cpu_s();
  const double server_before = cpu_s_of(o.server_pids);
  begin = clock::now();
  run_for(o.seconds);
  sum.seconds = passed();
  sum.server_cpu_s = cpu_s_of(o.server_pids) - server_before;
  sum.client_cpu_s = own_cpu_s() - client_before;
  return sum;
}

}  // namespace sealed
