// SPDX-License-Identifier: MIT
// Pipes on every driver, and lines read from them.
#include "heddle/io/pipe.hh"

#include <string>

#include "heddle/heddle.hh"
#include "heddle/io/line_reader.hh"
#include "heddle/io/unix.hh"
#include "outcome.hh"
#include "support/drivers.hh"

using namespace heddle;
using heddle::test::error_of;
using namespace std::chrono_literals;

namespace {

task<> through_a_pipe() {
  pipe_pair ends = make_pipe();
  co_await ends.writer.write("hello");
  ends.writer.close();
  char text[16];
  EXPECT_EQ(co_await ends.reader.read(text), 5u);
  EXPECT_EQ(co_await ends.reader.read(text), 0u);
}

task<> more_than_it_holds() {
  pipe_pair ends = make_pipe();
  std::string sent(1'000'000, 'x');
  sent[999'999] = 'y';
  std::size_t counted = 0;
  scope s;
  s.spawn(
      [](pipe_writer to, std::string text) -> task<> {
        chain out;
        out.append_copy(std::string_view(text).substr(0, 10)).append(std::string(text, 10));
        const std::size_t count = co_await to.write(std::move(out));
        EXPECT_EQ(count, 1'000'000u);
      },
      ends.writer, sent);
  std::string got(sent.size(), '\0');
  EXPECT_EQ(co_await ends.reader.read(got, counted), sent.size());
  EXPECT_EQ(counted, sent.size());
  co_await s.join();
  EXPECT_EQ(got, sent);
}

task<> reader_gone() {
  pipe_pair ends = make_pipe();
  ends.reader.close();
  const auto written = co_await as_expected(ends.writer.write("x"));
  EXPECT_EQ(error_of(written), std::errc::broken_pipe);
}

task<> partial_count() {
  pipe_pair ends = make_pipe();
  co_await ends.writer.write("abc");
  char text[8];
  std::size_t count = 99;
  const auto read = co_await as_expected(with_timeout(ends.reader.read(text, count), 1ms));
  EXPECT_EQ(error_of(read), std::errc::timed_out);
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(std::string(text, 3), "abc");
  co_await ends.writer.write("def");
  EXPECT_EQ(co_await ends.reader.read_some(text), 3u);
}

task<> by_delimiter() {
  pipe_pair ends = make_pipe();
  co_await ends.writer.write("one\r\ntwo\nthr");
  line_reader lines(ends.reader);
  EXPECT_EQ(co_await lines.take_until("\r\n", 100), "one\r\n");
  EXPECT_EQ(co_await lines.line(), "two");
  scope s;
  s.spawn([](pipe_writer to) -> task<> { co_await to.write("ee\n12345rest"); }, ends.writer);
  EXPECT_EQ(co_await lines.line(), "three");
  EXPECT_EQ(co_await lines.take(5), "12345");
  co_await s.join();
  const auto long_line = co_await as_expected(lines.take_until("\n", 4));
  EXPECT_EQ(error_of(long_line), std::errc::argument_list_too_long);
  ends.writer.close();
  const auto cut = co_await as_expected(lines.take_until("\n", 100));
  EXPECT_EQ(error_of(cut), std::errc::broken_pipe);
  EXPECT_EQ(lines.rest(), "rest");
}

task<> delimiter_in_two_parts() {
  auto [left, right] = unix_pair();
  line_reader lines(left);
  scope s;
  s.spawn(
      [](unix_stream to) -> task<> {
        co_await to.write("abc\r");
        co_await sleep_for(1ms);
        co_await to.write("\ndef\r\n");
      },
      right);
  EXPECT_EQ(co_await lines.take_until("\r\n"), "abc\r\n");
  EXPECT_EQ(co_await lines.take_until("\r\n", 5), "def\r\n");
  co_await s.join();
}

}  // namespace

DRIVER_TEST(pipe, "what is written is read, and closing is the end") {
  runtime rt(make(), {});
  rt.run(through_a_pipe());
}
DRIVER_TEST(pipe, "F2 more than it holds goes through whole") {
  runtime rt(make(), {});
  rt.run(more_than_it_holds());
}
DRIVER_TEST(pipe, "F5 writing where nobody reads is broken_pipe, never a signal") {
  runtime rt(make(), {});
  rt.run(reader_gone());
}
DRIVER_TEST(pipe, "F2 the count of a read that timed out is current") {
  runtime rt(make(), {});
  rt.run(partial_count());
}
DRIVER_TEST(line_reader, "F6 takes through the delimiter, within the limit, before the end") {
  runtime rt(make(), {});
  rt.run(by_delimiter());
}
DRIVER_TEST(line_reader, "a delimiter that comes in two parts is found") {
  runtime rt(make(), {});
  rt.run(delimiter_in_two_parts());
}
