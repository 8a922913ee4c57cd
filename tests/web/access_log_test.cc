// SPDX-License-Identifier: MIT
// The log when it cannot be written: every line is either there or counted, and none runs into the
// next.
#include "heddle/web/access_log.hh"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "web/harness.hh"

using namespace heddle;
using namespace heddle::test;

namespace {

void add_lines(http::access_log& log, int count) {
  http::access one;
  one.status = 200;
  for (int i = 0; i != count; ++i) log.add(one);
}

std::string content_of(int fd) {
  std::string text(4096, '\0');
  const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

/// No file may grow beyond this, while it lasts.
struct file_size_limit {
  explicit file_size_limit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before);
    const rlimit now{bytes, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
    handler_before = ::signal(SIGXFSZ, SIG_IGN);
  }
  ~file_size_limit() {
    ::setrlimit(RLIMIT_FSIZE, &before);
    ::signal(SIGXFSZ, handler_before);
  }
  rlimit before{};
  void (*handler_before)(int);
};

task<> nowhere_to_write() {
  http::access_log log({.form = http::log_form::json});
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  for (int round = 1; round != 4; ++round) {
    add_lines(log, 10);
    co_await log.flush(full);
    EXPECT_EQ(log.dropped(), 10u * static_cast<unsigned>(round));
  }
  ::close(full);
  const int file = ::memfd_create("log", MFD_CLOEXEC);
  add_lines(log, 1);
  co_await log.flush(file);
  const std::string text = content_of(file);
  EXPECT_EQ(std::ranges::count(text, '\n'), 2) << text;
  EXPECT_TRUE(text.ends_with("}\n{\"dropped\":30}\n")) << text;
  ::close(file);
}

task<> half_a_line() {
  http::access_log log({.form = http::log_form::json});
  const int file = ::memfd_create("log", MFD_CLOEXEC);
  add_lines(log, 1);
  const std::size_t line = log.take().size();
  {
    const file_size_limit few(line * 5 / 2);
    add_lines(log, 10);
    co_await log.flush(file);
  }
  EXPECT_EQ(log.dropped(), 8u);
  add_lines(log, 1);
  co_await log.flush(file);
  const std::string text = content_of(file);
  EXPECT_EQ(std::ranges::count(text, '\n'), 5)
      << text;  // two, a torn one, one, and what is missing
  EXPECT_TRUE(text.ends_with("}\n{\"dropped\":8}\n")) << text;
  ::close(file);
}

}  // namespace

HEDDLE_TEST(access_log, "what cannot be written is counted, and told when it can be") {
  runtime rt;
  rt.run(nowhere_to_write());
}
HEDDLE_TEST(access_log, "a line that was written in part ends before the next one") {
  runtime rt;
  rt.run(half_a_line());
}
