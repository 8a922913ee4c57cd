// SPDX-License-Identifier: MIT
// What every driver promises about operations on sockets and pipes: results, order, short
// transfers, cancellation, closing, wake-ups. The other halves of the contract are in
// driver_multishot_test.cc and driver_call_test.cc.
#include <fcntl.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <thread>
#include <utility>

#include "support/driver_harness.hh"
#include "support/drivers.hh"

using namespace heddle;
using heddle::test::driver_harness;
using heddle::test::loopback;
using heddle::test::request;
using namespace std::chrono_literals;

namespace {

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

/// Fills a stream until nothing more fits; the bytes that it took.
std::size_t fill(driver_harness& h, int fd, op_code code) {
  std::string much(1 << 20, 'f');
  std::size_t total = 0;
  // A socket that was full has room again when what is on its way is acknowledged, which takes a
  // moment; a send that waits sees it only when there is much of it, a new one at once.
  for (int refusals = 0; refusals < 2;) {
    request r(code, fd, much.data(), much.size());
    h.submit(r);
    if (!h.turn_until([&] { return r.done; }, refusals == 0 ? 100ms : 20ms)) h.stop(r);
    if (r.result() <= 0) {
      ++refusals;
    } else {
      total += static_cast<std::size_t>(r.result());
      refusals = 0;
    }
  }
  return total;
}

}  // namespace

DRIVER_TEST(driver_contract, "what is sent is received, and the end is 0") {
  driver_harness h(make());
  int ends[2];
  h.tcp_pair(ends);
  EXPECT_EQ(h.send(ends[0], "across"), 6);
  EXPECT_EQ(h.receive(ends[1]), "across");
  EXPECT_EQ(h.io->shutdown(ends[0], SHUT_WR), 0);
  char byte;
  request end(op_code::receive, ends[1], &byte, 1);
  EXPECT_EQ(h.run(end), 0);
  EXPECT_EQ(h.io->pending(), 0u);
}

DRIVER_TEST(driver_contract, "what is written to a pipe is read at the other end") {
  driver_harness h(make());
  int ends[2];
  h.pipe(ends);
  char room[16];
  request early(op_code::read, ends[0], room, sizeof room);
  h.submit(early);
  EXPECT_FALSE(early.done);
  EXPECT_EQ(h.send(ends[1], "down", op_code::write), 4);
  EXPECT_EQ(h.finish(early), 4);
  EXPECT_EQ(std::string_view(room, 4), "down");
  h.close(ends[1]);
  request end(op_code::read, ends[0], room, sizeof room);
  EXPECT_EQ(h.run(end), 0);
}

DRIVER_TEST(driver_contract, "receives that wait together share the data, and nothing twice") {
  driver_harness h(make());
  int ends[2];
  h.tcp_pair(ends);
  char room[3][2];
  request first(op_code::receive, ends[1], room[0], 2);
  request second(op_code::receive, ends[1], room[1], 2);
  request third(op_code::receive, ends[1], room[2], 2);
  for (request* r : {&first, &second, &third}) h.submit(*r);
  h.settle();
  EXPECT_EQ(h.send(ends[0], "aabbcc"), 6);
  for (request* r : {&first, &second, &third}) EXPECT_EQ(h.finish(*r), 2);
  std::multiset<std::string> got;
  for (const auto& each : room) got.emplace(each, 2);
  EXPECT_EQ(got, (std::multiset<std::string>{"aa", "bb", "cc"}));
}

DRIVER_TEST(driver_contract, "a send that does not fit goes on when the peer has read") {
  driver_harness h(make());
  int ends[2];
  h.tcp_pair(ends);
  ASSERT_GT(fill(h, ends[0], op_code::send), 0u);
  request waits(op_code::send, ends[0], const_cast<char*>("last"), 4);
  h.submit(waits);
  h.settle();
  ASSERT_FALSE(waits.done);
  std::string drained(1 << 20, 0);
  h.turn_until([&] {
    request r(op_code::receive, ends[1], drained.data(), drained.size());
    h.submit(r);
    h.turn_until([&] { return r.done; }, 2ms);
    h.stop(r);
    return waits.done;
  });
  EXPECT_EQ(h.stop(waits), 4);
}

