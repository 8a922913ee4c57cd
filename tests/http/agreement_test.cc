// SPDX-License-Identifier: MIT
// Clients that are at hand everywhere see the server alike; tests/soak has those that take longer.
#include "http/agreement/server.hh"

using heddle::test::agree;

HEDDLE_TEST(agreement, "curl sees every answer as the table has it") { agree("curl", "curl"); }
HEDDLE_TEST(agreement, "wget sees every answer as the table has it") { agree("wget", "wget"); }
HEDDLE_TEST(agreement, "Python's http.client sees every answer as the table has it") {
  agree("python", "python3");
}
