// SPDX-License-Identifier: MIT
// Cancellation in each state of each operation: before it starts, in line behind another, in the
// hands of the driver, done but not yet resumed; and handles that go away meanwhile.
#include <string>

#include "heddle/heddle.hh"
#include "heddle/io/pipe.hh"
#include "heddle/io/tcp.hh"
#include "heddle/io/udp.hh"
#include "heddle/io/unix.hh"
#include "outcome.hh"
#include "support/drivers.hh"

using namespace heddle;
using namespace heddle::test;
using heddle::test::error_of;
using namespace std::chrono_literals;

namespace {

const std::error_code canceled = canceled_error();

/// An operation and the code it ended with.
struct probe {
  std::error_code code;
  bool ended = false;
};

template <class Operation>
task<> watch(Operation op, probe& p) {
  const auto outcome = co_await as_expected(std::move(op));
  p.code = outcome ? std::error_code() : outcome.error();
  p.ended = true;
}

task<> before_start() {
  auto [left, right] = unix_pair();
  co_await left.write("waiting");
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  udp_socket socket = udp_socket::bind(address::loopback(0));
  char room[8];
  scope s;
  s.cancel();
  probe p[6];
  s.spawn(watch(right.read(room), p[0]));
  s.spawn(watch(right.receive(), p[1]));
  s.spawn(watch(right.readable(), p[2]));
  s.spawn(watch(right.write("x"), p[3]));
  s.spawn(watch(door.accept(), p[4]));
  s.spawn(watch(socket.receive_from(room), p[5]));
  co_await s.join();
  for (const probe& each : p) EXPECT_EQ(each.code, canceled);
  EXPECT_EQ(co_await right.read_some(room), 7u);  // nothing was taken
}

task<> in_the_drivers_hands() {
  auto [left, right] = unix_pair();
  pipe_pair pipe = make_pipe();
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  udp_socket socket = udp_socket::bind(address::loopback(0));
  char room[2][8];
  const std::string much(8'000'000, 'm');
  probe p[6];
  scope s;
  s.spawn(watch(right.read(room[0]), p[0]));
  s.spawn(watch(right.write(much), p[1]));
  s.spawn(watch(right.write(chain(std::string(much))), p[2]));  // in line behind the first
  s.spawn(watch(pipe.reader.read(room[1]), p[3]));
  s.spawn(watch(door.accept(), p[4]));
  s.spawn(watch(socket.receive_from(room[1]), p[5]));
  co_await sleep_for(5ms);
  for (const probe& each : p) EXPECT_FALSE(each.ended);
  s.cancel();
  co_await s.join();
  for (const probe& each : p) EXPECT_EQ(each.code, canceled);
}

task<> done_already() {
  // The data is there before the request: what succeeded is delivered, and nothing is lost.
  auto [left, right] = unix_pair();
  char first[4];
  std::size_t count = 0;
  probe p;
  scope s;
  s.spawn(watch(right.read(first, count), p));
  co_await sleep_for(1ms);
  co_await left.write("abcdefgh");
  s.cancel();
  co_await s.join();
  char rest[8];
  left.shutdown_write();
  const std::size_t n = co_await right.read(rest);
  if (p.code) {
    EXPECT_EQ(p.code, canceled);
  }
  if (!p.code) {
    EXPECT_EQ(count, 4u);
  }
  EXPECT_EQ(std::string(first, count) + std::string(rest, n), "abcdefgh");
}

task<> partly_done() {
  auto [left, right] = unix_pair();
  char room[16];
  std::size_t count = 0;
  probe p;
  scope s;
  s.spawn(watch(right.read(room, count), p));
  co_await sleep_for(1ms);
  co_await left.write("abcdefgh");
  s.cancel();
  co_await s.join();  // it does not wait for the other half
  EXPECT_EQ(p.code, canceled);
  left.shutdown_write();
  char rest[8];
  const std::size_t n = co_await right.read(rest);
  EXPECT_EQ(std::string(room, count) + std::string(rest, n), "abcdefgh");
}

task<> by_close() {
  auto [left, right] = unix_pair();
  char room[2][8];
  const std::string much(8'000'000, 'm');
  std::size_t written = 0;
  probe p[4];
  scope s;
  s.spawn(watch(right.read(room[0]), p[0]));
  s.spawn(watch(right.read(room[1]), p[1]));
  s.spawn(watch(right.write(much, written), p[2]));
  s.spawn(watch(right.write("behind"), p[3]));
  co_await sleep_for(5ms);
  unix_stream copy = right;
  copy.close();
  co_await s.join();
  for (const probe& each : p) EXPECT_EQ(each.code, canceled);
  EXPECT_GT(written, 0u);  // F1: bytes already counted stay counted
  EXPECT_LT(written, much.size());
  const auto later = co_await as_expected(right.read(room[0]));
  EXPECT_EQ(error_of(later), std::errc::bad_file_descriptor);
}

task<> last_handle_goes() {
  auto [left, right] = unix_pair();
  char room[8];
  probe p[2];
  scope s;
  s.spawn(watch(right.read(room), p[0]));
  s.spawn(watch(right.receive(), p[1]));
  co_await sleep_for(1ms);
  unix_stream copy = right;
  copy = {};  // not the last
  co_await sleep_for(1ms);
  EXPECT_FALSE(p[0].ended);
  right = {};
  co_await s.join();
  EXPECT_EQ(p[0].code, canceled);
  EXPECT_EQ(p[1].code, canceled);
  EXPECT_EQ(co_await left.read(room), 0u);  // it was closed
}

task<> connecting() {
  // Nobody answers at this address in the simulated world: the attempt is given up.
  const auto late = co_await as_expected(with_timeout(tcp_connect(address::loopback(9)), 1ms));
  EXPECT_FALSE(late.has_value());
}

task<> accepted_and_not_taken() {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  const address at = door.local();
  probe p;
  scope s;
  s.spawn(watch(door.accept(), p));
  co_await sleep_for(1ms);
  s.cancel();
  co_await s.join();
  EXPECT_EQ(p.code, canceled);
  tcp_stream conn = co_await tcp_connect(at);  // comes while nobody waits
  co_await sleep_for(5ms);
  tcp_stream peer = co_await door.accept();
  co_await peer.write("y");
  char c[1];
  EXPECT_EQ(co_await conn.read(c), 1u);
  tcp_stream unwanted = co_await tcp_connect(at);
  co_await sleep_for(5ms);
  door.close();  // with one in the queue
  const auto rest = co_await as_expected(unwanted.read(c));
  EXPECT_TRUE(!rest || *rest == 0u);
}

}  // namespace