DRIVER_TEST(driver_contract, "a look at the data leaves all of it to the next receive") {
  driver_harness h(make());
  int ends[2];
  h.tcp_pair(ends);
  char room[16];
  request waits(op_code::receive, ends[1], room, sizeof room);  // the driver watches from now on
  h.submit(waits);
  h.send(ends[0], "x");
  ASSERT_EQ(h.finish(waits), 1);
  h.send(ends[0], "whole");
  h.settle();
  request look(op_code::receive, ends[1], room, sizeof room);
  look.flags = MSG_PEEK;
  EXPECT_EQ(h.run(look), 5);
  EXPECT_EQ(h.receive(ends[1]), "whole");
}

DRIVER_TEST(driver_contract, "datagrams that have come are received one after the other") {
  driver_harness h(make());
  loopback at, other;
  const int to = h.socket(SOCK_DGRAM), from = h.socket(SOCK_DGRAM);
  ASSERT_EQ(h.io->bind(to, at.get(), at.len), 0);
  ASSERT_EQ(h.io->local_name(to, at.get(), &at.len), 0);
  ASSERT_EQ(h.io->bind(from, other.get(), other.len), 0);
  ASSERT_EQ(h.io->local_name(from, other.get(), &other.len), 0);
  ASSERT_EQ(h.connect(from, at), 0);
  ASSERT_EQ(h.connect(to, other), 0);
  char room[16];
  request waits(op_code::receive, to, room, sizeof room);
  h.submit(waits);
  h.settle();
  ASSERT_EQ(h.send(from, "1"), 1);
  EXPECT_EQ(h.finish(waits), 1);
  for (const char* each : {"2", "3", "4"}) ASSERT_EQ(h.send(from, each), 1);
  h.settle();
  // Each is shorter than the room for it, which says nothing about what else is there.
  for (const char* each : {"2", "3", "4"}) EXPECT_EQ(h.receive(to, 16), each);
}

DRIVER_TEST(driver_contract, "messages carry several pieces, and say where they come from") {
  driver_harness h(make());
  int ends[2];
  h.tcp_pair(ends);
  iovec pieces[2] = {{const_cast<char*>("two "), 4}, {const_cast<char*>("pieces"), 6}};
  msghdr out{};
  out.msg_iov = pieces;
  out.msg_iovlen = 2;
  request sending(op_code::send_msg, ends[0], &out, 1);
  EXPECT_EQ(h.run(sending), 10);
  char room[16];
  iovec place{room, sizeof room};
  msghdr in{};
  in.msg_iov = &place;
  in.msg_iovlen = 1;
  request receiving(op_code::receive_msg, ends[1], &in, 1);
  EXPECT_EQ(h.run(receiving), 10);
  EXPECT_EQ(std::string_view(room, 10), "two pieces");
}

DRIVER_TEST(driver_contract, "a refused connection says so") {
  driver_harness h(make());
  loopback at;
  const int door = h.listener(at);
  h.close(door);
  EXPECT_EQ(h.connect(h.socket(), at), -ECONNREFUSED);
}

DRIVER_TEST(driver_contract, "a poll ends at the first of its events, whichever side it is on") {
  driver_harness h(make());
  int ends[2];
  h.tcp_pair(ends);
  const std::size_t filled = fill(h, ends[0], op_code::send);
  request both(op_code::poll, ends[0]);
  both.flags = POLLIN | POLLOUT;
  h.submit(both);
  h.settle();
  ASSERT_FALSE(both.done);
  std::string drained(filled, 0);
  h.turn_until([&] {
    request r(op_code::receive, ends[1], drained.data(), drained.size());
    h.submit(r);
    h.turn_until([&] { return r.done; }, 2ms);
    h.stop(r);
    return both.done;
  });
  EXPECT_EQ(h.stop(both) & (POLLIN | POLLOUT), POLLOUT);
}

