// SPDX-License-Identifier: MIT
// Measuring a plan: a script stands for the merged program, and works longer or shorter by the
// topics that HEDDLE_BUS_GENERIC switches off.
#include "heddle/optimizer/measure.hh"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "heddle/base/error.hh"
#include "support/test.hh"

namespace {

using namespace heddle;

/// Two topics that do not raise each other, and so are two chains.
profile_data two_topics() {
  profile_data p;
  p.compiler = "clang 19";
  for (std::uint32_t i = 0; i != 2; ++i) {
    p.topics.push_back({0x11 * (i + 1), 100, 0, false, i == 0 ? "app::good" : "app::bad", {}});
    p.handlers.push_back({0xa0 + i, 0, 100, 0, "&app::f"});
    p.topics[i].sequences = {{100, {i}}};
  }
  return p;
}

/// A program that turns `turns` in a loop, which `cases` may change.
class script {
 public:
  explicit script(const std::string& cases)
      : path((std::filesystem::temp_directory_path() / "heddle_measure_XXXXXX").string()) {
    const int fd = ::mkstemp(path.data());
    ::close(fd);
    std::ofstream(path) << "#!/bin/sh\nturns=40000\ncase \"$HEDDLE_BUS_GENERIC\" in\n"
                        << cases << "\nesac\nwhile [ $turns -gt 0 ]; do turns=$((turns-1)); done\n";
    ::chmod(path.c_str(), 0700);
  }
  script(const script&) = delete;
  script& operator=(const script&) = delete;
  ~script() { std::filesystem::remove(path); }

  std::string path;
};

HEDDLE_TEST(measure, "a chain that is slower merged is found, and one that gains is kept") {
  const script program(
      "all) turns=60000;; *0000000000000011*) turns=80000;; *0000000000000022*) turns=20000;;");
  const profile_data profile = two_topics();
  const measured_plan m =
      measure_plan(make_plan(profile), profile, {.program = program.path, .rounds = 5});
  ASSERT_EQ(m.chains.size(), 2u);
  EXPECT_FALSE(m.chains[0].slower);
  EXPECT_GT(m.chains[0].gain_ns, 0);
  EXPECT_TRUE(m.chains[1].slower) << m.chains[1].gain_ns;
  EXPECT_EQ(m.chains[1].lost, 5u);
  EXPECT_LT(m.merged_ns, m.original_ns);

  const std::vector<left_out_topic> left_out = parse_slower(slower_text(m, profile));
  ASSERT_EQ(left_out.size(), 1u);
  EXPECT_EQ(left_out[0].hash, 0x22u);
  EXPECT_EQ(left_out[0].reason.substr(0, 10), "slower by ");
  const plan next = make_plan(profile, {.left_out = left_out, .compiler = {}});
  ASSERT_EQ(next.topics.size(), 1u);
  EXPECT_EQ(next.topics[0].topic, 0u);
}

HEDDLE_TEST(measure, "four rounds are too few to call a chain slower") {
  const script program("*0000000000000022*) turns=20000;;");
  const profile_data profile = two_topics();
  const measured_plan m =
      measure_plan(make_plan(profile), profile, {.program = program.path, .rounds = 4});
  EXPECT_LT(m.chains.at(1).gain_ns, 0);
  EXPECT_FALSE(m.chains[1].slower);
}

HEDDLE_TEST(measure, "the original is a program of its own, if there is one") {
  const script program("all) exit 3;;");  // nobody asks it
  const script original("'') turns=100000;;");
  const profile_data profile = two_topics();
  const measured_plan m =
      measure_plan(make_plan(profile), profile,
                   {.program = program.path, .original = original.path, .rounds = 1});
  EXPECT_GT(m.original_ns, 1.3 * m.merged_ns);
}

HEDDLE_TEST(measure, "a run that fails is an error that names the program and the way out") {
  const script program("*) exit 3;;");
  const profile_data profile = two_topics();
  const auto said = [&](const std::string& path) -> std::string {
    try {
      static_cast<void>(measure_plan(make_plan(profile), profile, {.program = path, .rounds = 1}));
    } catch (const failure& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_NE(said(program.path).find(program.path + ": the run to measure ended with status 3"),
            std::string::npos)
      << said(program.path);
  EXPECT_NE(said("/nowhere/x").find("/nowhere/x: cannot be started"), std::string::npos);
}

HEDDLE_TEST(measure, "a damaged file of slower topics is an error with its line") {
  EXPECT_TRUE(parse_slower("").empty());
  for (const char* const bad : {"0011 no tabs\n", "xyz\ta\tb\n", "11\tonly one\n", "\ta\tb\n"}) {
    try {
      static_cast<void>(parse_slower(std::string("0000000000000022\ta\tb\n") + bad));
      ADD_FAILURE() << bad;
    } catch (const failure& e) {
      EXPECT_NE(std::string(e.what()).find("line 2: "), std::string::npos) << e.what();
    }
  }
}

}  // namespace
