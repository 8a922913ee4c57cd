// SPDX-License-Identifier: MIT
// Listening sockets that somebody else opened.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "heddle/core/deadline.hh"
#include "heddle/io/tcp.hh"
#include "heddle/io/unix.hh"
#include "heddle/sched/runtime.hh"
#include "support/drivers.hh"

using namespace heddle;

namespace {

task<> greet(tcp_listener& door) {
  tcp_stream client = co_await tcp_connect(door.local());
  tcp_stream conn = co_await door.accept();
  co_await conn.write("hello");
  conn.shutdown_write();
  char text[8];
  EXPECT_EQ(co_await client.read(text), 5u);
}

/// What adopting it fails with.
std::error_code refusal(int fd) {
  try {
    static_cast<void>(tcp_listener::adopt(fd));
  } catch (const failure& e) {
    return e.code();
  }
  return {};
}

task<> adopt_all(bool real) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(fd, reinterpret_cast<::sockaddr*>(&at), sizeof at), 0);
  if (!real) {
    EXPECT_EQ(refusal(fd), std::errc::operation_not_supported);
    ::close(fd);
    co_return;
  }
  EXPECT_EQ(refusal(fd), std::errc::invalid_argument);  // it does not listen yet
  EXPECT_EQ(::listen(fd, 4), 0);
  tcp_listener door = tcp_listener::adopt(fd);  // it blocks, which nobody must notice
  co_await greet(door);
  door.close();
  EXPECT_EQ(refusal(fd), std::errc::bad_file_descriptor);  // it was the listener's to close
}

}  // namespace

DRIVER_TEST(adopt,
            "a listening socket that was opened elsewhere takes connections, others do not") {
  const bool real = make.real();
  runtime rt(make());
  rt.run(adopt_all(real));
}

namespace {

/// Everything that comes, until an 'f' is there.
template <class Stream>
task<std::string> reads_to_f(const Stream& from) {
  std::string all;
  while (all.find('f') == std::string::npos) {
    char text[100];
    const std::size_t got = co_await with_timeout(from.read_some(text), std::chrono::seconds(5));
    if (got == 0) break;
    all.append(text, got);
  }
  co_return all;
}

/// The kernel ends a read at a mark, although more is there.
task<> reads_past_marks() {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  const tcp_stream client = co_await tcp_connect(door.local());
  const tcp_stream conn = co_await door.accept();
  co_await client.write("-");
  char first[1];
  co_await conn.read(first);
  const auto waiting = [](const tcp_stream& on, int peer) -> task<std::string> {
    // All of it is there before the reader, who waits already, runs.
    EXPECT_EQ(::send(peer, "abc", 3, 0), 3);
    EXPECT_EQ(::send(peer, "!", 1, MSG_OOB), 1);
    EXPECT_EQ(::send(peer, "def", 3, 0), 3);
    co_return co_await reads_to_f(on);
  };
  const std::string all = co_await waiting(conn, client.number());
  EXPECT_EQ(all, "abcdef");
}

task<> reads_past_descriptors() {
  auto [left, right] = unix_pair();
  msghdr m{};
  iovec piece{const_cast<char*>("abc"), 3};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
  m.msg_iov = &piece;
  m.msg_iovlen = 1;
  m.msg_control = control;
  m.msg_controllen = sizeof control;
  cmsghdr* const head = CMSG_FIRSTHDR(&m);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  const int passed = 0;
  __builtin_memcpy(CMSG_DATA(head), &passed, sizeof passed);
  EXPECT_EQ(::sendmsg(left.number(), &m, 0), 3);
  EXPECT_EQ(::send(left.number(), "def", 3, 0), 3);
  const std::string all = co_await reads_to_f(right);
  EXPECT_EQ(all, "abcdef");
}

}  // namespace

DRIVER_TEST(stream, "a read that a mark ended is not the last: urgent bytes, passed descriptors") {
  auto d = make();
  if (d->simulated()) GTEST_SKIP() << "numbers of a simulated world mean nothing to the kernel";
  runtime rt(std::move(d), {});
  rt.run(reads_past_marks());
  rt.run(reads_past_descriptors());
}
