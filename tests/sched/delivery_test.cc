// SPDX-License-Identifier: MIT
// The states of an operation between its driver and its color.
#include "heddle/sched/operation.hh"
#include "support/expect_moves.hh"
#include "support/test.hh"

using namespace heddle;

HEDDLE_TEST(delivery, "an operation ends where a request to cancel is not on its way") {
  test::expect_moves<delivery_state, 4>({".x..", "x.x.", ".x.x", "x..."});
}
