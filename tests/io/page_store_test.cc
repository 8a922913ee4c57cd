// SPDX-License-Identifier: MIT
// Bodies in pages: they are sent without a copy where the driver can, and arrive as they were when
// they were sent, whatever became of their memory since.
#include "heddle/io/page_store.hh"

#include <sys/resource.h>

#include <cstring>
#include <vector>

#include "heddle/heddle.hh"
#include "heddle/io/tcp.hh"
#include "heddle/io/unix.hh"
#include "support/drivers.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

/// Text in which every place differs from those near it, and from other seeds.
std::string pattern(std::size_t size, unsigned seed) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i != size; ++i)
    text[i] = static_cast<char>('!' + (i * 7 + i / 251 + seed * 31) % 94);
  return text;
}

/// In pages, or in ordinary memory where there are none.
piece body_of(page_store& pages, const std::string& text) {
  page_block b = pages.allocate(text.size());
  if (!b) return piece(std::string(text));
  std::memcpy(b.writable().data(), text.data(), text.size());
  return piece::held_by(std::move(b));
}

chain chain_of(piece body) {
  chain all;
  all.append(std::move(body));
  return all;
}

task<> send(unix_stream& to, std::string_view head, piece body) {
  std::string rest(head);
  while (!rest.empty() || !body.empty()) {
    const std::size_t sent = to.try_write(byte_view(rest), body).bytes;
    const std::size_t of_head = std::min(sent, rest.size());
    rest.erase(0, of_head);
    body = body.slice(sent - of_head);
    if (rest.empty() && body.empty()) co_return;
    // A little of what is left, by the way that waits.
    if (!rest.empty()) co_await to.write(std::exchange(rest, {}));
    const piece some = body.slice(0, 5000);
    if (!some.empty()) co_await to.write(chain_of(some));
    body = body.slice(some.size());
  }
}

task<std::string> read_exactly(stream& from, std::size_t size) {
  std::string got(size, '\0');
  EXPECT_EQ(co_await from.read(got), size);
  co_return got;
}

