// SPDX-License-Identifier: MIT
// Our client, and one that writes by hand, against our server, over HTTP/1.1 and HTTP/2: random
// scripts in a simulated world with short transfers, resets, delays, slow links, and servers that
// end. Every answer is right and whole, or its client is told of an error.
#include "roles/world.hh"
#include "support/seeds.hh"

namespace heddle::test {
namespace {

HEDDLE_TEST(http_roles, "over HTTP/1.1 every answer is right, or its client is told") {
  roles::totals sum;
  roles::expect_enough(for_seeds(200, [&](std::uint64_t seed) { roles::run_seed(seed, {}, sum); }),
                       sum);
}

HEDDLE_TEST(http_roles, "over HTTP/2 every answer is right, or its client is told") {
  roles::totals sum;
  const roles::cast parties{.http2 = true};
  roles::expect_enough(
      for_seeds(200, [&](std::uint64_t seed) { roles::run_seed(seed, parties, sum); }), sum);
}

HEDDLE_TEST(http_roles, "over streams that split bytes anew every answer is right") {
  roles::totals sum;
  roles::expect_enough(
      for_seeds(100,
                [&](std::uint64_t seed) {
                  roles::run_seed(seed, {.http2 = seed % 2 == 0, .below = roles::layer::resplit},
                                  sum);
                }),
      sum);
}

}  // namespace
}  // namespace heddle::test
