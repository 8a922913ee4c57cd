// SPDX-License-Identifier: MIT
// A client that is at hand everywhere sees the server as the table has it; tests/soak has those
// that take seconds: curl, wget, Go's, Chromium.
#include "http/agreement/server.hh"

using heddle::test::agree;

HEDDLE_TEST(agreement, "Python's http.client sees every answer as the table has it") {
  agree("python", "python3");
}
