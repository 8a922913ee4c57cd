// SPDX-License-Identifier: MIT
// Marks: known before they are reached, and counted.
#include "heddle/base/sometimes.hh"

#include <algorithm>

#include "support/test.hh"

namespace heddle::test {
namespace {

void reach(int value) {
  if (value < 0)
    HEDDLE_SOMETIMES("a value of the tests is negative");
  else if (value > 100)
    HEDDLE_SOMETIMES("a value of the tests is above 100");
}

std::uint64_t times(std::string_view text) {
  std::uint64_t sum = 0;
  for (const mark_count& m : marks())
    if (m.text == text) sum += m.reached;
  return sum;
}

HEDDLE_TEST(sometimes, "marks are known before they are reached, and counted") {
  const auto known = [](std::string_view text) {
    return std::ranges::count_if(marks(), [&](const mark_count& m) { return m.text == text; });
  };
  EXPECT_EQ(known("a value of the tests is negative"), 1);
  EXPECT_EQ(known("a value of the tests is above 100"), 1);
  EXPECT_EQ(times("a value of the tests is negative"), 0U);
  for (const int value : {-1, 7, -3}) reach(value);
  EXPECT_EQ(times("a value of the tests is negative"), 2U);
  EXPECT_EQ(times("a value of the tests is above 100"), 0U);
  const std::vector<mark_count> all = marks();
  const auto here = std::ranges::find_if(
      all, [](const mark_count& m) { return m.file.ends_with("tests/base/sometimes_test.cc"); });
  ASSERT_NE(here, all.end());
  EXPECT_LT(here->line, (here + 1)->line);
}

}  // namespace
}  // namespace heddle::test
