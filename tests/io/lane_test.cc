// SPDX-License-Identifier: MIT
// Turns: nobody keeps the worker, long chains leave whole and in order, pieces are let go.
#include "heddle/io/detail/lane.hh"

#include <string>

#include "heddle/heddle.hh"
#include "heddle/io/pipe.hh"
#include "heddle/io/unix.hh"
#include "outcome.hh"
#include "support/drivers.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

task<> tick(std::size_t& ticks, const bool& over) {
  while (!over) {
    ++ticks;
    co_await yield();
  }
}

task<> always_something_to_read() {
  pipe_pair ends = make_pipe();
  co_await ends.writer.write(std::string(1600, 'x'));
  std::size_t ticks = 0;
  bool over = false;
  scope s;
  s.spawn(tick(ticks, over));
  for (int i = 0; i < 1600; ++i) {
    char c[1];
    co_await ends.reader.read(c);
  }
  over = true;
  co_await s.join();
  EXPECT_GE(ticks, 40u);
}

task<> many_pieces() {
  auto [left, right] = unix_pair();
  const piece shared(std::string(5000, 's'));
  chain out;
  std::string expected;
  for (int i = 0; i < 200; ++i) {
    const std::string own(static_cast<std::size_t>(2100 + i), static_cast<char>('a' + i % 26));
    out.append(std::string(own)).append(shared.slice(0, 7)).append_view("static");
    expected += own + "sssssss" + "static";
  }
  EXPECT_GT(out.piece_count(), 16u);  // more than one step
  scope s;
  std::size_t count = 0;
  s.spawn(
      [](unix_stream to, chain& what, std::size_t& n, std::size_t size) -> task<> {
        EXPECT_EQ(co_await to.write(std::move(what), n), size);
        to.shutdown_write();
      },
      left, std::ref(out), std::ref(count), expected.size());
  std::string got(expected.size() + 1, '\0');
  EXPECT_EQ(co_await right.read(got), expected.size());
  got.pop_back();
  co_await s.join();
  EXPECT_EQ(count, expected.size());
  EXPECT_TRUE(got == expected);
}

/// Sends what leaves at once, then the rest.
task<> send(unix_stream& to, std::string_view all) {
  const sent_now sent = to.try_write(byte_view(all));
  EXPECT_LE(sent.bytes, all.size());
  EXPECT_FALSE(sent.flush_due);  // a socket takes only bytes that leave
  if (!sent.complete(all.size())) co_await to.write(all.substr(sent.bytes));
}

task<> what_leaves_at_once() {
  auto [left, right] = unix_pair();
  const std::string_view driver = runtime::here().io().name();
  const bool tries = driver == "epoll" || driver == "poll";
  EXPECT_EQ(left.try_write(byte_view("first")).bytes, tries ? 5u : 0u);
  if (!tries) co_await left.write("first");
  // More than the system keeps: a part leaves, and while the rest waits nothing overtakes it.
  std::string large(2'000'000, '-');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>('a' + i % 23);
  scope s;
  s.spawn(
      [](unix_stream to, std::string_view all) -> task<> { co_await send(to, all); }(left, large));
  co_await sleep_for(1ms);
  EXPECT_EQ(s.live(), 1u);
  EXPECT_EQ(left.try_write(byte_view("overtaking")).bytes, 0u);
  std::string got(5 + large.size(), '\0');
  EXPECT_EQ(co_await right.read(got), got.size());
  EXPECT_TRUE(got == "first" + large);
  co_await s.join();
  // Who only ever sends lets the others run too.
  std::size_t ticks = 0;
  bool over = false;
  s.spawn(tick(ticks, over));
  for (int i = 0; i < 160; ++i) co_await send(left, "x");
  over = true;
  co_await s.join();
  EXPECT_GE(ticks, 4u);
}

task<> what_cannot_leave() {
  auto [left, right] = unix_pair();
  scope s;
  s.cancel();
  s.spawn([](unix_stream to) -> task<> {
    EXPECT_EQ(to.try_write(byte_view("x")).bytes, 0u);
    co_return;
  }(left));
  static_cast<void>(co_await as_expected(s.join()));
  right.close();
  co_await sleep_for(1ms);
  EXPECT_EQ(left.try_write(byte_view("x")).bytes, 0u);  // write() says why
  const auto sent = co_await as_expected(left.write("x"));
  EXPECT_FALSE(sent.has_value());
  left.close();
  EXPECT_EQ(left.try_write(byte_view("x")).bytes, 0u);
  EXPECT_EQ(unix_stream().try_write(byte_view("x")).bytes, 0u);
}

/// Asking begins nothing: what is never awaited takes no turn, and what is awaited late meets what
/// has become of its descriptor.
task<> asked_and_not_begun() {
  auto [left, right] = unix_pair();
  char first[1], second[1];
  std::size_t count = 7;
  {
    auto dropped = right.read(first, count);
    auto other = as_expected(with_timeout(right.receive(), 1h));
    static_cast<void>(dropped);
    static_cast<void>(other);
    EXPECT_EQ(count, 0u);
  }
  auto late = as_expected(right.read(second));
  co_await left.write("ab");
  EXPECT_EQ(co_await right.read(first), 1u);
  EXPECT_EQ(first[0], 'a');
  EXPECT_EQ((co_await late).value(), 1u);
  EXPECT_EQ(second[0], 'b');
  auto after_close = as_expected(with_timeout(right.read(first), 1h));
  right = {};
  EXPECT_EQ(error_of(co_await after_close), std::errc::bad_file_descriptor);
  EXPECT_EQ(error_of(co_await after_close), std::errc::bad_file_descriptor);  // it begins once
  // Nothing else keeps what a call without its handle is about.
  auto text = [] {
    auto [one, other] = unix_pair();
    return as_expected(one.write("nobody"));
  }();
  EXPECT_EQ(error_of(co_await text), std::errc::bad_file_descriptor);
}

task<> untaken_blocks_are_few() {
  auto [left, right] = unix_pair({.receive_window = 2});
  EXPECT_FALSE((co_await as_expected(with_timeout(right.readable(), 1ms))).has_value());
  scope s;
  s.spawn([](unix_stream to) -> task<> { co_await to.write(std::string(1'000'000, 'w')); }, left);
  co_await sleep_for(100ms);
  auto& sim = dynamic_cast<sim_driver&>(runtime::here().io());
  EXPECT_LE(sim.blocks_out(), 8u);  // the window, and what was on the way; all would be 16
  EXPECT_GE(sim.blocks_out(), 1u);
  EXPECT_EQ(s.live(), 1u);
  right = {};
  static_cast<void>(co_await as_expected(s.join()));
}

}  // namespace

DRIVER_TEST(lane, "a peer that always has data does not keep the worker") {
  run_plain(make(), &always_something_to_read);
}
DRIVER_TEST(lane, "a chain of many pieces leaves whole and in order") {
  run_plain(make(), &many_pieces);
}
DRIVER_TEST(lane, "try_write sends what leaves at once, and write() the rest in order") {
  run_plain(make(), &what_leaves_at_once);
}
DRIVER_TEST(lane, "try_write sends nothing where nothing can leave, and write() says why") {
  run_plain(make(), &what_cannot_leave);
}
DRIVER_TEST(lane,
            "a call that is not awaited has not begun, and one awaited late fails as it must") {
  run_plain(make(), &asked_and_not_begun);
}
HEDDLE_TEST(lane, "blocks that nobody takes are few") {
  run_plain(std::make_unique<sim_driver>(), &untaken_blocks_are_few);
}
