// SPDX-License-Identifier: MIT
// The states of a simulated stream socket and of its input.
#include "sim/stream.hh"
#include "support/expect_moves.hh"
#include "support/test.hh"

using namespace heddle;

HEDDLE_TEST(sim_stream, "a socket listens, or connects and is broken, and never goes back") {
  test::expect_moves<sim::state, 5>({".xxx.", ".....", "x..x.", "....x", "....."});
}

HEDDLE_TEST(sim_stream, "the input is ended by the peer and shut by this side, each once") {
  test::expect_moves<sim::input, 4>({".xx.", "...x", "...x", "...."});
}