task<> body_arrives() {
  auto [left, right] = unix_pair();
  page_store pages;
  // Around the size from which it is not copied, and more than a socket takes at once.
  for (const std::size_t size : {1u, 4096u, 16383u, 16384u, 16385u, 32767u, 32768u, 32769u,
                                 100'000u, 3'000'000u, 2u << 20}) {
    const std::string text = pattern(size, 1);
    scope s;
    s.spawn([](unix_stream to, piece body) -> task<> { co_await send(to, "head ", body); }, left,
            body_of(pages, text));
    EXPECT_TRUE(co_await read_exactly(right, size + 5) == "head " + text) << size;
    co_await s.join();
  }
}

task<> parts_arrive() {
  auto [left, right] = unix_pair();
  page_store pages;
  const std::string text = pattern(200'000, 2);
  const piece whole = body_of(pages, text);
  const bool sends_pages = left.sends_uncopied(whole);
  EXPECT_EQ(sends_pages, !runtime::here().io().simulated());
  EXPECT_FALSE(left.sends_uncopied(whole.slice(0, 100)));
  EXPECT_FALSE(left.sends_uncopied(piece(std::string(text))));
  EXPECT_FALSE(unix_stream().sends_uncopied(whole));
  for (const auto& [from, size] : {std::pair{1u, 20'000u}, {4095u, 70'000u}, {150'001u, 49'999u}}) {
    scope s;
    s.spawn([](unix_stream to, piece body) -> task<> { co_await send(to, "", body); }, left,
            whole.slice(from, size));
    EXPECT_TRUE(co_await read_exactly(right, size) == text.substr(from, size)) << from;
    co_await s.join();
  }
}

/// What was sent and not read yet stays as it was when its memory has gone to others.
task<> stays_as_it_was() {
  auto [left, right] = unix_pair();
  page_store pages;
  constexpr std::size_t size = 20'000;
  for (unsigned i = 0; i != 40; ++i) {
    const std::string text = pattern(size, i);
    co_await send(left, "", body_of(pages, text));  // and is given up at once
    const piece other = body_of(pages, pattern(size, i + 1000));
    EXPECT_TRUE(co_await read_exactly(right, size) == text) << i;
    EXPECT_TRUE(other.bytes().text() == pattern(size, i + 1000));
  }
}

/// Both ends of a connection: only the accepted one is known to wait for nothing, and a call that
/// waited here would wait for ever.
task<> both_ways() {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  tcp_stream connected = co_await tcp_connect(door.local());
  tcp_stream accepted = co_await door.accept();
  page_store pages;
  // More than the two buffers of a loopback connection hold.
  const std::string text = pattern(24'000'000, 4);
  for (auto [from, to] : {std::pair{&accepted, &connected}, {&connected, &accepted}}) {
    piece left = body_of(pages, text);
    for (std::size_t sent = 1; sent != 0; left = left.slice(sent))
      sent = from->try_write(byte_view(), left).bytes;
    EXPECT_FALSE(left.empty());  // the socket is full, and that was not waited for
    scope s;
    s.spawn([](tcp_stream& out, piece rest) -> task<> { co_await out.write(chain_of(rest)); },
            *from, left);
    EXPECT_TRUE(co_await read_exactly(*to, text.size()) == text);
    co_await s.join();
  }
}

task<> damaged_file() {
  auto [left, right] = unix_pair();
  page_store pages;
  const piece body = body_of(pages, pattern(100'000, 3));
  right.close();
  co_await sleep_for(1ms);
  EXPECT_EQ(left.try_write(byte_view("head"), body).bytes, 0u);  // write() says why
  EXPECT_FALSE((co_await as_expected(left.write(chain_of(body)))).has_value());
  left.close();
  EXPECT_EQ(left.try_write(byte_view(), body).bytes, 0u);
}

}  // namespace

DRIVER_TEST(page_store, "a body arrives whole behind its head, also through a full socket") {
  run_plain(make(), &body_arrives);
}
DRIVER_TEST(page_store, "parts of a body arrive, and only large ones leave without a copy") {
  run_plain(make(), &parts_arrive);
}
DRIVER_TEST(page_store, "what is on its way stays as it was when its block is given back") {
  run_plain(make(), &stays_as_it_was);
}
DRIVER_TEST(page_store, "a full connection is not waited for, whichever end sends") {
  run_plain(make(), &both_ways);
}
DRIVER_TEST(page_store, "a body that cannot leave stays, and write() says why") {
  run_plain(make(), &damaged_file);
}

HEDDLE_TEST(page_store, "blocks are zeros, apart, and outlive the store") {
  std::vector<page_block> blocks;
  {
    page_store pages;
    // The last ones stand in large pages, where there are any.
    for (const std::size_t size : {1u, 5000u, 3'000'000u, 2u << 20, 4u << 20})
      blocks.push_back(pages.allocate(size));
    EXPECT_FALSE(pages.allocate(0));
  }
  unsigned seed = 0;
  for (page_block& b : blocks) {
    ASSERT_TRUE(b);
    EXPECT_TRUE(b.bytes().text() == std::string(b.bytes().size(), '\0'));
    const std::string text = pattern(b.bytes().size(), seed++);
    std::memcpy(b.writable().data(), text.data(), text.size());
  }
  seed = 0;
  for (page_block& b : blocks) EXPECT_TRUE(b.bytes().text() == pattern(b.bytes().size(), seed++));
  page_block moved = std::move(blocks.back());
  EXPECT_FALSE(blocks.back());  // NOLINT: what a moved block is, is said
  EXPECT_FALSE(blocks.back().place());
  EXPECT_TRUE(moved.place());
}

HEDDLE_TEST(page_store, "where files may not grow that long, ordinary memory has to do") {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 10'000'000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  page_store pages;  // beyond the limit the kernel would end this process
  EXPECT_FALSE(pages.allocate(20'000'000));
  std::size_t count = 0;
  while (count < 100 && pages.allocate(4096)) ++count;
  EXPECT_GE(count, 1u);
  EXPECT_LT(count, 100u);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
}

HEDDLE_TEST(page_store, "without a descriptor left there is no block, and later there is") {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  page_store pages;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_FALSE(pages.allocate(100'000));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(pages.allocate(100'000));
}
