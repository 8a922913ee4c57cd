// SPDX-License-Identifier: MIT
// The states of a connection of a stack.
#include "net/connection.hh"
#include "support/expect_moves.hh"
#include "support/test.hh"

using namespace heddle;

HEDDLE_TEST(net_connection, "a connection fails while it opens, or is open and ends") {
  test::expect_moves<net::detail::connection_state, 5>(
      {".x...", "..xx.", "....x", ".....", "....."});
}
