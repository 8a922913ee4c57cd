// SPDX-License-Identifier: MIT
// Replaced calls: in a fiber that opted in they wait and the worker goes on; elsewhere they behave
// as ever. Each test calls plain functions of the C library only.
#include "heddle/fiber/hook.hh"

#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "heddle/fiber/fiber.hh"
#include "heddle/heddle.hh"
#include "support/drivers.hh"
#include "support/virtual_runtime.hh"

using namespace heddle;
using heddle::test::virtual_runtime;
using namespace std::chrono_literals;

namespace {

constexpr fiber_options hooking{.stack_bytes = 0, .hooks = true};

struct ends {
  ~ends() {
    ::close(fd[0]);
    ::close(fd[1]);
  }
  int fd[2] = {-1, -1};
};

/// Two blocking descriptors, each other's ends.
void make_pair(ends& e) { ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, e.fd), 0); }
void make_pipe(ends& e) { ASSERT_EQ(::pipe(e.fd), 0); }

/// Reads exactly so much, as C code does.
std::string read_all(int fd, std::size_t size) {
  std::string text(size, '\0');
  std::size_t have = 0;
  while (have < size) {
    const ssize_t got = ::read(fd, text.data() + have, size - have);
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  return text;
}

/// With blocking calls on one thread, this would never end.
task<> talk(ends& e, std::size_t size) {
  const std::string sent(size, 'x');
  scope s;
  s.spawn(fiber(
      hooking, [](int fd, std::size_t n) { EXPECT_EQ(read_all(fd, n).size(), n); }, e.fd[0], size));
  co_await yield();  // it waits
  s.spawn(fiber(
      hooking,
      [](int fd, const std::string& text) {
        EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
      },
      e.fd[1], sent));
  co_await s.join();
}

task<> talk_over_a_pipe() {
  ends e;
  make_pipe(e);
  co_await talk(e, 300'000);  // several times what a pipe holds
}
task<> talk_over_a_socket() {
  ends e;
  make_pair(e);
  co_await talk(e, 3'000'000);
}

void serve_one(int door) {
  const int peer = ::accept(door, nullptr, nullptr);
  ASSERT_GE(peer, 0);
  char text[8];
  const ssize_t got = ::recv(peer, text, sizeof text, 0);
  ASSERT_EQ(got, 4);
  iovec pieces[2] = {{text, 4}, {text, 4}};
  msghdr m{};
  m.msg_iov = pieces;
  m.msg_iovlen = 2;
  EXPECT_EQ(::sendmsg(peer, &m, 0), 8);
  ::close(peer);
}

void ask(sockaddr_in at) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&at), sizeof at), 0) << std::strerror(errno);
  EXPECT_EQ(::send(fd, "ping", 4, 0), 4);
  char text[16];
  EXPECT_EQ(::recv(fd, text, 8, MSG_WAITALL), 8);
  EXPECT_EQ(std::string(text, 8), "pingping");
  EXPECT_EQ(::recv(fd, text, sizeof text, 0), 0);
  ::close(fd);
}

task<> connections() {
  const int door = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t len = sizeof at;
  EXPECT_EQ(::bind(door, reinterpret_cast<sockaddr*>(&at), len), 0);
  EXPECT_EQ(::listen(door, 8), 0);
  EXPECT_EQ(::getsockname(door, reinterpret_cast<sockaddr*>(&at), &len), 0);
  // Again and again, so that numbers come back as other connections.
  for (int round = 0; round < 5; ++round) {
    scope s;
    s.spawn(fiber(hooking, serve_one, door));
    co_await yield();
    s.spawn(fiber(hooking, ask, at));
    co_await s.join();
  }
  ::close(door);
}

/// Nobody listens: the system's error, not a wait for ever.
task<> refused() {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(1);
  co_await fiber(
      hooking,
      [](sockaddr_in to) {
        const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
        EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), -1);
        EXPECT_EQ(errno, ECONNREFUSED);
        ::close(fd);
      },
      at);
}

