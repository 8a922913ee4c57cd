// SPDX-License-Identifier: MIT
// Pipes on every driver, and lines read from them.
#include "heddle/io/pipe.hh"

#include <string>

#include "heddle/core/callback.hh"
#include "heddle/heddle.hh"
#include "heddle/io/line_reader.hh"
#include "heddle/io/unix.hh"
#include "outcome.hh"
#include "support/drivers.hh"
#include "support/wait_until.hh"

using namespace heddle;
using heddle::test::error_of;
using heddle::test::wait_until;
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

/// What a transfer needs of the driver: nothing while the pipe has bytes or room.
task<> without_waiting() {
  pipe_pair ends = make_pipe();
  driver& d = runtime::here().io();
  std::string got(5, '\0');
  bool written = false, read = false;
  const std::size_t pending = d.pending();
  start(ends.writer.write("hello"), function_event<>([&] { written = true; }));
  EXPECT_TRUE(written);
  start(ends.reader.read(got), function_event<>([&] { read = true; }));
  EXPECT_TRUE(read);
  EXPECT_EQ(d.pending(), pending);
  EXPECT_EQ(got, "hello");
  // A read that finds too little waits for the rest, and keeps what it has.
  std::string more(10, '\0');
  start(ends.writer.write("first"), function_event<>([] {}));
  bool all = false;
  start(ends.reader.read(more), function_event<>([&] { all = true; }));
  EXPECT_FALSE(all);
  co_await yield();
  co_await ends.writer.write("later");
  EXPECT_TRUE(co_await wait_until([&] { return all; }));
  EXPECT_EQ(more, "firstlater");
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

task<> parts_while_it_waits() {
  pipe_pair ends = make_pipe();
  char text[8];
  std::size_t count = 0;
  cancel_source enough;
  scope s;
  s.spawn(
      [](pipe_writer to, const std::size_t& current, cancel_source& stop) -> task<> {
        std::size_t written = 0;
        for (const std::string_view part : {"a", "bc", "de"}) {
          co_await to.write(part);
          written += part.size();
          EXPECT_TRUE(co_await wait_until([&] { return current == written; })) << current;
        }
        stop.cancel();
      },
      ends.writer, std::cref(count), std::ref(enough));
  const auto read = co_await as_expected(with_cancel(enough, ends.reader.read(text, count)));
  EXPECT_EQ(error_of(read), std::errc::operation_canceled);
  EXPECT_EQ(std::string(text, count), "abcde");
  co_await s.join();
}

task<> end_after_parts() {
  pipe_pair ends = make_pipe();
  scope s;
  s.spawn(
      [](pipe_writer& to) -> task<> {
        for (const char* part : {"a", "bc", "de"}) {
          co_await sleep_for(1ms);
          co_await to.write(part);
        }
        co_await sleep_for(1ms);
        to.close();
      },
      std::ref(ends.writer));
  char text[8];
  const std::size_t got = co_await ends.reader.read(text);
  EXPECT_EQ(std::string(text, got), "abcde");
  co_await s.join();
}

/// Nothing that was read is lost to the next reader, and the next one gets nothing twice.
task<> one_read_after_the_other() {
  pipe_pair ends = make_pipe();
  scope s;
  s.spawn(
      [](pipe_writer to) -> task<> {
        for (char c = 'a'; c <= 'j'; ++c) {
          co_await sleep_for(1ms);
          co_await to.write(std::string_view(&c, 1));
        }
      },
      ends.writer);
  std::string all;
  for (const std::size_t size : {3u, 1u, 4u, 2u}) {
    char text[4];
    EXPECT_EQ(co_await ends.reader.read(byte_span(text).first(size)), size);
    all.append(text, size);
  }
  EXPECT_EQ(all, "abcdefghij");
  co_await s.join();
}

task<> reader_goes_in_the_middle() {
  pipe_pair ends = make_pipe();
  const std::string sent(1'000'000, 'x');
  std::size_t count = 0, got = 0;
  scope s;
  s.spawn(
      [](pipe_reader& from, std::size_t& total) -> task<> {
        std::string room(30'000, '\0');
        for (int i = 0; i < 10; ++i) {
          total += co_await from.read(room);
          co_await sleep_for(1ms);
        }
        from.close();
      },
      std::ref(ends.reader), std::ref(got));
  const auto written = co_await as_expected(ends.writer.write(sent, count));
  EXPECT_EQ(error_of(written), std::errc::broken_pipe);
  EXPECT_EQ(got, 300'000u);
  EXPECT_GE(count, got);
  EXPECT_LE(count, got + 65'536u);  // what the pipe still held
  co_await s.join();
}

task<> by_delimiter() {
  pipe_pair ends = make_pipe();
  co_await ends.writer.write("one\r\ntwo\nthr");
  line_reader lines(ends.reader);
  const auto beyond = co_await as_expected(lines.take_until("\r\n", 4));
  EXPECT_EQ(error_of(beyond), std::errc::argument_list_too_long);  // the delimiter counts too
  EXPECT_EQ(co_await lines.take_until("\r\n", 5), "one\r\n");
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
        to.shutdown_write();
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
DRIVER_TEST(pipe, "a transfer that finds bytes or room ends at once, without the driver") {
  if (!make.real()) GTEST_SKIP() << "simulated operations take a turn";
  runtime rt(make(), heddle::test::one_worker());
  rt.run(without_waiting());
}

DRIVER_TEST(pipe, "F5 writing where nobody reads is broken_pipe, never a signal") {
  runtime rt(make(), {});
  rt.run(reader_gone());
}
DRIVER_TEST(pipe, "F2 the count of a read that timed out is current") {
  runtime rt(make(), {});
  rt.run(partial_count());
}
DRIVER_TEST(pipe, "F2 parts that come while it waits are counted, at a timeout and at the end") {
  runtime rt(make(), {});
  rt.run(parts_while_it_waits());
}
DRIVER_TEST(pipe, "F2 a read that gets its bytes in parts ends with them at the end of the pipe") {
  runtime rt(make(), {});
  rt.run(end_after_parts());
}
DRIVER_TEST(pipe, "F2 reads that get their bytes in parts follow one another") {
  runtime rt(make(), {});
  rt.run(one_read_after_the_other());
}
DRIVER_TEST(pipe, "F2 the count of a write that broke off is what the pipe took") {
  runtime rt(make(), {});
  rt.run(reader_goes_in_the_middle());
}
DRIVER_TEST(line_reader, "F6 takes through the delimiter, within the limit, before the end") {
  runtime rt(make(), {});
  rt.run(by_delimiter());
}
DRIVER_TEST(line_reader, "a delimiter that comes in two parts is found") {
  runtime rt(make(), {});
  rt.run(delimiter_in_two_parts());
}