DRIVER_TEST(cancel, "in a cancelled context no operation starts") {
  run_plain(make(), &before_start);
}
DRIVER_TEST(cancel, "what the driver has ends, and what stands in line behind it") {
  run_plain(make(), &in_the_drivers_hands);
}
DRIVER_TEST(cancel, "what succeeded is delivered although it was asked to end") {
  run_plain(make(), &done_already);
}
DRIVER_TEST(cancel, "a read that got a part ends, and the part is counted") {
  run_plain(make(), &partly_done);
}
DRIVER_TEST(cancel, "F1 closing ends all that is pending and keeps the counts") {
  run_plain(make(), &by_close);
}
DRIVER_TEST(cancel, "F1 the last handle closes, whoever still waits") {
  run_plain(make(), &last_handle_goes);
}
DRIVER_TEST(cancel, "an attempt to connect is given up") { run_plain(make(), &connecting); }
DRIVER_TEST(cancel, "a connection that nobody took is not lost, or closed with its listener") {
  run_plain(make(), &accepted_and_not_taken);
}

HEDDLE_TEST(cancel, "requests and completions may cross in any order, 200 seeds twice") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::uint64_t traces[2];
    for (std::uint64_t& trace : traces) {
      auto world = std::make_unique<sim_driver>(
          sim_options{.seed = seed, .faults = {.short_transfer = 0.2, .delayed = 0.1}});
      sim_driver& sim = *world;
      runtime rt(std::move(world), {});
      for (const auto body :
           {&done_already, &partly_done, &last_handle_goes, &accepted_and_not_taken})
        rt.run(body());
      EXPECT_EQ(sim.open_descriptors(), 0u) << sim.trace_text();
      EXPECT_EQ(sim.blocks_out(), 0u);
      trace = sim.trace_hash();
    }
    EXPECT_EQ(traces[0], traces[1]);
    if (::testing::Test::HasFailure()) return;
  }
}
