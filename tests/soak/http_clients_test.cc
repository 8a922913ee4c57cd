// SPDX-License-Identifier: MIT
// The agreement of tests/web/agreement with clients that take seconds to build, to start, or to
// ask one by one.
#include "web/agreement/server.hh"

using heddle::test::agree;

HEDDLE_TEST(agreement, "curl sees every answer as the table has it") { agree("curl", "curl"); }
HEDDLE_TEST(agreement, "wget sees every answer as the table has it") { agree("wget", "wget"); }
HEDDLE_TEST(agreement, "Go's client sees every answer as the table has it") { agree("go", "go"); }
HEDDLE_TEST(agreement, "Chromium sees every answer as the table has it") {
  agree("chromium", "chromium");
}