DRIVER_TEST(driver_contract, "a poll sees data while a send waits, and takes nothing") {
  driver_harness h(make());
  int ends[2];
  h.tcp_pair(ends);
  fill(h, ends[0], op_code::send);
  request sending(op_code::send, ends[0], const_cast<char*>("s"), 1);
  h.submit(sending);
  request readable(op_code::poll, ends[0]);
  readable.flags = POLLIN;
  h.submit(readable);
  h.settle();
  ASSERT_FALSE(readable.done);
  h.send(ends[1], "data");
  EXPECT_EQ(h.finish(readable), POLLIN);
  EXPECT_EQ(h.receive(ends[0]), "data");
  EXPECT_EQ(h.stop(sending), -ECANCELED);
}

DRIVER_TEST(driver_contract, "a request to end an operation that waits ends it") {
  driver_harness h(make());
  int ends[2], tube[2];
  h.tcp_pair(ends);
  h.pipe(tube);
  loopback at;
  const int door = h.listener(at);
  char room[2][8];
  request receiving(op_code::receive, ends[0], room[0], 8);
  request reading(op_code::read, tube[0], room[1], 8);
  request accepting(op_code::accept, door);
  request polling(op_code::poll, ends[1]);
  polling.flags = POLLIN;
  for (request* r : {&receiving, &reading, &accepting, &polling}) h.submit(*r);
  h.settle();
  EXPECT_EQ(h.io->pending(), 4u);
  for (request* r : {&receiving, &reading, &accepting, &polling}) {
    EXPECT_EQ(h.stop(*r), -ECANCELED);
    EXPECT_EQ(r->got.size(), 1u);
  }
  EXPECT_EQ(h.io->pending(), 0u);
  EXPECT_EQ(h.send(ends[1], "kept"), 4);
  EXPECT_EQ(h.receive(ends[0]), "kept");
}

DRIVER_TEST(driver_contract, "a build that checks moves refuses a pending operation") {
  if (!checks_moves) GTEST_SKIP() << "this build checks no moves";
  driver_harness h(make());
  int ends[2];
  h.pair(ends);
  char byte;
  request early(op_code::receive, ends[1], &byte, 1);
  h.submit(early);
  EXPECT_DEATH(h.submit(early), "a state makes a legal move|submitted again after its last");
  EXPECT_EQ(h.stop(early), -ECANCELED);
}

DRIVER_TEST(driver_contract, "a request to end what has ended changes nothing") {
  driver_harness h(make());
  int ends[2];
  h.tcp_pair(ends);
  char room[8];
  request r(op_code::receive, ends[1], room, 8);
  h.submit(r);
  h.send(ends[0], "here");
  ASSERT_EQ(h.finish(r), 4);
  h.io->cancel(r, h.w);
  h.settle();
  EXPECT_EQ(r.got.size(), 1u);
}

DRIVER_TEST(driver_contract, "the one behind an operation that was ended gets its turn") {
  driver_harness h(make());
  int ends[2];
  h.tcp_pair(ends);
  char room[2][8];
  request first(op_code::receive, ends[1], room[0], 8);
  request second(op_code::receive, ends[1], room[1], 8);
  h.submit(first);
  h.submit(second);
  h.settle();
  EXPECT_EQ(h.stop(first), -ECANCELED);
  h.send(ends[0], "late");
  EXPECT_EQ(h.finish(second), 4);
}

DRIVER_TEST(driver_contract, "closing ends what is pending, and what comes later fails") {
  driver_harness h(make());
  int ends[2];
  h.tcp_pair(ends);
  fill(h, ends[0], op_code::send);
  char room[2][8];
  request first(op_code::receive, ends[0], room[0], 8);
  request second(op_code::receive, ends[0], room[1], 8);
  request sending(op_code::send, ends[0], const_cast<char*>("x"), 1);
  request polling(op_code::poll, ends[0]);
  polling.flags = POLLIN;
  for (request* r : {&first, &second, &sending, &polling}) h.submit(*r);
  h.settle();
  h.close(ends[0]);
  for (request* r : {&first, &second, &sending, &polling}) {
    EXPECT_EQ(h.finish(*r), -ECANCELED);
    EXPECT_EQ(r->got.size(), 1u);
  }
  EXPECT_EQ(h.io->pending(), 0u);
  EXPECT_EQ(h.send(ends[0], "x"), -EBADF);
  request bad(op_code::receive, -1, room[0], 8);
  EXPECT_EQ(h.run(bad), -EBADF);
}