void wait_for_either(int left, int right, int& which) {
  pollfd each[2] = {{left, POLLIN, 0}, {right, POLLIN, 0}};
  EXPECT_EQ(::poll(each, 2, -1), 1);
  which = each[0].revents != 0 ? 0 : 1;
}
void select_either(int left, int right, int& which) {
  fd_set in;
  FD_ZERO(&in);
  FD_SET(left, &in);
  FD_SET(right, &in);
  timeval most{60, 0};
  EXPECT_EQ(::select(std::max(left, right) + 1, &in, nullptr, nullptr, &most), 1);
  which = FD_ISSET(left, &in) ? 0 : 1;
}

task<> several_descriptors() {
  for (const auto function : {&wait_for_either, &select_either}) {
    ends a, b;
    make_pair(a);
    make_pair(b);
    int which = -1;
    scope s;
    s.spawn(fiber(hooking, function, a.fd[0], b.fd[0], std::ref(which)));
    co_await yield();
    EXPECT_EQ(which, -1);
    EXPECT_EQ(::write(b.fd[1], "x", 1), 1);
    co_await s.join();
    EXPECT_EQ(which, 1);
  }
}

task<> poll_ends_in_time() {
  ends e;
  make_pair(e);
  co_await fiber(
      hooking,
      [](int fd) {
        pollfd one{fd, POLLIN, 0};
        EXPECT_EQ(::poll(&one, 1, 2), 0);
        EXPECT_EQ(::poll(nullptr, 0, 2), 0);
        EXPECT_EQ(::poll(&one, 1, 0), 0);
      },
      e.fd[0]);
}

/// A call that is cancelled fails: C code below must not be thrown through.
task<> cancelled() {
  ends e;
  make_pair(e);
  int error = 0, again = 0;
  scope s;
  s.spawn(fiber(
      hooking,
      [](int fd, int& first, int& second) {
        char c;
        EXPECT_EQ(::read(fd, &c, 1), -1);
        first = errno;
        EXPECT_EQ(::read(fd, &c, 1), -1);
        second = errno;
      },
      e.fd[0], std::ref(error), std::ref(again)));
  co_await yield();
  s.cancel();
  co_await s.join();
  EXPECT_EQ(error, ECANCELED);
  EXPECT_EQ(again, ECANCELED);
}

/// What was made non-blocking does not wait, as ever.
task<> nonblocking() {
  ends e;
  make_pair(e);
  co_await fiber(
      hooking,
      [](int fd) {
        char c;
        EXPECT_EQ(::recv(fd, &c, 1, MSG_DONTWAIT), -1);
        EXPECT_EQ(errno, EAGAIN);
        ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
        EXPECT_EQ(::read(fd, &c, 1), -1);
        EXPECT_EQ(errno, EAGAIN);
      },
      e.fd[0]);
}

