// SPDX-License-Identifier: MIT
// Listening sockets that somebody else opened.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "heddle/io/tcp.hh"
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
