// SPDX-License-Identifier: MIT
// Stacks of fibers: limits, reuse, guards, and how a fiber ends that did not return.
#include <signal.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "heddle/base/detail/kept_range.hh"
#include "heddle/base/sanitizer.hh"
#include "heddle/fiber/fiber.hh"
#include "heddle/heddle.hh"
#include "support/drivers.hh"
#include "support/virtual_runtime.hh"
#include "support/zeros.hh"

using namespace heddle;
using heddle::test::virtual_runtime;
using namespace std::chrono_literals;

namespace {

void nap() { await(sleep_for(1s)); }

/// Notes in `log` what happens to it.
struct witness {
  explicit witness(std::vector<std::string>& to) : log(to) {}
  ~witness() { log.push_back("unwound"); }
  std::vector<std::string>& log;
};

void sleep_long(std::vector<std::string>& log) {
  const witness w(log);
  try {
    await(sleep_for(1h));
    log.push_back("slept");
  } catch (const failure& f) {
    log.push_back(f.code() == std::errc::operation_canceled ? "canceled" : "?");
    throw;
  }
}

task<> canceled() {
  std::vector<std::string> log;
  const auto r = co_await as_expected(with_timeout(fiber(sleep_long, std::ref(log)), 1s));
  EXPECT_FALSE(r);
  EXPECT_EQ(r.error(), std::errc::timed_out);
  EXPECT_EQ(log, (std::vector<std::string>{"canceled", "unwound"}));
  EXPECT_EQ(read_fibers().running, 0u);
}

void wait_for_event(std::vector<std::string>& log, rendezvous<>& r) {
  const witness w(log);
  await(r);
  log.push_back("came");
}

/// Nobody awaits the fiber, and what it waits for goes: as with any frame, it goes too.
task<> abandoned() {
  std::vector<std::string> log;
  scope s;
  event<> e;
  {
    rendezvous<> r;
    e = r.make_event();
    s.spawn(fiber(wait_for_event, std::ref(log), std::ref(r)));
    co_await yield();
    EXPECT_EQ(read_fibers().running, 1u);
  }
  EXPECT_EQ(log, (std::vector<std::string>{"unwound"}));
  EXPECT_EQ(read_fibers().running, 0u);
  co_await s.join();
}

task<> not_started() {
  auto t = fiber(nap);
  t.reset();
  EXPECT_EQ(read_fibers().stacks_made, 0u);
  co_return;
}

task<> reuse() {
  for (int i = 0; i < 100; ++i) co_await fiber(nap);
  EXPECT_EQ(read_fibers().stacks_made, 1u);
  EXPECT_EQ(read_fibers().stacks_kept, 1u);
  co_await fiber(fiber_options{.stack_bytes = 1 << 20}, nap);  // another size, another stack
  EXPECT_EQ(read_fibers().stacks_made, 2u);
}

task<> keeps_few() {
  limit_fibers({.stacks_kept = 2});
  scope s;
  for (int i = 0; i < 5; ++i) s.spawn(fiber(nap));
  co_await s.join();
  EXPECT_EQ(read_fibers().stacks_made, 5u);
  EXPECT_EQ(read_fibers().stacks_kept, 2u);
}

task<> too_many() {
  limit_fibers({.fibers_max = 3});
  scope s;
  for (int i = 0; i < 3; ++i) s.spawn(fiber(nap));
  co_await yield();
  try {
    co_await fiber(nap);
    ADD_FAILURE() << "there is a limit of three";
  } catch (const failure& f) {
    EXPECT_EQ(f.code(), std::errc::not_enough_memory);
    EXPECT_NE(std::string(f.what()).find("fibers_max"), std::string::npos);
  }
  co_await s.join();
  co_await fiber(nap);  // there is room again
}

task<> too_large() {
  try {
    co_await fiber(fiber_options{.stack_bytes = std::size_t{1} << 40}, nap);
    ADD_FAILURE() << "there is a limit";
  } catch (const failure& f) {
    EXPECT_EQ(f.code(), std::errc::invalid_argument);
    EXPECT_NE(std::string(f.what()).find("stack_bytes_max"), std::string::npos);
  }
}

/// Not optimized into a loop: each level uses what the next gives.
[[gnu::noinline]] int use_stack(int level, volatile char* above) {
  volatile char room[1024];
  room[0] = static_cast<char>(level);
  if (level == 0) return above == nullptr ? 0 : above[0];
  return use_stack(level - 1, room) + room[0];
}

int deep(int levels) {
  await(yield());
  return use_stack(levels, nullptr);
}

task<> overflow(std::size_t bytes, int levels) {
  co_await fiber(fiber_options{.stack_bytes = bytes}, deep, levels);
}

/// Stacks, limits and counts are a worker's.
runtime_options one_worker() {
  runtime_options options;
  options.workers = 1;
  return options;
}

/// Fills much of its stack.
int fills_stack() {
  volatile unsigned char pattern[100'000];
  for (volatile unsigned char& b : pattern) b = 0xa5;
  await(sleep_for(1s));
  return pattern[77];
}

task<> filled() {
  scope s;
  for (int i = 0; i != 3; ++i)
    s.spawn([]() -> task<> {
      const int found = co_await fiber(fills_stack);
      EXPECT_EQ(found, 0xa5);
    });
  co_await s.join();
}

}  // namespace

#define STACK_TEST(sentence, program)                               \
  HEDDLE_TEST(stack, sentence) {                                    \
    virtual_runtime v(one_worker());                                \
    v.rt.run((program)());                                          \
    EXPECT_TRUE(v.reports.empty()) << to_string(v.reports.front()); \
  }                                                                 \
  static_assert(true)

STACK_TEST("a cancelled fiber unwinds and gives its stack back", &canceled);
STACK_TEST("a fiber whose carrier is destroyed unwinds", &abandoned);
STACK_TEST("a fiber that was never started has no stack", &not_started);
STACK_TEST("stacks are used again, by size", &reuse);
STACK_TEST("not more unused stacks are kept than the limit", &keeps_few);
STACK_TEST("fibers beyond the limit fail with what to do", &too_many);
STACK_TEST("a stack beyond the limit is refused", &too_large);
STACK_TEST("a stack of the size asked for holds that much",
           [] { return overflow(512 * 1024, 300); });

HEDDLE_TEST(stack, "an overflow is reported as such, with the size and the last line") {
  EXPECT_DEATH(
      {
        virtual_runtime v;
        v.rt.run(overflow(64 * 1024, 300));
      },
      "stack_test.cc.*fiber stack overflow: it has 64 KiB|"
      "fiber stack overflow: it has 64 KiB.*stack_test.cc");
}

HEDDLE_TEST(stack, "another fault is left to whoever handled it before") {
  const auto touch = [] {
    virtual_runtime v;
    v.rt.run([](int* bad) -> task<> {
      co_await fiber([](int* at) { *const_cast<volatile int*>(at) = 1; }, bad);
    }(reinterpret_cast<int*>(16)));
  };
  if (HEDDLE_ASAN || HEDDLE_TSAN) {
    EXPECT_DEATH(touch(), "SEGV");  // the sanitizer's report
  } else {
    EXPECT_EXIT(touch(), ::testing::KilledBySignal(SIGSEGV), "");  // an overflow would abort
  }
}

HEDDLE_TEST(stack, "a runtime that ends cancels its fibers") {
  std::vector<std::string> log;
  {
    virtual_runtime v;
    v.rt.spawn(fiber(sleep_long, std::ref(log)));
    v.rt.once();
  }
  EXPECT_EQ(log, (std::vector<std::string>{"canceled", "unwound"}));
}

HEDDLE_TEST(stack, "a stack serves the next runtime, as zeros") {
  detail::drop_spare_ranges();
  const fiber_limits limits;
  for (int i = 0; i != 3; ++i) {
    const auto spare = detail::read_spare_ranges();
    {
      runtime rt(std::make_unique<sim_driver>(), test::one_worker());
      rt.run(filled());
    }
    const std::uint64_t lent = detail::read_spare_ranges().lent - spare.lent;
    EXPECT_GE(lent, i == 0 ? 0u : 5u);
  }
  const detail::kept_range stack(limits.stack_bytes, limits.guard_bytes);
  EXPECT_TRUE(test::is_zero(stack.data(), stack.bytes()));
}
