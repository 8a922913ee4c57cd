// SPDX-License-Identifier: MIT
// A client that is at hand everywhere sees the server as the table has it; tests/soak has those
// that take seconds: curl, wget, Go's, Chromium.
#include "web/agreement/server.hh"

using heddle::test::agree;

HEDDLE_TEST(agreement, "Python's http.client sees every answer as the table has it") {
  HEDDLE_NEEDS_TCP();
  agree("python", "python3");
}
