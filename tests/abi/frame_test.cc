// SPDX-License-Identifier: MIT
// Plain frames written in C (abi_frames.c) run beside tasks, sleep, hand over, are seen in dumps,
// and end when the runtime ends.
#include "heddle/abi.h"

#include "abi_frames.h"
#include "heddle/heddle.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

using namespace heddle;
using namespace std::chrono_literals;
using heddle::test::virtual_runtime;

namespace {
heddle_worker* here() { return reinterpret_cast<heddle_worker*>(&worker::here()); }
}  // namespace

HEDDLE_TEST(abi, "the library has the version of the header") {
  EXPECT_EQ(heddle_abi_version(), std::uint32_t{HEDDLE_ABI_VERSION});
}

HEDDLE_TEST(abi, "C frames and tasks take turns in one queue") {
  virtual_runtime v;
  frame_log log{};
  int task_steps = 0, apart_max = 0;
  v.rt.run([](frame_log& l, int& mine, int& apart) -> task<> {
    start_counter(here(), &l, 50);
    for (; mine < 50; ++mine) {
      apart = std::max(apart, std::abs(mine - l.steps));
      co_await yield();
    }
  }(log, task_steps, apart_max));
  v.rt.run();
  EXPECT_EQ(log.steps, 50);
  EXPECT_EQ(log.destroyed, 1);
  EXPECT_LE(apart_max, 1);
}

HEDDLE_TEST(abi, "a C frame sleeps by the timer wheel, and its waits are in the dump") {
  virtual_runtime v;
  frame_log log{};
  log.woken_late = -1;
  std::string seen;
  v.rt.run([](frame_log& l, std::string& text) -> task<> {
    start_sleeper(here(), &l, 5'000'000);
    co_await sleep_for(1ms);
    text = runtime::here().dump();
    EXPECT_EQ(l.destroyed, 0);
    co_await sleep_for(5ms);
  }(log, seen));
  EXPECT_NE(seen.find("sleeper.c:7"), std::string::npos) << seen;
  EXPECT_EQ(log.steps, 2);
  EXPECT_EQ(log.destroyed, 1);
  EXPECT_GE(log.woken_late, 0);
  EXPECT_LT(log.woken_late, 100'000);
}

HEDDLE_TEST(abi, "frames hand the worker to each other, queued or not") {
  virtual_runtime v;
  frame_log log{};
  v.rt.post([&] { start_players(here(), &log, 1000); });
  v.rt.run();
  EXPECT_EQ(log.steps, 1002);
  EXPECT_EQ(log.destroyed, 2);
}

HEDDLE_TEST(abi, "the end of the runtime asks C frames to end, and waits for them") {
  frame_log log{};
  {
    virtual_runtime v;
    v.rt.post([&] { start_sleeper(here(), &log, 3'600'000'000'000); });
    v.rt.once();
    v.rt.once();
    EXPECT_EQ(log.destroyed, 0);
  }
  EXPECT_EQ(log.canceled, 1);
  EXPECT_EQ(log.destroyed, 1);
}

HEDDLE_TEST(abi, "full memory ends a C program through the assertion hook, not by an exception") {
  runtime_options options;
  options.memory_bytes = 1 << 20;
  virtual_runtime v(options);
  const auto fill = [] {
    for (;;) EXPECT_NE(heddle_alloc(here(), 4096), nullptr);
  };
  EXPECT_DEATH(fill(), "memory for plain frames has not run out");
}
