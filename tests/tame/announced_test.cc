// SPDX-License-Identifier: MIT
// The stages of what a parser of Tame is inside of, and the moves between them.
#include "tame/announced.hh"

#include "support/expect_moves.hh"
#include "support/test.hh"

using namespace heddle::tame;
using heddle::test::expect_moves;

namespace {

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
