// SPDX-License-Identifier: MIT
// One script, several ways to carry it: HTTP/1.1 and HTTP/2, streams as they are and split anew,
// straight and through the proxy. In a calm world each exchange has the same outcome everywhere:
// how it ended, the status, and the bytes of the body.
#include "roles/world.hh"

namespace heddle::test {
namespace {

std::string outcome_of(const roles::exchange_plan& p, const roles::seen& s) {
  if (s.how == roles::ending::right)
    return "right " + std::to_string(s.status) + " " + std::to_string(s.bytes);
  // A client that ends an exchange by its own limit may be sooner or later than the answer.
  if (p.ended_by_client()) return "ended by the client";
  // An answer that is cut: the client is told, or the proxy says so in the handler's place.
  return "told";
}

std::string outcomes(std::uint64_t seed, const roles::cast& parties) {
  roles::draws d(seed);
  roles::kinds on(d);
  for (const roles::step s :
       {roles::step::resets, roles::step::restarts, roles::step::short_limits,
        roles::step::given_up, roles::step::dropped_answers, roles::step::failed_uploads})
    on.leave_out(s);
  roles::script_options o;
  o.by_hand = false;
  roles::run_plan plan(seed, parties, o, d, on);
  plan.server.idle_timeout = std::chrono::hours(1);
  plan.calm = true;
  roles::totals sum;
  std::string all;
  roles::run_simulated(plan, sum, [&](const roles::ledger& book) {
    for (const roles::visit_plan& v : plan.plays)
      for (const roles::exchange_plan& p : v.exchanges)
        all += roles::text_of(p) + " -> " + outcome_of(p, book.of(p)) + "\n";
  });
  return all;
}

HEDDLE_TEST(agreement_roles, "a script has the same outcome however it is carried") {
  using roles::layer;
  const roles::cast ways[] = {
      {.http2 = true},
      {.below = layer::resplit},
      {.http2 = true, .below = layer::resplit},
      {.proxied = true},
      {.http2 = true, .proxied = true, .upstream_http2 = true},
  };
  for_seeds(25, [&](std::uint64_t seed) {
    const std::string by_http1 = outcomes(seed, {});
    for (const roles::cast& way : ways)
      EXPECT_EQ(outcomes(seed, way), by_http1)
          << (way.http2 ? "HTTP/2" : "HTTP/1.1")
          << (way.below == layer::resplit ? ", split anew" : "")
          << (way.proxied ? ", through the proxy" : "");
  });
}

}  // namespace
}  // namespace heddle::test