DRIVER_TEST(driver_contract, "a number that is used again starts afresh") {
  driver_harness h(make());
  for (int round = 0; round < 20; ++round) {
    int ends[2];
    h.tcp_pair(ends);
    char room[8];
    request waits(op_code::receive, ends[1], room, 8);
    h.submit(waits);
    h.settle();
    h.send(ends[0], round % 2 == 0 ? "1234" : "12345678");
    EXPECT_EQ(h.finish(waits), round % 2 == 0 ? 4 : 8);
    request again(op_code::receive, ends[1], room, 8);
    h.submit(again);
    h.close(ends[1]);
    EXPECT_EQ(h.finish(again), -ECANCELED);
    h.close(ends[0]);
  }
}

DRIVER_TEST(driver_contract, "a completion may submit to descriptors that were never seen") {
  driver_harness h(make());
  int ends[2];
  h.tcp_pair(ends);
  std::vector<std::unique_ptr<request>> more;
  std::vector<int> others;
  for (int i = 0; i < 300; ++i) others.push_back(h.socket(SOCK_DGRAM));
  char room[8], unused[8];
  request r(op_code::receive, ends[1], room, 8);
  const auto open_more = [&](request&) {
    if (!more.empty()) return;
    for (const int fd : others) {
      more.push_back(std::make_unique<request>(op_code::poll, fd));
      more.back()->flags = POLLIN;
      h.submit(*more.back());
    }
  };
  request behind(op_code::receive, ends[1], unused, 8);
  r.then = behind.then = open_more;
  h.submit(r);
  h.submit(behind);
  h.settle();
  h.send(ends[0], "12345678");
  h.send(ends[0], "next");
  EXPECT_EQ(h.finish(r) + h.finish(behind), 12);  // which of the two is first is the driver's
  for (auto& each : more) EXPECT_EQ(h.stop(*each), -ECANCELED);
  for (const int fd : others) h.close(fd);
}