task<> files() {
  char path[] = "/tmp/heddle-hook-XXXXXX";
  const int fd = ::mkstemp(path);
  ::unlink(path);
  co_await fiber(
      hooking,
      [](int file) {
        const std::string text(100'000, 'f');
        EXPECT_EQ(::write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
        EXPECT_EQ(::lseek(file, 0, SEEK_SET), 0);
        EXPECT_EQ(read_all(file, text.size() + 1), text);
      },
      fd);
  ::close(fd);
}

task<> names() {
  co_await fiber(hooking, [] {
    addrinfo hints{};
    hints.ai_family = AF_INET;
    hints.ai_flags = AI_NUMERICHOST;
    addrinfo* found = nullptr;
    ASSERT_EQ(::getaddrinfo("127.0.0.1", "80", &hints, &found), 0);
    const auto* at = reinterpret_cast<const sockaddr_in*>(found->ai_addr);
    EXPECT_EQ(at->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    ::freeaddrinfo(found);
    EXPECT_EQ(::getaddrinfo("no number", "80", &hints, &found), EAI_NONAME);
  });
}

/// On virtual time: an hour passes at once.
task<> sleeps() {
  const time_point before = clock::now();
  co_await fiber(hooking, [] {
    timespec half_hour{1800, 0};
    EXPECT_EQ(::nanosleep(&half_hour, nullptr), 0);
    EXPECT_EQ(::sleep(900), 0u);
    EXPECT_EQ(::usleep(900'000'000), 0);
    timespec wrong{0, 2'000'000'000};
    EXPECT_EQ(::nanosleep(&wrong, nullptr), -1);
    EXPECT_EQ(errno, EINVAL);
  });
  EXPECT_GE(clock::now() - before, 1h);
  unsigned left = 0;
  const auto r = co_await as_expected(
      with_timeout(fiber(hooking, [](unsigned& out) { out = ::sleep(100); }, std::ref(left)), 40s));
  EXPECT_TRUE(r);  // it was interrupted, and returned
  EXPECT_EQ(left, 59u);
}

void run_on(std::unique_ptr<driver> io, task<> (*program)()) {
  runtime rt(std::move(io));
  rt.run(program());
}

#define HOOK_TEST(sentence, program)                                               \
  DRIVER_TEST(hook, sentence) {                                                    \
    if (!make.real()) GTEST_SKIP() << "the simulation has descriptors of its own"; \
    run_on(make(), program);                                                       \
  }                                                                                \
  static_assert(true)

}  // namespace

HOOK_TEST("read and write wait on a pipe", &talk_over_a_pipe);
HOOK_TEST("read and write wait on a socket", &talk_over_a_socket);
HOOK_TEST("connect, accept, send, recv and close work together", &connections);
HOOK_TEST("connect says what the system says", &refused);
HOOK_TEST("poll and select wait for one of several", &several_descriptors);
HOOK_TEST("poll ends when its time is over", &poll_ends_in_time);
HOOK_TEST("a cancelled call fails with ECANCELED", &cancelled);
HOOK_TEST("what is non-blocking does not wait", &nonblocking);
HOOK_TEST("files are read and written", &files);
HOOK_TEST("getaddrinfo runs in the pool", &names);

HEDDLE_TEST(hook, "sleeping takes the runtime's time") {
  virtual_runtime v;
  v.rt.run(sleeps());
}

HEDDLE_TEST(hook, "outside of such fibers everything is as ever") {
  ends e;
  make_pipe(e);
  std::thread writer([&] { EXPECT_EQ(::write(e.fd[1], "abc", 3), 3); });
  EXPECT_EQ(read_all(e.fd[0], 3), "abc");  // blocks until the thread has written
  writer.join();
  virtual_runtime v;
  v.rt.run([](int fd) -> task<> {
    co_await fiber([](int to) { EXPECT_EQ(::write(to, "d", 1), 1); }, fd);  // has not opted in
  }(e.fd[1]));
  EXPECT_EQ(read_all(e.fd[0], 1), "d");
}

HEDDLE_TEST(hook, "every call that the table names is replaced, and no other") {
  struct entry {
    std::string_view name;
    void* address;
  };
#define HEDDLE_HERE(name) \
  entry { #name, reinterpret_cast<void*>(&::name) }
  const entry known[] = {
      HEDDLE_HERE(read),
      HEDDLE_HERE(write),
      HEDDLE_HERE(readv),
      HEDDLE_HERE(writev),
      HEDDLE_HERE(recv),
      HEDDLE_HERE(recvfrom),
      HEDDLE_HERE(recvmsg),
      HEDDLE_HERE(send),
      HEDDLE_HERE(sendto),
      HEDDLE_HERE(sendmsg),
      HEDDLE_HERE(accept),
      HEDDLE_HERE(accept4),
      HEDDLE_HERE(connect),
      HEDDLE_HERE(poll),
      HEDDLE_HERE(select),
      HEDDLE_HERE(nanosleep),
      HEDDLE_HERE(clock_nanosleep),
      HEDDLE_HERE(usleep),
      HEDDLE_HERE(sleep),
      HEDDLE_HERE(getaddrinfo),
      HEDDLE_HERE(close),
  };
#undef HEDDLE_HERE
  std::size_t covered = 0;
  for (const hooked_call& call : hooked_calls) {
    if (!call.covered) continue;
    ++covered;
    const auto found = std::find_if(std::begin(known), std::end(known),
                                    [&](const entry& e) { return e.name == call.name; });
    ASSERT_NE(found, std::end(known)) << call.name;
    Dl_info where{}, here{};
    ASSERT_NE(::dladdr(found->address, &where), 0);
    ASSERT_NE(::dladdr(reinterpret_cast<void*>(&run_on), &here), 0);
    EXPECT_EQ(where.dli_fbase, here.dli_fbase) << call.name << " is the C library's";
  }
  EXPECT_EQ(covered, std::size(known));
}

namespace {

/// Sends back what it gets, a thread for each connection, until `clients` have come.
void serve_echo(int door, int clients) {
  std::vector<std::thread> each;
  for (int i = 0; i != clients; ++i) {
    const int fd = ::accept(door, nullptr, nullptr);
    each.emplace_back([fd] {
      char c;
      while (::read(fd, &c, 1) == 1 && ::write(fd, &c, 1) == 1) {
      }
      ::close(fd);
    });
  }
  for (std::thread& t : each) t.join();
}

/// Ordinary code: a connection of its own, whose number others had before it.
bool ask_echo(sockaddr_in to) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  bool good = ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  for (char c = 'a'; good && c != 'e'; ++c) {
    char back = 0;
    pollfd p{fd, POLLIN, 0};
    good = ::write(fd, &c, 1) == 1 && ::poll(&p, 1, 10'000) == 1 && ::read(fd, &back, 1) == 1 &&
           back == c;
  }
  ::close(fd);
  return good;
}

task<> ask_in_fibers(sockaddr_in to, int times, int& good) {
  for (int i = 0; i != times; ++i) good += co_await fiber(hooking, ask_echo, to);
}

/// So that the other workers take colors, and fibers move.
task<> keep_busy(const bool& over) {
  while (!over) {
    for (const auto end = std::chrono::steady_clock::now() + 100us;
         std::chrono::steady_clock::now() < end;) {
    }
    co_await yield();
  }
}

task<> fibers_that_move(sockaddr_in to, int colors, int times, int& good) {
  bool over = false;
  scope busy;
  for (int i = 0; i != 3; ++i) busy.spawn(keep_busy(over));
  std::vector<int> each(static_cast<std::size_t>(colors));
  {
    scope s;
    for (int i = 0; i != colors; ++i)
      s.spawn(color(1 + i), ask_in_fibers(to, times, each[static_cast<std::size_t>(i)]));
    co_await s.join();
  }
  over = true;
  co_await busy.join();
  for (const int n : each) good += n;
}

}  // namespace

DRIVER_TEST(hook, "a fiber may close on any worker, and the number be used again on any other") {
  if (!make.real()) GTEST_SKIP() << "plain descriptors need the kernel";
  constexpr int colors = 16, times = 10;
  const int door = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  socklen_t len = sizeof at;
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(door, reinterpret_cast<sockaddr*>(&at), len), 0);
  ASSERT_EQ(::listen(door, 500), 0);
  ASSERT_EQ(::getsockname(door, reinterpret_cast<sockaddr*>(&at), &len), 0);
  std::thread server(serve_echo, door, colors * times);
  int good = 0;
  runtime_options options;
  options.workers = 4;
  {
    runtime rt(make(), options);
    rt.run(fibers_that_move(at, colors, times, good));
  }
  EXPECT_EQ(good, colors * times);
  server.join();
  ::close(door);
}
