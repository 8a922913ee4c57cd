// SPDX-License-Identifier: MIT
// The database at its limits: columns, bytes, connections, settings; and statements and messages
// that it refuses without a loss.
#include "pg_client.hh"

namespace heddle::test {
namespace {

HEDDLE_TEST(fakes_limits, "a negative delay is refused") {
  postgres_server server;
  EXPECT_THROW(server.set_faults({.delay = -1ns}), failure);
}

}  // namespace
}  // namespace heddle::test
