// SPDX-License-Identifier: MIT
// Runtimes that follow each other use one memory, and find no trace of the one before; one under
// simulation asks the kernel for no memory.
#include <sys/resource.h>

#include <thread>
#include <vector>

#include "heddle/base/detail/kept_range.hh"
#include "heddle/base/sanitizer.hh"
#include "heddle/core/enter.hh"
#include "heddle/core/scope.hh"
#include "heddle/core/sleep.hh"
#include "heddle/core/task.hh"
#include "heddle/core/yield.hh"
#include "sched/color_table.hh"
#include "support/drivers.hh"
#include "support/zeros.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;
using detail::drop_spare_ranges;
using detail::read_spare_ranges;

/// Fills its frame, in several colors.
task<int> writes_all_over(int depth) {
  volatile unsigned char pattern[700];
  for (volatile unsigned char& b : pattern) b = 0xa5;
  co_await enter(color(depth * 17 + 3));
  co_await sleep_for(1us);
  int sum = pattern[depth % 700];
  if (depth != 0) {
    const int rest = co_await writes_all_over(depth - 1);
    sum += rest;
  }
  co_return sum;
}

task<> program() {
  scope s;
  for (int i = 0; i != 20; ++i)
    s.spawn(color(100 + i), [](int n) -> task<> {
      co_await yield();
      const int sum = co_await writes_all_over(n % 5);
      EXPECT_GE(sum, 0xa5);
    }(i));
  co_await s.join();
}

void run_program(const driver_maker& make, unsigned workers) {
  runtime_options options;
  options.workers = workers;
  runtime rt(make(), options);
  rt.run(program());
}

}  // namespace

DRIVER_TEST(kept_memory, "what a runtime wrote is not found by the next one") {
  for (const unsigned workers : {1U, 3U}) {
    SCOPED_TRACE(workers);
    drop_spare_ranges();
    run_program(make, workers);
    const auto spare = read_spare_ranges();
    EXPECT_GE(spare.ranges, 2u);  // frames and colors
    EXPECT_GE(spare.bytes, 40u << 10);
    EXPECT_LE(spare.bytes, 2u << 20);

    color_table colors(runtime_options().color_places);
    EXPECT_TRUE(is_zero(&colors[0], colors.places() * sizeof(color_record)));
    const region frames(runtime_options().memory_bytes);
    const auto* const base = reinterpret_cast<const std::byte*>(frames.base());
    EXPECT_TRUE(is_zero(base, 4u << 20));
    EXPECT_TRUE(is_zero(base + (std::size_t{1} << 32), 16u << 20));
    EXPECT_TRUE(is_zero(base + frames.bytes(), frames.bytes() / slab_chunk_bytes * 4));
    EXPECT_EQ(read_spare_ranges().lent, spare.lent + 2);
  }
}

DRIVER_TEST(kept_memory, "runtimes follow each other in one memory") {
  drop_spare_ranges();
  run_program(make, 1);
  const auto first = read_spare_ranges();
  for (int i = 0; i != 20; ++i) run_program(make, i % 3 == 2 ? 2 : 1);
  const auto after = read_spare_ranges();
  EXPECT_GE(after.lent, first.lent + 40);
  EXPECT_EQ(after.ranges, first.ranges);
}

HEDDLE_TEST(kept_memory, "threads that make runtimes share the memory") {
  drop_spare_ranges();
  const std::uint64_t before = read_spare_ranges().lent;
  {
    std::vector<std::jthread> all;
    for (int t = 0; t != 3; ++t)
      all.emplace_back([] {
        for (int i = 0; i != 30; ++i) {
          runtime rt(std::make_unique<sim_driver>(sim_options{.seed = 5}), one_worker());
          rt.run(program());
        }
      });
  }
  // Of 180 ranges some come from the kernel: the first ones, and those of a thread that found the
  // list's lock taken.
  EXPECT_GE(read_spare_ranges().lent - before, 90u);
}

HEDDLE_TEST(kept_memory, "a run repeats in memory that others have used") {
  const auto hash = [](std::uint64_t seed) {
    auto world = std::make_unique<sim_driver>(sim_options{.seed = seed});
    const sim_driver& sim = *world;
    runtime rt(std::move(world), one_worker());
    rt.run(program());
    return sim.trace_hash();
  };
  drop_spare_ranges();
  const std::uint64_t in_new_memory = hash(7);
  static_cast<void>(hash(8));
  EXPECT_EQ(hash(7), in_new_memory);
}

HEDDLE_TEST(kept_memory, "frames of a color that never ran are not left to the next runtime") {
  drop_spare_ranges();
  static frame unrun{};
  unrun.resume = [](frame*, heddle_worker*) -> heddle_link { return 0; };
  {
    runtime rt(std::make_unique<sim_driver>(), one_worker());
    worker& w = rt.main_worker();
    unrun.context = w.root_context;
    w.post_to(77, link_of(unrun));
  }
  color_table colors(runtime_options().color_places);
  EXPECT_TRUE(is_zero(&colors[0], colors.places() * sizeof(color_record)));
}

HEDDLE_TEST(kept_memory, "a small simulated run touches no new page") {
  if (HEDDLE_ASAN || HEDDLE_TSAN) GTEST_SKIP() << "the sanitizer touches pages of its own";
  const auto run_some = [](int count) {
    for (int i = 0; i != count; ++i) {
      runtime rt(std::make_unique<sim_driver>(sim_options{.seed = 5}), one_worker());
      rt.run(program());
    }
  };
  run_some(5);
  rusage then{}, now{};
  ::getrusage(RUSAGE_SELF, &then);
  run_some(100);
  ::getrusage(RUSAGE_SELF, &now);
  EXPECT_LE(now.ru_minflt - then.ru_minflt, 100);  // of the C library; it was 60 a run
}

}  // namespace heddle::test
