// SPDX-License-Identifier: MIT
// A write that ends early cuts its stream: nothing is written behind it, by any task, and the peer
// sees no orderly end. Writes that tell how much has left do not cut it.
#include <string>
#include <utility>

#include "heddle/heddle.hh"
#include "heddle/io/layer.hh"
#include "heddle/io/tcp.hh"
#include "heddle/io/unix.hh"
#include "support/drivers.hh"
#include "support/resplit.hh"
#include "support/wait_until.hh"

using namespace heddle;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t too_much =
    16'000'000;  // more than a socket takes while its peer reads nothing

task<std::pair<stream, stream>> connected_pair() {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  stream near = co_await tcp_connect(door.local());
  stream far = co_await door.accept();
  co_return std::pair(std::move(near), std::move(far));
}

task<> write_and_note(stream to, std::string_view text, std::error_code& why, bool& ended) {
  const auto sent = co_await as_expected(to.write(text));
  if (!sent) why = sent.error();
  ended = true;
}

void expect_refusal(const stream& s) {
  EXPECT_TRUE(s.is_cut());
  EXPECT_EQ(s.try_write("tail").bytes, 0u);
  EXPECT_THROW(s.shutdown_write(), std::system_error);
}

/// What comes until the end; `reset`: that was an error.
task<std::string> read_to_the_end(stream from, bool& reset) {
  std::string all;
  for (;;) {
    const auto in = co_await as_expected(with_timeout(from.receive(), 10s));
    reset = !in;
    if (!in || in->empty()) co_return all;
    all += in->text();
  }
}

task<> nothing_follows_on(stream near, stream far, bool resets) {
  const std::string much(too_much, 'm');
  std::error_code behind;
  bool ended = false;
  {
    scope others;
    auto late = [](stream to, std::string_view text) -> task<> {
      const auto sent = co_await as_expected(with_timeout(to.write(text), 20ms));
      EXPECT_EQ(sent.error(), std::errc::timed_out);
    };
    others.spawn(late(near, much));
    others.spawn(write_and_note(near, "tail", behind, ended));  // in line behind it
    co_await others.join();
  }
  EXPECT_TRUE(ended);
  EXPECT_EQ(behind, std::errc::broken_pipe);
  expect_refusal(near);
  EXPECT_EQ((co_await as_expected(near.write("tail"))).error(), std::errc::broken_pipe);
  EXPECT_EQ((co_await as_expected(near.writable())).error(), std::errc::broken_pipe);
  near.close();
  bool reset = false;
  const std::string got = co_await read_to_the_end(far, reset);
  EXPECT_EQ(got.find_first_not_of('m'), got.npos);
  if (resets) {
    EXPECT_TRUE(reset);
  }
}

task<> nothing_follows() {
  auto [near, far] = co_await connected_pair();
  co_await nothing_follows_on(std::move(near), std::move(far), true);
}

task<> nothing_follows_in_a_layer() {
  auto [near, far] = co_await connected_pair();
  co_await nothing_follows_on(make_stream(std::make_unique<test::resplit>(std::move(near), 7)),
                              std::move(far), true);
}

task<> rest_follows() {
  auto [near, far] = co_await connected_pair();
  const std::string much(too_much, 'm');
  std::size_t sent = 0;
  const auto late = co_await as_expected(with_timeout(near.write(much, sent), 20ms));
  EXPECT_EQ(late.error(), std::errc::timed_out);
  EXPECT_GT(sent, 0u);
  EXPECT_LT(sent, too_much);
  EXPECT_FALSE(near.is_cut());
  scope s;
  bool reset = true;
  std::string got;
  auto collect = [](stream from, std::string& into, bool& how) -> task<> {
    into = co_await read_to_the_end(from, how);
  };
  s.spawn(collect(far, got, reset));
  std::string_view rest = std::string_view(much).substr(sent);
  while (!rest.empty()) {
    std::size_t some = 0;
    co_await with_timeout(near.write_some(rest, some), 10s);
    rest.remove_prefix(some);
  }
  near.shutdown_write();
  co_await s.join();
  EXPECT_FALSE(reset);
  EXPECT_TRUE(got == much);
}

task<> others_go_on() {
  auto [near, far] = co_await connected_pair();
  const std::string much(too_much, 'm');
  std::error_code first;
  bool ended = false;
  scope s;
  s.spawn(write_and_note(near, much, first, ended));
  co_await yield();  // the first has its turn now
  // The second's turn never comes, so the stream is whole.
  const auto late = co_await as_expected(with_timeout(near.write("lost"), 20ms));
  EXPECT_FALSE(late.has_value());
  EXPECT_FALSE(near.is_cut());
  std::string got(too_much, '\0');
  EXPECT_EQ(co_await far.read(got), too_much);
  co_await s.join();
  EXPECT_FALSE(first);
  co_await near.write("tail");
  got.resize(4);
  EXPECT_EQ(co_await far.read(got), 4u);
  EXPECT_EQ(got, "tail");
}

task<> cut_by_hand() {
  auto [near, far] = co_await connected_pair();
  co_await near.write("half");
  near.cut();
  expect_refusal(near);
  std::string got(4, '\0');
  EXPECT_EQ(co_await far.read(got), 4u);
  co_await far.write("back");  // reading goes on
  EXPECT_EQ(co_await near.read(got), 4u);
  EXPECT_EQ(got, "back");
  near.close();
  bool reset = false;
  EXPECT_EQ(co_await read_to_the_end(far, reset), "");
  EXPECT_TRUE(reset);
}

}  // namespace

DRIVER_TEST(cut_write, "nothing follows a write that ended early, and the peer sees a reset") {
  test::run_plain(make(), &nothing_follows);
}
DRIVER_TEST(cut_write, "a layer sends nothing behind one either, not even what it keeps") {
  test::run_plain(make(), &nothing_follows_in_a_layer);
}
DRIVER_TEST(cut_write, "the rest of a write that counts may follow it") {
  test::run_plain(make(), &rest_follows);
}
DRIVER_TEST(cut_write, "a write that ends before its turn leaves the stream whole") {
  test::run_plain(make(), &others_go_on);
}
DRIVER_TEST(cut_write, "a program can cut a stream itself; it is read on") {
  test::run_plain(make(), &cut_by_hand);
}
