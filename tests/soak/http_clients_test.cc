// SPDX-License-Identifier: MIT
// The agreement of tests/http/agreement with clients that take seconds to build or to start.
#include "http/agreement/server.hh"

using heddle::test::agree;

HEDDLE_TEST(agreement, "Go's client sees every answer as the table has it") { agree("go", "go"); }
HEDDLE_TEST(agreement, "Chromium sees every answer as the table has it") {
  agree("chromium", "chromium");
}
