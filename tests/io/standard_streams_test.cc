// SPDX-License-Identifier: MIT
// A program that is started with its standard streams closed: nothing of its own gets their
// numbers.
#include "heddle/base/detail/standard_streams.hh"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heddle/heddle.hh"
#include "heddle/io/tcp.hh"
#include "support/drivers.hh"

using namespace heddle;

namespace {

task<> uses_low_numbers(bool& low) {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  tcp_stream conn = co_await tcp_connect(door.local());
  tcp_stream peer = co_await door.accept();
  low = door.number() <= STDERR_FILENO || conn.number() <= STDERR_FILENO ||
        peer.number() <= STDERR_FILENO;
}

/// Whether the number is /dev/null's.
bool is_null(int fd) {
  struct stat number{}, null{};
  return ::fstat(fd, &number) == 0 && ::stat("/dev/null", &null) == 0 &&
         number.st_rdev == null.st_rdev;
}

/// Runs f in a child that has only some of the numbers 0, 1 and 2; its value is the exit code.
template <class F>
int in_child_with(unsigned open, F f) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (int fd = 0; fd < 3; ++fd)
      if ((open >> fd & 1u) == 0) ::close(fd);
    ::_exit(f());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

DRIVER_TEST(standard_streams, "no socket gets the number of a standard stream") {
  if (!make.real()) GTEST_SKIP() << "simulated numbers are not the system's";
  for (unsigned open = 0; open < 8; ++open) {
    const int wrong = in_child_with(open, [&make] {
      bool low = true;
      runtime rt(make(), {});
      rt.run(uses_low_numbers(low));
      return low ? 1 : 0;
    });
    EXPECT_EQ(wrong, 0) << "open: " << open;
  }
}

HEDDLE_TEST(standard_streams, "closed ones are null, and open ones stay") {
  for (unsigned open = 0; open < 8; ++open) {
    const int wrong = in_child_with(open, [open] {
      const int low = ::open("/dev/zero", O_RDWR);
      const int zero = ::fcntl(low, F_DUPFD, 10);
      ::close(low);
      for (int fd = 0; fd < 3; ++fd)
        if ((open >> fd & 1u) != 0) ::dup2(zero, fd);
      hold_standard_streams();
      int count = 0;
      for (int fd = 0; fd < 3; ++fd) count += is_null(fd) != ((open >> fd & 1u) == 0);
      return count;
    });
    EXPECT_EQ(wrong, 0) << "open: " << open;
  }
}
