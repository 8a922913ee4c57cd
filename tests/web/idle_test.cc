// SPDX-License-Identifier: MIT
// What a connection holds between two requests: cells of the worker's and bytes of the heap,
// counted where they are taken, so the figure is the same in every run. docs/reference/http.md says
// what it is made of.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "heddle/base/sanitizer.hh"
#include "heddle/web/websocket.hh"
#include "support/bytes_taken.hh"
#include "web/harness.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

// What epoll and poll remember of each descriptor, and the room in which poll's array grows.
constexpr std::size_t readiness_bytes = 64;

#if !defined(__OPTIMIZE__) || HEDDLE_ASAN || HEDDLE_TSAN
constexpr std::size_t bytes_max = 0;  // frames have their size for users where they are optimized
#elif defined(__clang__)
constexpr std::size_t bytes_max = 300;
#else
constexpr std::size_t bytes_max = 450;  // GCC keeps in a frame what lives between two waits only
#endif

#if defined(__clang__)
constexpr std::size_t websocket_bytes_max = 2100;
#else
constexpr std::size_t websocket_bytes_max = 2800;
#endif
constexpr std::size_t warm_count = 500;  // tables have their first pages, and free cells are used
constexpr std::size_t count = 4000;
constexpr std::size_t batch_count = 25;
constexpr int first_number = 2 * (warm_count + count);
constexpr std::string_view upgrade =
    "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
constexpr std::string_view get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

task<http::response> answer_ok(http::request&) { co_return http::response(200).text("ok\n"); }

/// Clients that cost our side nothing: plain sockets, which the kernel connects by itself.
class clients {
 public:
  explicit clients(const address& at, std::string_view asked = get) : at_(at), asked_(asked) {}
  ~clients() {
    for (const int fd : fds_) ::close(fd);
  }
  /// Connects and asks; the answers are read when they are there.
  void ask(std::size_t more) {
    for (std::size_t i = 0; i < more; ++i) {
      const int low = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      // Away from the server's numbers: drivers keep tables by number.
      const int fd = ::fcntl(low, F_DUPFD_CLOEXEC, first_number);
      ::close(low);
      ASSERT_GE(fd, 0) << "too few descriptors";
      fds_.push_back(fd);
      ASSERT_EQ(::connect(fd, at_.native(), at_.native_len()), 0);
      ASSERT_EQ(::send(fd, asked_.data(), asked_.size(), 0), static_cast<ssize_t>(asked_.size()));
    }
  }
  [[nodiscard]] std::size_t size() const noexcept { return fds_.size(); }
  void read_answers() const {
    char text[1024];
    for (const int fd : fds_)
      while (::recv(fd, text, sizeof text, MSG_DONTWAIT) > 0) {
      }
  }

 private:
  address at_;
  std::string_view asked_;
  std::vector<int> fds_;
};

bool enough_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  constexpr rlim_t wanted = first_number + warm_count + count + 200;
  if (limit.rlim_max < wanted) return false;
  limit.rlim_cur = std::max(limit.rlim_cur, wanted);
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

}  // namespace

DRIVER_TEST(idle, "a connection between two requests holds at most 300 bytes") {
  HEDDLE_NEEDS_TCP();
  if (bytes_max == 0) GTEST_SKIP() << "frames are larger in this build";
  if (!make.real()) GTEST_SKIP() << "a simulated client lies in the same memory";
  if (!enough_descriptors()) GTEST_SKIP() << "ulimit -n is too low";
  runtime rt(make(), one_worker());
  http::server_options options;
  options.connections_per_address_max = options.connections_max;
  const std::size_t most = bytes_max + (make.name() == "io_uring" ? 0 : readiness_bytes);
  rt.run(with_server(answer_ok, options, [most](address at, http::server& web) -> task<> {
    clients all(at);
    const auto open = [&](std::size_t batch) -> task<> {
      all.ask(batch);
      while (web.counters().requests < all.size()) co_await sleep_for(50us);
    };
    co_await open(warm_count);
    all.read_answers();
    const std::size_t before = bytes_taken();
    // Few at a time: how many requests are in progress together is chance, and their memory stays.
    for (std::size_t i = 0; i < count; i += batch_count) co_await open(batch_count);
    all.read_answers();
    EXPECT_EQ(web.counters().open, warm_count + count);
    const std::size_t each = (bytes_taken() - before) / count;
    EXPECT_LE(each, most);
    // One that weighs nothing was not counted.
    EXPECT_GE(each, 200u);
  }));
}

namespace {

std::size_t websockets_open = 0;

task<http::response> answer_websocket(http::request& r) {
  co_return co_await http::hand_to_websocket(r, [](http::websocket ws) -> task<> {
    ++websockets_open;
    while (auto m = co_await ws.receive()) co_await ws.send(*m);
  });
}

}  // namespace

DRIVER_TEST(idle, "a WebSocket that waits for a message") {
  HEDDLE_NEEDS_TCP();
  if (bytes_max == 0) GTEST_SKIP() << "frames are larger in this build";
  if (!make.real()) GTEST_SKIP() << "a simulated client lies in the same memory";
  if (!enough_descriptors()) GTEST_SKIP() << "ulimit -n is too low";
  runtime rt(make(), one_worker());
  http::server_options options;
  options.connections_per_address_max = options.connections_max;
  websockets_open = 0;
  rt.run(with_server(answer_websocket, options, [](address at, http::server&) -> task<> {
    clients all(at, upgrade);
    const auto open = [&](std::size_t batch) -> task<> {
      all.ask(batch);
      while (websockets_open < all.size()) co_await sleep_for(50us);
    };
    co_await open(warm_count);
    all.read_answers();
    const std::size_t before = bytes_taken();
    for (std::size_t i = 0; i < count; i += batch_count) co_await open(batch_count);
    all.read_answers();
    const std::size_t each = (bytes_taken() - before) / count;
    EXPECT_LE(each, websocket_bytes_max);
    EXPECT_GE(each, 500u);  // one that weighs nothing was not counted
  }));
}
