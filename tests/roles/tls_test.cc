// SPDX-License-Identifier: MIT
// The scripts of http_test.cc and proxy_test.cc over TLS, with records of OpenSSL and of our own.
// OpenSSL draws its keys from the kernel, so these runs are checked, and not compared with a second
// run.
#include "roles/world.hh"

#if HEDDLE_WITH_TLS

namespace heddle::test {
namespace {

using roles::layer;

void secured(std::uint64_t seeds, layer below) {
  roles::totals sum;
  const auto body = [&](std::uint64_t seed) {
    roles::run_seed(seed, {.http2 = seed % 2 == 0, .below = below}, sum);
  };
  roles::expect_enough(for_seeds(seeds, body), sum);
}

HEDDLE_TEST(tls_roles, "over OpenSSL's records every answer is right, or its client is told") {
  secured(40, layer::tls);
}
HEDDLE_TEST(tls_roles, "over our own records every answer is right, or its client is told") {
  secured(40, layer::tls_own_records);
}
HEDDLE_TEST(tls_roles, "through a proxy with TLS on both sides every answer is right") {
  roles::totals sum;
  const auto body = [&](std::uint64_t seed) {
    const bool own = (seed & 4) != 0;
    roles::run_seed(seed,
                    {.http2 = (seed & 1) != 0,
                     .below = own ? layer::tls_own_records : layer::tls,
                     .proxied = true,
                     .upstream_http2 = (seed & 2) != 0,
                     .upstream = own ? layer::tls : layer::tls_own_records},
                    sum);
  };
  for_seeds(15, body);
}

}  // namespace
}  // namespace heddle::test

#endif
