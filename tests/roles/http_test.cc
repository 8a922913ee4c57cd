// SPDX-License-Identifier: MIT
// Our client, and one that writes by hand, against our server, over HTTP/1.1 and HTTP/2: random
// scripts in a simulated world with short transfers, resets, delays, slow links, and servers that
// end. Every answer is right and whole, or its client is told of an error.
#include "roles/world.hh"
#include "support/seeds.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

roles::run_plan http_plan(std::uint64_t seed, roles::cast parties) {
  roles::draws d(seed);
  roles::kinds on(d);
  roles::script_options o;
  o.by_hand = true;
  return roles::run_plan(seed, parties, o, d, on);
}

void http_run(std::uint64_t seed, roles::cast parties, roles::totals& sum) {
  const roles::run_plan plan = http_plan(seed, parties);
  roles::run_simulated(plan, sum);
  if (seed % 20 != 0) return;
  const std::uint64_t trace = sum.trace;
  roles::totals again;
  roles::run_simulated(plan, again);
  EXPECT_EQ(again.trace, trace) << "the same seed gave another run";
}

void expect_enough(const sim::seeds_outcome& ran, const roles::totals& sum) {
  if (ran.ran < 100) return;
  EXPECT_GT(sum.right, ran.ran * 2);
  EXPECT_GT(sum.told, ran.ran / 10);
  EXPECT_GT(sum.chosen, ran.ran / 10);
  EXPECT_GT(sum.calm, ran.ran / 20);
}

HEDDLE_TEST(http_roles, "over HTTP/1.1 every answer is right, or its client is told") {
  roles::totals sum;
  expect_enough(for_seeds(300, [&](std::uint64_t seed) { http_run(seed, {}, sum); }), sum);
}

HEDDLE_TEST(http_roles, "over HTTP/2 every answer is right, or its client is told") {
  roles::totals sum;
  const roles::cast parties{.http2 = true};
  expect_enough(for_seeds(300, [&](std::uint64_t seed) { http_run(seed, parties, sum); }), sum);
}

HEDDLE_TEST(http_roles, "over streams that split bytes anew every answer is right") {
  roles::totals sum;
  expect_enough(for_seeds(100,
                          [&](std::uint64_t seed) {
                            http_run(seed, {.http2 = seed % 2 == 0, .below = roles::layer::resplit},
                                     sum);
                          }),
                sum);
}

}  // namespace
}  // namespace heddle::test
