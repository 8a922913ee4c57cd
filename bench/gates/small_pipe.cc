// SPDX-License-Identifier: MIT
// Instructions of 32 KB through a pipe of 4 KB, from one task to another: eight writes, eight reads
// and their waits. A short transfer says that there is no more: who asks again pays for it here.
#include <fcntl.h>

#include <array>
#include <cstdlib>

#include "heddle/heddle.hh"
#include "heddle/io/pipe.hh"

using namespace heddle;

namespace {

constexpr std::size_t message_bytes = 32 * 1024;

task<> gives(pipe_writer& out, long n) {
  static std::array<std::byte, message_bytes> message{};
  for (long i = 0; i < n; ++i) co_await out.write(message);
}
task<> takes(pipe_reader& in, long n) {
  static std::array<std::byte, message_bytes> message{};
  for (long i = 0; i < n; ++i)
    if (co_await in.read(message) != message_bytes) std::abort();
}
task<> program(long n) {
  pipe_pair p = make_pipe();
  if (::fcntl(p.reader.number(), F_SETPIPE_SZ, 4096) < 0) std::abort();
  scope s;
  s.spawn(takes(p.reader, n));
  s.spawn(gives(p.writer, n));
  co_await s.join();
}

}  // namespace

int main(int argc, char** argv) {
  runtime_options options;  // epoll: each step is a system call, at the same place in every run
  options.driver = "epoll";
  options.memory_bytes = std::size_t{1} << 28;
  runtime rt(options);
  rt.run(program(argc > 1 ? std::atol(argv[1]) : 1000));
}