DRIVER_TEST(driver_contract, "a sleep ends at its time, and not before") {
  driver_harness h(make());
  int ends[2];
  h.tcp_pair(ends);
  char byte;
  request waits(op_code::receive, ends[0], &byte, 1);
  h.submit(waits);
  h.settle();
  for (const nanoseconds span : {300'000ns, 2'700'000ns}) {
    nanoseconds late{};
    int tries = 0;
    do {  // on a busy machine one sleep or another ends late
      const time_point due = h.io->now() + span;
      while (h.io->now() < due) h.io->turn(h.w, due);
      late = h.io->now() - due;
    } while (late >= 200ms && ++tries != 10);
    EXPECT_LT(late, 200ms);
  }
  EXPECT_EQ(h.stop(waits), -ECANCELED);
}

DRIVER_TEST(driver_contract, "a wake from another thread ends a sleep, or the next one") {
  driver_harness h(make());
  h.io->wake();
  const time_point begin = h.io->now();
  h.io->turn(h.w, begin + 20s);
  EXPECT_LT(h.io->now() - begin, 10s);
  if (!make.real()) return;  // virtual time does not pass while a thread works
  std::thread other([&] {
    std::this_thread::sleep_for(5ms);
    h.io->wake();
  });
  h.io->turn(h.w, never);
  other.join();
}

DRIVER_TEST(driver_contract, "no descriptor is left behind") {
  if (!make.real()) GTEST_SKIP() << "its descriptors are not the kernel's";
  {
    driver_harness warm_up(make());
  }
  const std::size_t before = open_descriptors();
  {
    driver_harness h(make());
    int ends[2], tube[2];
    h.tcp_pair(ends);
    h.pipe(tube);
    char room[8];
    request waits(op_code::receive, ends[0], room, 8);
    h.submit(waits);
    h.settle();
    EXPECT_GT(open_descriptors(), before);
    h.close(ends[0]);
    h.finish(waits);
  }
  EXPECT_EQ(open_descriptors(), before);
}

namespace {

/// A pipe of other code's, whose read end gets this number; -1: the lowest that is free.
struct foreign_pipe {
  explicit foreign_pipe(int number = -1) {
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    if (number < 0 || ends[0] == number) return;
    if (ends[1] == number) {
      ends[1] = ::fcntl(number, F_DUPFD_CLOEXEC, 0);
    }
    EXPECT_EQ(::dup3(ends[0], number, O_CLOEXEC), number);
    ::close(std::exchange(ends[0], number));
  }
  foreign_pipe(const foreign_pipe&) = delete;
  ~foreign_pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  void put() const { EXPECT_EQ(::write(ends[1], "x", 1), 1); }
  int ends[2];
};

/// Waits for its input, which comes only after the driver has begun to wait.
std::int64_t wait_for(driver_harness& h, const foreign_pipe& p) {
  request waiting(op_code::poll, p.ends[0]);
  waiting.flags = POLLIN;
  h.submit(waiting);
  EXPECT_FALSE(waiting.done);
  h.settle();
  p.put();
  h.turn_until([&] { return waiting.done; }, 1s);
  return h.stop(waiting);
}

}  // namespace

DRIVER_TEST(driver_contract, "a number that other code has closed and opened again is waited for") {
  if (!make.real()) GTEST_SKIP() << "other code has no descriptors there";
  driver_harness h(make());
  int number = -1;
  for (int round = 0; round < 3; ++round) {
    const foreign_pipe p(number);
    number = p.ends[0];
    EXPECT_EQ(wait_for(h, p), POLLIN) << "round " << round;
  }
}

DRIVER_TEST(driver_contract, "a number that other code has closed may be any worker's next file") {
  if (!make.real()) GTEST_SKIP() << "its workers share a driver";
  driver_place place{.workers = 2};
  driver_harness first(make_driver(make.name(), place));
  place.worker = 1;
  driver_harness second(make_driver(make.name(), place));
  int number = -1;
  {
    const foreign_pipe p;
    number = p.ends[0];
    EXPECT_EQ(wait_for(second, p), POLLIN);
  }
  int ends[2];
  first.pipe(ends);
  ASSERT_EQ(ends[0], number) << "the lowest number that is free";
  char room[4];
  request reading(op_code::read, ends[0], room, sizeof room);
  second.submit(reading);
  second.settle();
  EXPECT_EQ(first.send(ends[1], "in", op_code::write), 2);
  second.turn_until([&] { return reading.done; }, 1s);
  EXPECT_EQ(second.stop(reading), 2);
}

DRIVER_TEST(driver_contract,
            "an adopted descriptor is waited for, whatever had its number before") {
  if (!make.real()) GTEST_SKIP() << "other code has no descriptors there";
  driver_harness h(make());
  int number = -1;
  {
    const foreign_pipe p;
    number = p.ends[0];
    EXPECT_EQ(wait_for(h, p), POLLIN);
  }
  const foreign_pipe next(number);
  h.io->adopt(number);
  char room[4];
  request reading(op_code::read, number, room, sizeof room);
  h.submit(reading);
  h.settle();
  next.put();
  h.turn_until([&] { return reading.done; }, 1s);
  EXPECT_EQ(h.stop(reading), 1);
}

DRIVER_TEST(driver_contract,
            "a wait whose descriptor another worker closed ends with its next use") {
  if (!make.real()) GTEST_SKIP() << "its workers share a driver";
  if (make.name() == "io_uring") GTEST_SKIP() << "the ring keeps the file until the wait ends";
  driver_place place{.workers = 2};
  driver_harness first(make_driver(make.name(), place));
  place.worker = 1;
  driver_harness second(make_driver(make.name(), place));
  int pair[2];
  ASSERT_EQ(::pipe2(pair, O_CLOEXEC | O_NONBLOCK), 0);
  request waiting(op_code::poll, pair[0]);
  waiting.flags = POLLIN;
  second.submit(waiting);
  second.settle();
  first.io->close(pair[0], first.w);
  const foreign_pipe next(pair[0]);
  EXPECT_EQ(wait_for(second, next), POLLIN);
  EXPECT_TRUE(second.turn_until([&] { return waiting.done; }, 1s));
  EXPECT_EQ(second.stop(waiting), -ECANCELED);
  ::close(pair[1]);
}
