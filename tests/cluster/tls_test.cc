// SPDX-License-Identifier: MIT
// heddle serve over TLS as a node: its certificate is on its disk, and one seed is one run, byte by
// byte, because OpenSSL draws from the world.
#if HEDDLE_WITH_TLS

#include <ctime>
#include <map>
#include <thread>

#include "cluster/services.hh"
#include "heddle/tls/authority.hh"
#include "heddle/tls/stream.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

task<int> ask(std::string url) {
  tls::client_options options;  // with the authorities of the node's system
  options.alpn = {"h2", "http/1.1"};
  const tls::client_context trust(std::move(options));
  co_await sleep_for(1s);
  for (int i = 0; i != 3; ++i) {
    http::client_options asking;
    asking.secure = [trust](stream over, std::string host) {
      return tls::connect(std::move(over), std::move(host), trust);
    };
    http::client web(std::move(asking));
    EXPECT_EQ(co_await get(web, url), "secret");
  }
  co_return 0;
}

/// The hash of a run with this seed.
std::uint64_t run_of(std::uint64_t seed, const tls::pem_pair& site, const std::string& authority) {
  std::string said;
  sim::cluster all({.world = {.seed = seed}});
  sim::node& web = all.add(
      service_node({.name = "web",
                    .words = {"/www", "--public", "-p", "443", "--tls", "/site.pem", "/site.key"}},
                   said));
  web.write_file("/www/file", "secret");
  web.write_file("/site.pem", site.certificate);
  web.write_file("/site.key", site.key);
  sim::node& user = all.add(
      user_node([url = "https://" + web.address() + "/file"](sim::node&) { return ask(url); }));
  user.write_file("/etc/ssl/certs/ca-certificates.crt", authority);
  const sim::outcome end = all.run(1min);
  EXPECT_TRUE(end) << end.why << said;
  return all.trace_hash();
}

HEDDLE_TEST(services, "a node serves over TLS, and one seed is one run") {
  const tls::pem_pair ca = tls::make_authority("Heddle test");
  const tls::pem_pair site = tls::issue(ca, {.names = {"10.0.0.1"}});
  std::map<std::uint64_t, std::uint64_t> hashes;
  for (std::uint64_t seed = 1; seed != 6; ++seed) hashes[seed] = run_of(seed, site, ca.certificate);
  // The second runs come in another second of the machine's clock, which sessions must not show.
  const std::time_t before = std::time(nullptr);
  while (std::time(nullptr) == before) std::this_thread::sleep_for(10ms);
  for (const auto& [seed, hash] : hashes)
    EXPECT_EQ(run_of(seed, site, ca.certificate), hash) << seed;
  EXPECT_NE(run_of(1, site, ca.certificate), run_of(2, site, ca.certificate));
}

}  // namespace
}  // namespace heddle::test

#endif
