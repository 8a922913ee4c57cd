// SPDX-License-Identifier: MIT
// What every driver promises about operations with many completions, and about receive blocks.
#include <set>

#include "support/driver_harness.hh"
#include "support/drivers.hh"

using namespace heddle;
using heddle::test::driver_harness;
using heddle::test::loopback;
using heddle::test::request;
using namespace std::chrono_literals;

namespace {

/// Everything that a receive_all brought so far; its blocks go back.
std::string take_blocks(driver_harness& h, request& r) {
  std::string all;
  for (completion& c : r.got) {
    if (!c.has_block) continue;
    all.append(reinterpret_cast<const char*>(h.io->block_at(c.block)),
               static_cast<std::size_t>(c.result));
    h.io->return_block(c.block);
    c.has_block = false;
  }
  return all;
}

}  // namespace

DRIVER_TEST(driver_multishot, "one accept_all gives every connection") {
  driver_harness h(make());
  loopback at;
  const int door = h.listener(at);
  request accepting(op_code::accept_all, door);
  h.submit(accepting);
  EXPECT_FALSE(accepting.from_submit);
  std::vector<int> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(h.socket());
    ASSERT_EQ(h.connect(clients.back(), at), 0);
  }
  h.turn_until([&] { return accepting.got.size() == 5; });
  std::set<std::int64_t> accepted;
  for (const completion& c : accepting.got) {
    EXPECT_TRUE(c.more);
    ASSERT_GE(c.result, 0);
    accepted.insert(c.result);
    EXPECT_EQ(h.send(static_cast<int>(c.result), "hello"), 5);
  }
  EXPECT_EQ(accepted.size(), 5u);
  for (const int fd : clients) EXPECT_EQ(h.receive(fd), "hello");
  EXPECT_EQ(h.stop(accepting), -ECANCELED);
  EXPECT_FALSE(accepting.got.back().more);
  for (const std::int64_t fd : accepted) h.close(static_cast<int>(fd));
}

// A completion may arm a timer (a listener's pause when no descriptor is left, say) that the limit
// of the turn does not know of.
DRIVER_TEST(driver_multishot, "a turn that has brought something does not sleep on") {
  driver_harness h(make());
  loopback at;
  const int door = h.listener(at);
  for (int round = 0; round < 2; ++round) {  // the second time the listener is watched already
    ASSERT_EQ(h.connect(h.socket(), at), 0);
    h.settle();
    request accepting(op_code::accept_all, door);
    const time_point begin = h.io->now();
    h.submit(accepting);
    for (int turns = 0; turns < 3 && accepting.got.empty(); ++turns) h.io->turn(h.w, begin + 20s);
    ASSERT_EQ(accepting.got.size(), 1u);
    EXPECT_LT(h.io->now() - begin, 10s);
    h.keep(static_cast<int>(accepting.got.front().result));
    h.stop(accepting);
  }
}

DRIVER_TEST(driver_multishot, "an accept_all that gets false ends, and loses no connection") {
  driver_harness h(make());
  loopback at;
  const int door = h.listener(at);
  request accepting(op_code::accept_all, door);
  accepting.keep_going = false;
  h.submit(accepting);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(h.connect(h.socket(), at), 0);
  EXPECT_EQ(h.finish(accepting), -ECANCELED);
  std::size_t count = 0;
  for (const completion& c : accepting.got)
    if (c.result >= 0) {
      h.keep(static_cast<int>(c.result));
      ++count;
    }
  EXPECT_GE(count, 1u);
  for (; count < 3; ++count) {
    request one(op_code::accept, door);
    ASSERT_GE(h.keep(static_cast<int>(h.run(one))), 0);
  }
}

DRIVER_TEST(driver_multishot, "receive_all brings the data in blocks, and then the end") {
  driver_harness h(make());
  int ends[2];
  h.tcp_pair(ends);
  request receiving(op_code::receive_all, ends[1]);
  h.submit(receiving);
  std::string sent, got;
  for (int i = 0; i < 50; ++i) {
    const std::string part(static_cast<std::size_t>(1 + 331 * i), static_cast<char>('a' + i % 26));
    std::size_t done = 0;
    while (done < part.size())
      done += static_cast<std::size_t>(h.send(ends[0], std::string_view(part).substr(done)));
    sent += part;
    h.turn_until([&] {
      got += take_blocks(h, receiving);
      return got.size() == sent.size();
    });
  }
  EXPECT_EQ(got, sent);
  EXPECT_FALSE(receiving.done);
  EXPECT_EQ(h.io->shutdown(ends[0], SHUT_WR), 0);
  EXPECT_EQ(h.finish(receiving), 0);
  EXPECT_FALSE(receiving.got.back().more);
  EXPECT_FALSE(receiving.got.back().has_block);
}

DRIVER_TEST(driver_multishot, "the end that comes with the last bytes is seen") {
  driver_harness h(make());
  int ends[2];
  h.tcp_pair(ends);
  request receiving(op_code::receive_all, ends[1]);
  h.submit(receiving);
  h.settle();
  h.send(ends[0], "bytes");
  EXPECT_EQ(h.io->shutdown(ends[0], SHUT_WR), 0);
  EXPECT_EQ(h.finish(receiving), 0);
  EXPECT_EQ(take_blocks(h, receiving), "bytes");
}

