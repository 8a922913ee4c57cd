// SPDX-License-Identifier: MIT
// What a line_reader holds while it waits, and that it loses nothing however bytes arrive.
#include "heddle/io/line_reader.hh"

#include <deque>
#include <vector>

#include "heddle/base/sanitizer.hh"
#include "heddle/heddle.hh"
#include "heddle/io/unix.hh"
#include "support/bytes_taken.hh"
#include "support/drivers.hh"

using namespace heddle;
using heddle::test::bytes_taken;

namespace {

#if !defined(__OPTIMIZE__) || HEDDLE_ASAN || HEDDLE_TSAN
constexpr std::size_t bytes_max = 0;  // frames have their size for users where they are optimized
#elif defined(__clang__)
constexpr std::size_t bytes_max = 1100;
#else
constexpr std::size_t bytes_max = 1500;  // GCC keeps in a frame what lives between two waits only
#endif
constexpr std::size_t warm_count = 100;
constexpr std::size_t count = 300;

task<> read_lines(stream from, std::size_t& lines_read) {
  line_reader lines(std::move(from));
  for (;;) {
    co_await lines.line();
    ++lines_read;
  }
}

/// Clients that sent a long line and a short one, and wait since.
task<> waiting_clients() {
  scope clients;
  std::vector<unix_stream> ends;
  ends.reserve(warm_count + count);
  std::size_t lines_read = 0;
  const std::string text = std::string(4000, 'x') + "\nshort\n";
  std::size_t before = 0;
  for (std::size_t i = 0; i != warm_count + count; ++i) {
    if (i == warm_count) before = bytes_taken();
    auto [ours, theirs] = unix_pair();
    clients.spawn(read_lines(std::move(theirs), lines_read));
    co_await ours.write(text);
    ends.push_back(std::move(ours));
    while (lines_read != 2 * (i + 1)) co_await yield();
  }
  const std::size_t each = (bytes_taken() - before) / count;
  if (bytes_max != 0) {
    EXPECT_LE(each, bytes_max + slab_chunk_bytes / count);  // memory comes in whole chunks
  }
  for (const unix_stream& end : ends) end.shutdown_write();
  static_cast<void>(co_await as_expected(clients.join()));
}

/// A line longer than each of the reads.
task<> long_from_pipe() {
  pipe_pair ends = make_pipe();
  scope s;
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += static_cast<char>('a' + i % 26);
  s.spawn(
      [](pipe_writer to, std::string sent) -> task<> {
        co_await to.write(sent + "\nb\n" + sent + "\n");
        to.close();
      },
      ends.writer, text);
  line_reader lines(ends.reader);
  EXPECT_EQ(co_await lines.line(40'000), text);
  EXPECT_EQ(co_await lines.line(40'000), "b");
  EXPECT_EQ(co_await lines.line(40'000), text);
  EXPECT_FALSE(co_await as_expected(lines.line()));
  co_await s.join();
}

}  // namespace

DRIVER_TEST(line_reader, "a reader that waits holds about 1 KB, both ends of its stream included") {
  if (!make.real()) GTEST_SKIP() << "a simulated client lies in the same memory";
  runtime rt(make(), test::one_worker());
  rt.run(waiting_clients());
}
DRIVER_TEST(line_reader, "lines from a pipe may be longer than what one read brings") {
  test::run_plain(make(), &long_from_pipe);
}
