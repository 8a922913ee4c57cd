// SPDX-License-Identifier: MIT
// A merged program does what the generic one does: the random programs of tests/bus/differential/
// leave the same traces however they are built. Also what becomes of a plan whose handlers clash.
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>

#include "support/test.hh"
#include "support/tree.hh"

namespace {

const std::string programs = heddle::test::build_dir() + "/tests/bus_differential_";

std::string output_of(const std::string& command) {
  std::string out;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return "cannot run " + command;
  std::array<char, 4096> block{};
  while (const std::size_t n = std::fread(block.data(), 1, block.size(), pipe))
    out.append(block.data(), n);
  if (::pclose(pipe) != 0) out += "failed: " + command;
  return out;
}

bool merged_programs() { return std::filesystem::exists(programs + "merged"); }

HEDDLE_TEST(optimized, "merged and generic programs leave the same traces") {
  if (!merged_programs()) GTEST_SKIP() << "built without the heddle program";
  const std::string generic = output_of(programs + "generic traces 0 200");
  EXPECT_NE(generic.find("\n199 "), generic.npos) << generic.substr(0, 200);
  EXPECT_EQ(output_of(programs + "merged traces 0 200"), generic);
  EXPECT_EQ(output_of(programs + "reversed traces 0 200"), generic);
}

HEDDLE_TEST(optimized, "topics are merged where the handlers' numbers are sound") {
  if (!merged_programs()) GTEST_SKIP() << "built without the heddle program";
  EXPECT_EQ(output_of(programs + "generic merged"), "0 0 0 0\n");
  EXPECT_EQ(output_of(programs + "merged merged"), "9 7 4 2\n");
  EXPECT_EQ(output_of(programs + "reversed merged"), "9 7 4 2\n");
}

HEDDLE_TEST(optimized, "HEDDLE_BUS_GENERIC switches topics of a merged program off") {
  if (!merged_programs()) GTEST_SKIP() << "built without the heddle program";
  EXPECT_EQ(output_of("HEDDLE_BUS_GENERIC=all " + programs + "merged merged"), "0 0 0 0\n");
  EXPECT_EQ(output_of("HEDDLE_BUS_GENERIC=1,xyz,2 " + programs + "merged merged"), "9 7 4 2\n");
  EXPECT_EQ(output_of("HEDDLE_BUS_GENERIC=all " + programs + "merged traces 0 20"),
            output_of(programs + "generic traces 0 20"));
}

HEDDLE_TEST(optimized, "a number that means two handlers is not used, whatever the linker kept") {
  if (!merged_programs()) GTEST_SKIP() << "built without the heddle program";
  const std::string trace = "0:1004,0 0:1004,1 0:1004,2 0\n";
  const std::string expected = trace + trace;
  EXPECT_EQ(output_of(programs + "generic clash"), expected);
  EXPECT_EQ(output_of(programs + "clash_first clash"), expected);
  EXPECT_EQ(output_of(programs + "clash_second clash"), expected);
}

}  // namespace
