// SPDX-License-Identifier: MIT
// Many connections: they come and go by the thousand, and those that wait cost almost nothing.
#include <sys/resource.h>

#include <string>

#include "heddle/heddle.hh"
#include "heddle/io/tcp.hh"
#include "heddle/io/unix.hh"
#include "support/drivers.hh"

using namespace heddle;
using namespace std::chrono_literals;

namespace {

/// Descriptors for `count` connections within this process, or fewer where the limit is low.
std::size_t connections_for(const driver& d, std::size_t count) {
  if (std::string_view(d.name()) == "sim") return count;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  const std::size_t room = limit.rlim_cur < 200 ? 0 : (limit.rlim_cur - 100) / 2;
  return std::min(count, room);
}

task<> answer(tcp_stream peer) {
  while (co_await peer.readable()) {
    received in = co_await peer.receive();
    co_await peer.write(in.data());
  }
}

task<> keep_door(tcp_listener door, scope& sessions) {
  for (;;) sessions.spawn(answer(co_await door.accept()));
}

task<> crowd(std::size_t count) {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  const address at = door.local();
  scope sessions, keeper;
  keeper.spawn(keep_door(std::move(door), sessions));
  {
    std::vector<tcp_stream> conns;
    for (std::size_t i = 0; i < count; ++i) conns.push_back(co_await tcp_connect(at));
    for (int round = 0; round < 2; ++round) {
      for (std::size_t i = 0; i < count; ++i) {
        const std::string text = std::to_string(i + 1'000'000);
        co_await conns[i].write(text);
      }
      for (std::size_t i = 0; i < count; ++i) {
        char back[7];
        co_await conns[i].read(back);
        if (std::string_view(back, 7) != std::to_string(i + 1'000'000)) {
          ADD_FAILURE() << "connection " << i << " got " << std::string(back, 7);
          co_return;
        }
      }
    }
    EXPECT_EQ(sessions.live(), count);
  }
  keeper.cancel();
  static_cast<void>(co_await as_expected(keeper.join()));
  co_await sessions.join();  // every session saw the end of its stream
}

task<> wait_idly(unix_stream conn) { static_cast<void>(co_await conn.readable()); }

/// Bytes of the worker's memory for one connection that waits: its state and its frame.
task<> idle(std::size_t count, std::size_t& bytes) {
  worker& w = worker::here();
  std::vector<unix_stream> far;
  scope sessions;
  const auto open_and_wait = [&](std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      auto [near_end, far_end] = unix_pair();
      far.push_back(std::move(far_end));
      sessions.spawn(wait_idly(std::move(near_end)));
    }
  };
  open_and_wait(100);
  co_await sleep_for(1ms);
  const std::size_t before = w.memory.home().chunks_taken();
  open_and_wait(count);
  co_await sleep_for(1ms);
  const std::size_t taken = w.memory.home().chunks_taken() - before;
  // The far ends have a state too, and no frame.
  bytes = taken * slab_chunk_bytes / count - 160;
  far.clear();
  co_await sessions.join();
}

task<> churn(std::size_t rounds) {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  const address at = door.local();
  scope sessions, keeper;
  keeper.spawn(keep_door(std::move(door), sessions));
  worker& w = worker::here();
  std::size_t live_after_first = 0;
  for (std::size_t i = 0; i < rounds; ++i) {
    {
      tcp_stream conn = co_await tcp_connect(at);
      co_await conn.write("x");
      char back[1];
      co_await conn.read(back);
    }
    while (sessions.live() != 0) co_await sleep_for(100us);
    if (i == 10) live_after_first = w.memory.live();
  }
  EXPECT_LE(w.memory.live(), live_after_first + 4);
  keeper.cancel();
  static_cast<void>(co_await as_expected(keeper.join()));
  co_await sessions.join();
}

}  // namespace

DRIVER_TEST(crowd, "F7 thousands of connections each get their own answer") {
  auto d = make();
  const std::size_t count = connections_for(*d, 3000);
  runtime rt(std::move(d), {});
  rt.run(crowd(count));
}

DRIVER_TEST(crowd, "a connection that waits costs at most 300 bytes") {
  auto d = make();
  const std::size_t count = connections_for(*d, 4000);
  runtime rt(std::move(d), test::one_worker());
  std::size_t bytes = 0;
  rt.run(idle(count, bytes));
#if defined(__clang__)
  EXPECT_LE(bytes, 300u);
#else
  EXPECT_LE(bytes, 340u);  // GCC 12 keeps more in its frames
#endif
  EXPECT_GE(bytes, 100u);  // or it measured nothing
}

DRIVER_TEST(crowd, "connections that come and go leave nothing behind") {
  auto d = make();
  auto* sim = dynamic_cast<sim_driver*>(d.get());
  runtime rt(std::move(d), test::one_worker());  // it reads the memory of its worker
  rt.run(churn(300));
  if (sim != nullptr) {
    EXPECT_EQ(sim->open_descriptors(), 0u);
  }
}
