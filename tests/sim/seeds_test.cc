// SPDX-License-Identifier: MIT
// sim::for_seeds: which seeds run, as the caller and the environment say, and what is said of one
// that fails.
#include "support/seeds.hh"

#include <fstream>
#include <stdexcept>
#include <vector>

#include "heddle/base/sometimes.hh"
#include "support/environment.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

/// The seeds that ran, what was said on stderr, and what came of it.
struct seeds_report {
  std::vector<std::uint64_t> seeds;
  std::string said;
  sim::seeds_outcome outcome;
};

seeds_report seeds_with(const char* seed, const char* seconds, const sim::seeds_options& options,
                        std::uint64_t fails = 0) {
  const environment first("HEDDLE_SEED", seed);
  const environment second("HEDDLE_HUNT_S", seconds);
  seeds_report report;
  ::testing::internal::CaptureStderr();
  report.outcome = sim::for_seeds(options, [&](std::uint64_t number) {
    report.seeds.push_back(number);
    return number != fails;
  });
  report.said = ::testing::internal::GetCapturedStderr();
  return report;
}

using seed_list = std::vector<std::uint64_t>;

HEDDLE_TEST(seeds, "the seeds are those of the test, if the environment names none") {
  const seeds_report got = seeds_with(nullptr, nullptr, {.first = 5, .count = 3});
  EXPECT_EQ(got.seeds, (seed_list{5, 6, 7}));
  EXPECT_TRUE(got.outcome);
  EXPECT_EQ(got.said, "");
  const seeds_report none = seeds_with(nullptr, nullptr, {.count = 0});
  EXPECT_FALSE(none.outcome) << "a test that runs nothing has shown nothing";
}

HEDDLE_TEST(seeds, "the first failing seed ends the run and is named with its command") {
  const seeds_report got = seeds_with(nullptr, nullptr, {.count = 9, .command = "a_test -x"}, 4);
  EXPECT_EQ(got.seeds, (seed_list{1, 2, 3, 4}));
  EXPECT_EQ(got.outcome.failed, 4U);
  EXPECT_FALSE(got.outcome);
  EXPECT_EQ(got.said, "heddle: seed 4 failed; again: HEDDLE_SEED=4 a_test -x\n");
}

HEDDLE_TEST(seeds, "a test without a command is named as it was started") {
  const seeds_report got = seeds_with(nullptr, nullptr, {.count = 1}, 1);
  EXPECT_NE(got.said.find("HEDDLE_SEED=1 "), std::string::npos) << got.said;
  EXPECT_NE(got.said.find("sim_test"), std::string::npos) << got.said;
}

HEDDLE_TEST(seeds, "HEDDLE_SEED chooses one seed or a range") {
  EXPECT_EQ(seeds_with("7", nullptr, {}).seeds, (seed_list{7}));
  EXPECT_EQ(seeds_with("7-9", nullptr, {}).seeds, (seed_list{7, 8, 9}));
  EXPECT_EQ(seeds_with("", nullptr, {.count = 2}).seeds, (seed_list{1, 2}));
  for (const char* const wrong : {"x", "7-", "7-3", "7-9x", "-1", "7 9", "99999999999999999999"}) {
    const seeds_report got = seeds_with(wrong, nullptr, {});
    EXPECT_TRUE(got.seeds.empty()) << wrong;
    EXPECT_FALSE(got.outcome) << wrong;
    EXPECT_NE(got.said.find(std::string("HEDDLE_SEED=") + wrong + " is no seed"), std::string::npos)
        << got.said;
  }
}

HEDDLE_TEST(seeds, "HEDDLE_HUNT_S goes on until the time has passed or a seed fails") {
  const seeds_report timed = seeds_with("41", "0.01", {.count = 1});
  EXPECT_GT(timed.seeds.size(), 10U);
  EXPECT_EQ(timed.seeds.front(), 41U);
  EXPECT_NE(timed.said.find("heddle: hunted " + std::to_string(timed.seeds.size()) +
                            " seeds from 41 on in 0.0 s\n"),
            std::string::npos)
      << timed.said;
  const seeds_report found = seeds_with("41", "600", {}, 44);
  EXPECT_EQ(found.seeds, (seed_list{41, 42, 43, 44}));
  const std::uint64_t drawn = seeds_with(nullptr, "0.001", {}).seeds.front();
  EXPECT_NE(drawn, seeds_with(nullptr, "0.001", {}).seeds.front()) << "one in 2^32";
  for (const char* const wrong : {"x", "-1", "0", "3s"}) {
    const seeds_report got = seeds_with(nullptr, wrong, {});
    EXPECT_TRUE(got.seeds.empty()) << wrong;
    EXPECT_NE(got.said.find("is no number of seconds"), std::string::npos) << got.said;
  }
}

HEDDLE_TEST(seeds, "a seed that throws is named, and the exception goes on") {
  ::testing::internal::CaptureStderr();
  EXPECT_THROW(sim::for_seeds({.count = 3, .command = "a_test"},
                              [](std::uint64_t) -> bool { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "heddle: seed 1 failed; again: HEDDLE_SEED=1 a_test\n");
}

HEDDLE_TEST(seeds, "HEDDLE_MARKS=1 has the marks that these seeds reached printed") {
  const environment free_seed("HEDDLE_SEED", nullptr), no_time("HEDDLE_HUNT_S", nullptr);
  const auto said = [](const char* wanted) {
    const environment marks("HEDDLE_MARKS", wanted);
    ::testing::internal::CaptureStderr();
    sim::for_seeds({.count = 3}, [](std::uint64_t seed) {
      if (seed != 2) HEDDLE_SOMETIMES("a seed of this test is odd");
      return true;
    });
    return ::testing::internal::GetCapturedStderr();
  };
  for (const char* twice : {"1", "1"}) {
    const std::string text = said(twice);
    EXPECT_TRUE(text.contains("heddle: mark 2 ")) << text;
    EXPECT_TRUE(text.contains(" a seed of this test is odd\n")) << text;
  }
  for (const char* other : {static_cast<const char*>(nullptr), "0", "yes"})
    EXPECT_EQ(said(other), "");
}

HEDDLE_TEST(seeds, "the seed that runs is in the file of HEDDLE_HUNT_AT") {
  const std::string path = ::testing::TempDir() + "heddle_seeds_at";
  const environment at("HEDDLE_HUNT_AT", path.c_str());
  const environment free_seed("HEDDLE_SEED", nullptr);
  const environment no_time("HEDDLE_HUNT_S", nullptr);
  const auto written = [&] {
    std::ifstream file(path, std::ios::binary);
    std::uint64_t seed = 0;
    file.read(reinterpret_cast<char*>(&seed), sizeof seed);
    return seed;
  };
  sim::for_seeds({.first = 30, .count = 3}, [&](std::uint64_t seed) {
    EXPECT_EQ(written(), seed);
    return true;
  });
  EXPECT_EQ(written(), 32U);
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace heddle::test
