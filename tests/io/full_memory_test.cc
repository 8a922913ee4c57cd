// SPDX-License-Identifier: MIT
// Several workers when memory is full: each record that crosses workers (a completion, a request to
// cancel, a timer) is refused once, in turn, and the program still comes to its end.
#include <atomic>

#include "heddle/core/deadline.hh"
#include "heddle/core/enter.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/scope.hh"
#include "heddle/core/sleep.hh"
#include "heddle/io/tcp.hh"
#include "support/drivers.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

struct outcomes {
  std::atomic<int> answered{0}, timed_out{0}, no_memory{0}, ended{0};

  void note(const result<std::size_t>& r) {
    if (!r && r.error() == std::errc::not_enough_memory) ++no_memory;
    if (!r && r.error() == std::errc::timed_out) ++timed_out;
  }
};

task<> echo_while_memory(tcp_stream conn, outcomes& out) {
  for (;;) {
    const auto in = co_await as_expected(with_timeout(conn.receive(), 200ms));
    if (!in || !*in) break;
    if (!co_await as_expected(conn.write(in->text()))) break;
  }
  ++out.ended;
}

/// The listener belongs to this task's color, also when it is closed.
task<> accept_while_memory(tcp_listener door, tcp_listener*& mine, outcomes& out) {
  mine = &door;
  for (std::uint64_t n = 0;; ++n) {
    auto conn = co_await as_expected(door.accept());
    if (!conn && conn.error() == std::errc::not_enough_memory) continue;
    if (!conn) break;
    spawn(color(100 + n), echo_while_memory(std::move(*conn), out));
  }
  mine = nullptr;
}

/// Asks three times, and waits once for an answer that does not come.
task<> ask_while_memory(address at, outcomes& out) {
  auto conn = co_await as_expected(with_timeout(tcp_connect(at), 1s));
  if (conn) {
    char text[8];
    for (int i = 0; i != 3; ++i) {
      out.note(co_await as_expected(conn->write("ping")));
      const auto got = co_await as_expected(with_timeout(conn->read(std::span(text, 4)), 100ms));
      out.note(got);
      out.answered += got.has_value();
    }
    out.note(co_await as_expected(with_timeout(conn->read(std::span(text, 4)), 1ms)));
  }
  ++out.ended;
}

task<> close_door(tcp_listener*& door) {
  if (door != nullptr) door->close();
  co_return;
}

task<> talk_while_memory(std::int64_t refused, outcomes& out, int clients) {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  scope serving, asking;
  const address at = door.local();
  tcp_listener* served = nullptr;
  serving.spawn(color(7), accept_while_memory(std::move(door), served, out));
  worker::here().memory.refuse_urgent(refused);
  for (int i = 0; i != clients; ++i) asking.spawn(color(i + 1), ask_while_memory(at, out));
  co_await asking.join();
  worker::here().memory.refuse_urgent(-1);
  serving.spawn(color(7), close_door(served));
  co_await serving.join();
}

}  // namespace

DRIVER_TEST(full_memory, "each record between workers may find no memory, and the program ends") {
  constexpr int clients = 6;
  int answered = 0, expected = 0;
  for (std::int64_t refused = 0; refused != 40; ++refused) {
    runtime_options options;
    options.workers = 4;
    options.drivers = make;
    runtime rt(options);
    outcomes out;
    rt.run(talk_while_memory(refused, out, clients));
    EXPECT_EQ(rt.drain(), 0U) << "refused record " << refused;
    EXPECT_GE(out.ended, clients) << "refused record " << refused;
    answered += out.answered;
    expected += 3 * clients;
  }
  EXPECT_GT(answered, expected * 3 / 4) << "one refusal a run ends one connection at most";
}

}  // namespace heddle::test
