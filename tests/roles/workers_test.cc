// SPDX-License-Identifier: MIT
// The scripts of the other files with two and four workers, over the kernel's loopback interface:
// each server, the proxy, and each visitor is in a color of its own. What one worker hides shows
// here, above all under TSan.
#include "roles/world.hh"

namespace heddle::test {
namespace {

void on_workers(std::uint64_t seed, roles::totals& sum) {
  roles::draws d(seed);
  roles::kinds on(d);
  // The kernel makes no faults of these kinds, and its clock is real.
  for (const roles::step s : {roles::step::resets, roles::step::delays, roles::step::slow_links,
                              roles::step::short_transfers, roles::step::short_limits})
    on.leave_out(s);
  roles::script_options o;
  o.pause_max = std::chrono::milliseconds(20);
  const roles::cast parties{.http2 = d.one_of(2),
                            .below = d.one_of(2) ? roles::layer::tcp : roles::layer::resplit,
                            .proxied = d.one_of(2),
                            .upstream_http2 = d.one_of(2),
                            .colors = true,
                            .talks = d.one_of(3)};
  const roles::run_plan plan(seed, parties, o, d, on);
  roles::run_threaded(plan, seed % 2 == 0 ? 2 : 4, sum);
}

HEDDLE_TEST(worker_roles, "with several workers every answer is right, or its client is told") {
  roles::totals sum;
  const auto all = for_seeds(16, [&](std::uint64_t seed) { on_workers(seed, sum); });
  if (judges_totals(all, 16)) EXPECT_GE(sum.right, all.ran);
}

}  // namespace
}  // namespace heddle::test
