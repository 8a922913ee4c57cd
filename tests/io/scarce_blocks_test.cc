// SPDX-License-Identifier: MIT
// When receive blocks are short: streams that nobody reads keep none, those that are read go on,
// and no byte is lost or out of its place on the way through memory of its own.
#include <string>
#include <vector>

#include "heddle/core/combine.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/sleep.hh"
#include "heddle/io/tcp.hh"
#include "support/drivers.hh"
#include "support/wait_until.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t blocks = 32;
constexpr std::size_t unread = 64;
constexpr std::size_t text_bytes = 12'000;

struct pair_of {
  tcp_stream near;
  tcp_stream far;
};

task<pair_of> connected(tcp_listener& door) {
  auto [near, far] = co_await all(tcp_connect(door.local()), door.accept());
  pair_of both;
  both.near = std::move(near);
  both.far = std::move(far);
  co_return both;
}

std::string text_of(std::size_t who) {
  std::string text;
  for (std::size_t i = 0; text.size() < text_bytes; ++i)
    text += std::to_string(who) + ':' + std::to_string(i) + ' ';
  return text;
}

/// First small writes with pauses, so that most of them take a block each, then all the rest.
task<> write_slowly(tcp_stream out, std::string text) {
  std::size_t at = 0;
  for (; at < 5000; at += 1000) {
    co_await out.write(std::string_view(text).substr(at, 1000));
    co_await sleep_for(1ms);
  }
  co_await out.write(std::string_view(text).substr(at));
  out.shutdown_write();
}

task<std::string> read_by_blocks(tcp_stream in) {
  std::string all;
  while (received part = co_await in.receive()) all += part.text();
  co_return all;
}

task<std::string> read_by_sizes(tcp_stream in) {
  std::string all;
  for (std::size_t size = 1;; size = size * 3 % 4099) {
    std::string part(size, '\0');
    part.resize(co_await in.read(byte_span(part)));
    if (part.empty()) co_return all;
    all += part;
  }
}

task<> converse(pair_of& both) {
  for (int i = 0; i != 50; ++i) {
    const std::string asked(static_cast<std::size_t>(1 + i * 97), 'q');
    co_await both.near.write(asked);
    std::string got(asked.size(), '\0');
    EXPECT_EQ(co_await both.far.read(byte_span(got)), asked.size());
    co_await both.far.write(got);
    std::size_t back = 0;
    while (back < asked.size()) {
      const received in = co_await both.near.receive();
      if (in.empty()) break;
      back += in.size();
    }
    EXPECT_EQ(back, asked.size());
  }
}

task<> besieged() {
  driver& io = runtime::here().io();
  EXPECT_EQ(io.blocks().count, blocks);
  EXPECT_EQ(io.blocks().free, blocks);
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  std::vector<pair_of> many;
  for (std::size_t i = 0; i != unread; ++i) many.push_back(co_await connected(door));
  pair_of honest = co_await connected(door);

  scope writers;
  for (std::size_t i = 0; i != unread; ++i) writers.spawn(write_slowly(many[i].far, text_of(i)));
  for (pair_of& each : many) {
    const auto came = co_await as_expected(with_timeout(each.near.readable(), 2s));
    EXPECT_TRUE(came && *came);
    if (!came) break;
  }
  const auto went = co_await as_expected(with_timeout(converse(honest), 2s));
  EXPECT_TRUE(went) << "who is read got nothing";
  EXPECT_GT(io.blocks().free, 0u);
  EXPECT_GT(io.blocks().scarce, 0u);

  for (std::size_t i = 0; i != unread; ++i) {
    task<std::string> reader =
        i % 2 == 0 ? read_by_blocks(many[i].near) : read_by_sizes(many[i].near);
    auto all = co_await as_expected(with_timeout(std::move(reader), 5s));
    EXPECT_EQ(all.value_or("<nothing>"), text_of(i)) << i;
    if (!all) break;
  }
  co_await writers.join();
  EXPECT_EQ(io.blocks().free, blocks);
}

DRIVER_TEST(scarce_blocks, "streams that nobody reads keep none from those that are read") {
  runtime rt(make({.block_bytes = 1024, .block_count = blocks}), one_worker());
  rt.run(besieged());
}

/// Somebody holds most blocks; then a peer sends much to a stream that nobody reads.
task<> flooded() {
  driver& io = runtime::here().io();
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  pair_of held = co_await connected(door);
  std::vector<received> taken;
  while (io.blocks().scarce == 0) {
    co_await held.far.write("a block for each");
    auto in = co_await as_expected(with_timeout(held.near.receive(), 2s));
    EXPECT_TRUE(in);
    if (!in) break;
    taken.push_back(std::move(*in));
  }
  co_await sleep_for(1ms);
  pair_of both = co_await connected(door);
  co_await both.far.write(std::string(text_bytes, 't'));
  both.far.shutdown_write();
  co_await sleep_for(1ms);
  const std::uint64_t before = io.blocks().scarce;
  const auto came = co_await as_expected(with_timeout(both.near.readable(), 2s));
  EXPECT_TRUE(came && *came);
  co_await sleep_for(10ms);
  EXPECT_GT(io.blocks().free, 0u);
  EXPECT_LE(io.blocks().scarce - before, stream_options{}.receive_window);
  const auto text = co_await as_expected(with_timeout(read_by_blocks(both.near), 2s));
  EXPECT_EQ(text.value_or("").size(), text_bytes);
}

DRIVER_TEST(scarce_blocks, "a stream that nobody reads takes no more than its window") {
  if (!make.real()) GTEST_SKIP() << "a request to stop takes its time there";
  runtime rt(make({.block_bytes = 1024, .block_count = blocks}), one_worker());
  rt.run(flooded());
}

task<> dropped() {
  driver& io = runtime::here().io();
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  {
    pair_of both = co_await connected(door);
    co_await both.far.write(std::string(10'000, 'x'));
    EXPECT_TRUE(co_await both.near.readable());
    received first = both.near.take();
    EXPECT_FALSE(first.on_loan());
    received moved = std::move(first);
    EXPECT_EQ(moved.text(), std::string(moved.size(), 'x'));
    moved = both.near.take();
    co_await sleep_for(1ms);
  }
  EXPECT_TRUE(co_await wait_until([&] { return io.blocks().free == 1; })) << io.blocks().free;
}

DRIVER_TEST(scarce_blocks, "what was moved is freed with its stream, read or not") {
  runtime rt(make({.block_bytes = 1024, .block_count = 1}), one_worker());
  rt.run(dropped());
}

task<> plentiful() {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  pair_of both = co_await connected(door);
  co_await both.far.write("text");
  const received in = co_await both.near.receive();
  EXPECT_TRUE(in.on_loan());
  EXPECT_EQ(runtime::here().io().blocks().scarce, 0u);
  EXPECT_LT(runtime::here().io().blocks().free, blocks);
}

DRIVER_TEST(scarce_blocks, "with enough of them nothing is copied") {
  runtime rt(make({.block_bytes = 1024, .block_count = blocks}), one_worker());
  rt.run(plentiful());
}

}  // namespace
}  // namespace heddle::test
