// SPDX-License-Identifier: MIT
// Generated tests: for_seeds runs a body of a test for many seeds and stops at the first one with a
// failed check. It prints the command that runs this seed alone; heddle/sim/seeds.hh says what the
// environment chooses. `make hunt` runs these tests for as long as it is told (tests/hunt.toml).
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "heddle/base/sanitizer.hh"
#include "heddle/sim/seeds.hh"

namespace heddle::test {

inline constexpr std::uint64_t seeds_slower = HEDDLE_ASAN || HEDDLE_TSAN ? 8 : 1;

/// Runs `body(seed)` for the seeds 1 to `count`: an eighth of them with sanitizers, other ones if
/// the environment says so. What fails in a body carries its seed. A test can ask judges_totals(),
/// to check that its generator does what it should.
///
///   HEDDLE_TEST(random_steps, "no value is lost between channels") {
///     test::for_seeds(2000, [](std::uint64_t seed) { EXPECT_EQ(lost(seed), 0); });
///   }
template <class Body>
sim::seeds_outcome for_seeds(std::uint64_t count, const Body& body) {
  const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
  const std::string all = ::testing::internal::GetArgvs().front();
  sim::seeds_options options{.count = (count + seeds_slower - 1) / seeds_slower};
  std::string filter = std::string(test.test_suite_name()) + '.' + test.name();
  for (char& c : filter)
    if (c == '-' || c == ':' || c == '*') c = '?';  // they have a meaning of their own in a filter
  options.command = all + " --gtest_filter='" + filter + '\'';
  const sim::seeds_outcome outcome = sim::for_seeds(options, [&](std::uint64_t seed) {
    const ::testing::ScopedTrace where(__FILE__, __LINE__, "seed " + std::to_string(seed));
    body(seed);
    return !::testing::Test::HasFailure();
  });
  EXPECT_NE(outcome.ran, 0U) << "no seed ran";
  return outcome;
}

/// Whether what all seeds did together can be judged: `least` of the ordinary seeds ran, which are
/// always the same. Of other seeds ten times as many are needed, so that chance does not decide.
inline bool judges_totals(const sim::seeds_outcome& all, std::uint64_t least) {
  const bool others =
      std::getenv("HEDDLE_SEED") != nullptr || std::getenv("HEDDLE_HUNT_S") != nullptr;
  return !all.failed && all.ran >= least * (others ? 10 : 1);
}

}  // namespace heddle::test
