// SPDX-License-Identifier: MIT
// The front end in worlds that go wrong: 200 seeds, each run twice with equal traces; nothing is
// left open, no block is out, and what arrives is what was sent or a named failure.
#include <string>

#include "heddle/heddle.hh"
#include "heddle/io/file.hh"
#include "heddle/io/pipe.hh"
#include "heddle/io/tcp.hh"
#include "support/drivers.hh"

using namespace heddle;
using namespace std::chrono_literals;

namespace {

task<> session(tcp_stream peer, bool by_block) {
  char room[700];
  for (;;) {
    if (by_block) {
      received in = co_await peer.receive();
      if (!in) break;
      co_await peer.write(in.data());
    } else {
      const std::size_t n = co_await peer.read_some(room);
      if (n == 0) break;
      co_await peer.write(std::string(room, n));
    }
  }
  peer.shutdown_write();
}

task<> guarded(tcp_stream peer, bool by_block) {
  static_cast<void>(co_await as_expected(session(std::move(peer), by_block)));
}

task<> door_keeper(tcp_listener door, scope& sessions) {
  for (bool by_block = false;; by_block = !by_block) {
    tcp_stream peer = co_await door.accept();
    sessions.spawn(guarded(std::move(peer), by_block));
  }
}

/// Sends a text and reads it back; says what came of it.
task<> visit(address at, int number, std::string& report) {
  const std::string text(static_cast<std::size_t>(100 + number * 977),
                         static_cast<char>('a' + number));
  std::string back(text.size(), '\0');
  std::size_t count = 0;
  std::string outcome = "whole";
  try {
    tcp_stream conn = co_await with_timeout(tcp_connect(at), 20s);
    scope s;
    s.spawn(
        [](tcp_stream to, const std::string& bytes) -> task<> {
          co_await with_timeout(to.write(bytes), 20s);
          to.shutdown_write();
        },
        conn, std::cref(text));
    const auto read = co_await as_expected(with_timeout(conn.read(back, count), 20s));
    if (!read) {
      s.cancel();
      outcome = read.error().message();
    } else if (*read < back.size()) {
      outcome = "cut";
    }
    co_await s.join();
  } catch (const std::system_error& e) {
    outcome = e.code().message();
  }
  EXPECT_EQ(back.substr(0, count), text.substr(0, count)) << "what arrived was not what was sent";
  if (outcome == "whole") {
    EXPECT_EQ(count, text.size());
  }
  report += std::to_string(number) + " " + outcome + " " + std::to_string(count) + "\n";
}

task<> busy_hour(std::string& report) {
  tcp_listener door;
  for (int tries = 0; !door; ++tries) {
    try {
      door = tcp_listener::listen(address::loopback(0));
    } catch (const failure&) {
      if (tries > 100) throw;
    }
  }
  const address at = door.local();
  scope sessions;
  scope keeper;
  keeper.spawn(door_keeper(std::move(door), sessions));
  {
    scope visits;
    for (int i = 0; i < 12; ++i) visits.spawn(visit(at, i, report));
    co_await visits.join();
  }
  keeper.cancel();
  static_cast<void>(co_await as_expected(keeper.join()));
  sessions.cancel();
  static_cast<void>(co_await as_expected(sessions.join()));
  for (int i = 0; i < 3; ++i) {
    const std::string content(static_cast<std::size_t>(i) * 9000 + 5, 'f');
    const auto written = co_await as_expected(write_file("/file", content));
    const auto read = co_await as_expected(read_file("/file"));
    if (written && read) {
      EXPECT_EQ(*read, content);
    }
    report += written ? "written\n" : written.error().message() + "\n";
  }
}

struct outcome {
  std::uint64_t trace = 0;
  std::uint64_t faults = 0;
  std::string report;
  bool operator==(const outcome&) const = default;
};

outcome run_world(std::uint64_t seed, const sim_rates& faults) {
  auto world = std::make_unique<sim_driver>(sim_options{.seed = seed, .faults = faults});
  sim_driver& sim = *world;
  outcome got;
  {
    runtime rt(std::move(world), {});
    rt.run(busy_hour(got.report));
    got.trace = sim.trace_hash();
    got.faults = sim.faults_injected();
    EXPECT_EQ(sim.open_descriptors(), 0u) << "seed " << seed << "\n" << sim.trace_text();
    EXPECT_EQ(sim.blocks_out(), 0u) << "seed " << seed;
    EXPECT_EQ(rt.main_worker().foreign_slots, 0u);
  }
  return got;
}

void run_seeds(const sim_rates& faults, std::uint64_t count, bool all_whole) {
  std::uint64_t injected = 0;
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const outcome first = run_world(seed, faults);
    const outcome again = run_world(seed, faults);
    EXPECT_EQ(first, again) << first.report << again.report;
    injected += first.faults;
    if (all_whole) {
      EXPECT_EQ(first.report.find("cut"), std::string::npos) << first.report;
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(injected, count);  // or this test tested nothing
}

task<> survive_exhaustion() {
  tcp_listener door = tcp_listener::listen(address::loopback(0), {.pause = 100ms});
  scope s;
  s.spawn([](address at) -> task<> { static_cast<void>(co_await tcp_connect(at)); }, door.local());
  const time_point began = clock::now();
  tcp_stream peer = co_await door.accept();
  EXPECT_TRUE(peer.is_open());
  EXPECT_EQ(door.pauses(), 2u);
  EXPECT_GE(clock::now() - began, 200ms);
  co_await s.join();
}

}  // namespace

HEDDLE_TEST(faults, "short transfers, interruptions and delays change no byte, 200 seeds twice") {
  run_seeds({.short_transfer = 0.3, .interrupted = 0.1, .delayed = 0.05}, 200, true);
}

HEDDLE_TEST(faults, "resets and lack of everything are failures with a name, 200 seeds twice") {
  run_seeds({.short_transfer = 0.1,
             .interrupted = 0.05,
             .reset = 0.01,
             .no_memory = 0.02,
             .no_descriptors = 0.05,
             .io_error = 0.02,
             .delayed = 0.02},
            200, false);
}

HEDDLE_TEST(faults, "a listener outlasts a lack of descriptors") {
  auto world = std::make_unique<sim_driver>();
  world->fail_next(op_code::accept_all, -EMFILE, 2);
  runtime rt(std::move(world), {});
  rt.run(survive_exhaustion());
}