DRIVER_TEST(driver_multishot, "receive_all takes every datagram that has come") {
  driver_harness h(make());
  loopback at, other;
  const int to = h.socket(SOCK_DGRAM), from = h.socket(SOCK_DGRAM);
  ASSERT_EQ(h.io->bind(to, at.get(), at.len), 0);
  ASSERT_EQ(h.io->local_name(to, at.get(), &at.len), 0);
  ASSERT_EQ(h.io->bind(from, other.get(), other.len), 0);
  ASSERT_EQ(h.connect(from, at), 0);
  request receiving(op_code::receive_all, to);
  h.submit(receiving);
  h.settle();
  for (const char* each : {"a", "b", "c", "d", "e", "f"}) ASSERT_EQ(h.send(from, each), 1);
  h.turn_until([&] { return receiving.got.size() == 6; });
  EXPECT_EQ(take_blocks(h, receiving), "abcdef");
  EXPECT_EQ(h.stop(receiving), -ECANCELED);
}

DRIVER_TEST(driver_multishot, "a receive_all that gets false ends, and the rest stays") {
  driver_harness h(make());
  int ends[2];
  h.tcp_pair(ends);
  request receiving(op_code::receive_all, ends[1]);
  receiving.keep_going = false;
  h.submit(receiving);
  h.settle();
  h.send(ends[0], "first");
  EXPECT_EQ(h.finish(receiving), -ECANCELED);
  EXPECT_EQ(take_blocks(h, receiving), "first");
  h.send(ends[0], "second");
  EXPECT_EQ(h.receive(ends[1]), "second");
}

DRIVER_TEST(driver_multishot, "without a block receiving waits until one comes back") {
  driver_options limits;
  limits.block_count = 2;
  limits.block_bytes = 256;
  driver_harness h(make(limits));
  int ends[2];
  h.tcp_pair(ends);
  request receiving(op_code::receive_all, ends[1]);
  h.submit(receiving);
  std::string sent;
  for (int i = 0; i < 1024; ++i) sent += static_cast<char>('0' + i % 10);
  ASSERT_EQ(h.send(ends[0], sent), 1024);
  h.turn_until([&] { return receiving.got.size() == 2; });
  h.settle();
  EXPECT_EQ(receiving.got.size(), 2u);
  std::string got;
  h.turn_until([&] {
    got += take_blocks(h, receiving);
    return got.size() == sent.size();
  });
  EXPECT_EQ(got, sent);
  EXPECT_EQ(h.stop(receiving), -ECANCELED);
}

DRIVER_TEST(driver_multishot, "a block goes to one that waits, past those that gave up waiting") {
  driver_options limits;
  limits.block_count = 1;
  limits.block_bytes = 256;
  driver_harness h(make(limits));
  int holder[2], quitter[2], patient[2];
  h.tcp_pair(holder);
  h.tcp_pair(quitter);
  h.tcp_pair(patient);
  request holding(op_code::receive_all, holder[1]);
  request quitting(op_code::receive_all, quitter[1]);
  request waiting(op_code::receive_all, patient[1]);
  h.submit(holding);
  h.send(holder[0], "h");
  h.turn_until([&] { return holding.got.size() == 1; });
  h.submit(quitting);
  h.send(quitter[0], "q");
  h.settle();
  h.submit(waiting);
  h.send(patient[0], "p");
  h.settle();
  EXPECT_TRUE(quitting.got.empty());
  EXPECT_TRUE(waiting.got.empty());
  EXPECT_EQ(h.stop(quitting), -ECANCELED);
  EXPECT_EQ(take_blocks(h, holding), "h");
  h.turn_until([&] { return !waiting.got.empty(); });
  EXPECT_EQ(take_blocks(h, waiting), "p");
  EXPECT_EQ(h.stop(waiting), -ECANCELED);
  EXPECT_EQ(h.stop(holding), -ECANCELED);
  EXPECT_EQ(h.receive(quitter[1]), "q");
}

DRIVER_TEST(driver_multishot, "closing ends a receive_all, also one that waits for a block") {
  driver_options limits;
  limits.block_count = 1;
  driver_harness h(make(limits));
  int first[2], second[2];
  h.tcp_pair(first);
  h.tcp_pair(second);
  request holding(op_code::receive_all, first[1]);
  request starved(op_code::receive_all, second[1]);
  h.submit(holding);
  h.send(first[0], "h");
  h.turn_until([&] { return holding.got.size() == 1; });
  h.submit(starved);
  h.send(second[0], "s");
  h.settle();
  h.close(second[1]);
  h.close(first[1]);
  EXPECT_EQ(h.finish(starved), -ECANCELED);
  EXPECT_EQ(h.finish(holding), -ECANCELED);
  EXPECT_EQ(take_blocks(h, holding), "h");
  EXPECT_EQ(h.io->pending(), 0u);
}

DRIVER_TEST(driver_multishot, "a busy connection does not keep the others waiting") {
  if (!make.real()) GTEST_SKIP() << "who comes first is drawn there";
  driver_harness h(make());
  int busy[2], quiet[2];
  h.tcp_pair(busy);
  h.tcp_pair(quiet);
  request flood(op_code::receive_all, busy[1]);
  request other(op_code::receive_all, quiet[1]);
  h.submit(flood);
  h.submit(other);
  const std::string much(2 << 20, 'm');
  const auto blocks = static_cast<std::size_t>(h.send(busy[0], much)) / h.io->block_bytes();
  EXPECT_GE(blocks, 100u);
  h.send(quiet[0], "q");
  // The quiet one is served long before all blocks of the busy one have been taken.
  h.turn_until([&] { return !other.got.empty(); });
  EXPECT_LE(2 * flood.got.size(), blocks);
  take_blocks(h, flood);
  take_blocks(h, other);
  EXPECT_EQ(h.stop(flood), -ECANCELED);
  EXPECT_EQ(h.stop(other), -ECANCELED);
  take_blocks(h, flood);
}
