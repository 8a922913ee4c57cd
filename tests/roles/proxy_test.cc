// SPDX-License-Identifier: MIT
// Clients, our reverse proxy and two of our servers in one simulated world, in the four pairs of
// HTTP versions: random scripts with upstreams that drain, end and come back, and a proxy that does
// so too. Every answer is right and whole, or its client is told of an error, and no request that
// is not idempotent reaches a handler twice.
#include "roles/world.hh"

namespace heddle::test {
namespace {

void proxied(const roles::cast& parties) {
  roles::totals sum;
  roles::expect_enough(
      for_seeds(100, [&](std::uint64_t seed) { roles::run_seed(seed, parties, sum); }), sum);
}

HEDDLE_TEST(proxy_roles, "HTTP/1.1 to HTTP/1.1: every answer is right, or its client is told") {
  proxied({.proxied = true});
}
HEDDLE_TEST(proxy_roles, "HTTP/1.1 to HTTP/2: every answer is right, or its client is told") {
  proxied({.proxied = true, .upstream_http2 = true});
}
HEDDLE_TEST(proxy_roles, "HTTP/2 to HTTP/1.1: every answer is right, or its client is told") {
  proxied({.http2 = true, .proxied = true});
}
HEDDLE_TEST(proxy_roles, "HTTP/2 to HTTP/2: every answer is right, or its client is told") {
  proxied({.http2 = true, .proxied = true, .upstream_http2 = true});
}

}  // namespace
}  // namespace heddle::test
