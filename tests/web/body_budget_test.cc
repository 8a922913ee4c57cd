// SPDX-License-Identifier: MIT
// How long a client may send nothing of a body.
#include "web/body_budget.hh"

#include "support/test.hh"

namespace heddle::http {
namespace {

using namespace std::chrono_literals;

HEDDLE_TEST(body_budget, "a rate of 0 lets a body be however slow") {
  server_options options;
  options.body_timeout = 30s;
  for (const std::uint32_t rate : {240u, 1u, 0u}) {
    options.body_bytes_per_second_min = rate;
    body_budget budget;
    budget.begin(options, true);
    EXPECT_EQ(budget.patience(options), 30s);
    budget.read = 480;
    budget.waited = 1h;
    const nanoseconds left = budget.patience(options);
    if (rate == 0) EXPECT_EQ(left, 30s);
    if (rate != 0) EXPECT_EQ(left, 30s + nanoseconds(480s) / rate - 1h);
  }
}

}  // namespace
}  // namespace heddle::http
