// SPDX-License-Identifier: MIT
// WebSockets between our client, or one that writes frames by hand, and our server: over HTTP/1.1
// and as streams of HTTP/2 (RFC 8441), through the proxy, and over TLS. Messages arrive whole, in
// order and without a gap, and behind an orderly close none is missing.
#include "roles/world.hh"

namespace heddle::test {
namespace {

void talks(std::uint64_t seeds, roles::cast parties, bool varied = false) {
  roles::totals sum;
  parties.talks = true;
  const auto all = for_seeds(seeds, [&](std::uint64_t seed) {
    roles::cast now = parties;
    if (varied) {
      now.http2 = (seed & 1) != 0;
      now.upstream_http2 = (seed & 2) != 0;
    }
    roles::run_seed(seed, now, sum);
  });
  if (judges_totals(all, 100)) {
    EXPECT_GT(sum.messages, all.ran * 4);
  }
}

HEDDLE_TEST(websocket_roles, "over HTTP/1.1 messages arrive whole and in order") { talks(100, {}); }
HEDDLE_TEST(websocket_roles, "over HTTP/2 messages arrive whole and in order") {
  talks(100, {.http2 = true});
}
HEDDLE_TEST(websocket_roles, "over streams that split bytes anew messages arrive whole") {
  talks(50, {.below = roles::layer::resplit}, true);
}
HEDDLE_TEST(websocket_roles, "through a proxy messages arrive whole and in order") {
  talks(100, {.proxied = true}, true);
}
#if HEDDLE_WITH_TLS
HEDDLE_TEST(websocket_roles, "over TLS messages arrive whole and in order") {
  talks(40, {.below = roles::layer::tls_own_records}, true);
}
#endif

}  // namespace
}  // namespace heddle::test
