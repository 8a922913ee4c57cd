// SPDX-License-Identifier: MIT
// The stages of what a parser of Tame is inside of, and the moves between them.
#include "tame/announced.hh"

#include <array>

#include "support/test.hh"

using namespace heddle::tame;

namespace {

/// The legal moves: a row for each stage that they begin at, a column for each that they lead to.
template <class Stage, std::size_t Size>
void expect_moves(const std::array<const char*, Size>& rows) {
  for (std::size_t from = 0; from < Size; ++from)
    for (std::size_t to = 0; to < Size; ++to)
      EXPECT_EQ(is_legal(static_cast<Stage>(from), static_cast<Stage>(to)), rows[from][to] == 'x')
          << from << " to " << to;
}

HEDDLE_TEST(announced, "a head goes forward, stage by stage") {
  expect_moves<head_stage, 3>({".x.", "..x", "..."});
}

HEDDLE_TEST(announced, "a lambda goes forward, with parameters or without, and begins again") {
  expect_moves<lambda_stage, 4>({"xx..", "xxxx", "xx.x", "xx.."});
}

HEDDLE_TEST(announced, "a class has bases only behind its name") {
  expect_moves<class_stage, 3>({"xx.", "xxx", "xx."});
}

}  // namespace
