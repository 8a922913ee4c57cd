// SPDX-License-Identifier: MIT
// Client, TLS, HTTP/2, reverse proxy and two servers in one simulated world with faults: an answer
// is right, or there is an error; nothing hangs, and no connection or block is left over. Each seed
// is another run.
#include "proxy/harness.hh"
#include "support/seeds.hh"

#if HEDDLE_WITH_TLS

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

std::string whole_text(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + (i * 11 + i / 241) % 26);
  return text;
}

task<http::response> whole_answer(http::request& r) {
  if (r.path() == "/echo") co_return http::response(200).text(co_await r.text());
  http::body_writer out = co_await r.start(http::response(200));
  for (int i = 0; i < 10; ++i) co_await out.write(whole_text(4000));
  co_return out.done();
}

/// A request that ends with this body, an error, or an answer that says that a server had trouble.
task<int> whole_request(http::client& web, http::outgoing what, std::string expected) {
  try {
    const http::fetched got = co_await web.send(std::move(what));
    if (got.status() / 100 == 5) co_return 0;
    EXPECT_EQ(got.status(), 200);
    EXPECT_TRUE(got.body == expected) << got.body.size() << " bytes of " << expected.size();
    co_return 1;
  } catch (const std::system_error& e) {
    EXPECT_NE(e.code(), std::errc::bad_message) << e.what();
    co_return 0;
  }
}

task<> whole_visitor(http::client& web, std::string site, int& right) {
  std::string made;
  for (int i = 0; i < 10; ++i) made += whole_text(4000);
  for (int round = 0; round < 2; ++round) {
    right += co_await whole_request(web, http::outgoing("GET", site + "/made"), made);
    http::outgoing small("POST", site + "/echo");
    small.body("text/plain", whole_text(300));
    right += co_await whole_request(web, std::move(small), whole_text(300));
    http::outgoing large("PUT", site + "/echo");
    large.body("text/plain", whole_text(90'000));
    right += co_await whole_request(web, std::move(large), whole_text(90'000));
  }
}
constexpr int whole_requests = 6;

http::client_options whole_client(std::vector<std::string> protocols) {
  http::client_options options;
  const tls::client_context trusts(
      {.authorities = tls_files::get().authority(), .alpn = std::move(protocols)});
  options.secure = [trusts](stream over, std::string host) {
    return tls::connect(std::move(over), std::move(host), trusts);
  };
  return options;
}

tls::server_context whole_site(std::vector<std::string> protocols, bool own_records) {
  return tls::server_context({.certificates = {tls_files::get().certificate("site")},
                              .alpn = std::move(protocols),
                              .own_records = own_records});
}

/// Two clients, the proxy over TLS, and a server behind it over TCP and one over TLS.
task<int> whole_world(bool own_records) {
  int right = 0;
  const std::vector<std::string> both{"h2", "http/1.1"}, old{"http/1.1"};
  tcp_listener plain_door = tcp_listener::listen(address::loopback(0));
  tcp_listener secure_door = tcp_listener::listen(address::loopback(0));
  tcp_listener front_door = tcp_listener::listen(address::loopback(0));
  const std::string site = "https://" + front_door.local().to_string();
  http::proxy_options options;
  options.upstreams = {url_of(plain_door.local(), ""),
                       "https://" + secure_door.local().to_string()};
  options.secure_layer = whole_client(old).secure;
  const tls::server_context front_site = whole_site(both, own_records);
  const tls::server_context back_site = whole_site(old, !own_records);
  http::server plain(whole_answer), secure(whole_answer);
  http::server front(http::reverse_proxy(std::move(options)));
  scope servers;
  servers.spawn(plain.serve(std::move(plain_door)));
  servers.spawn(secure.serve(tls::listen(std::move(secure_door), back_site)));
  servers.spawn(front.serve(tls::listen(std::move(front_door), front_site)));
  {
    http::client new_web(whole_client(both)), old_web(whole_client(old));
    scope visitors;
    visitors.spawn(whole_visitor(new_web, site, right));
    visitors.spawn(whole_visitor(new_web, site, right));
    visitors.spawn(whole_visitor(old_web, site, right));
    co_await visitors.join();
  }
  for (http::server* each : {&front, &secure, &plain}) {
    each->stop();
    each->stop();
  }
  co_await servers.settled();
  servers.rethrow_failure();
  co_return right;
}

/// The number of right answers.
int whole_run(std::uint64_t seed, sim_rates faults) {
  auto made = std::make_unique<sim_driver>(sim_options{.seed = seed,
                                                       .link = {.latency = 20us, .jitter = 100us},
                                                       .slow_links = 0.2,
                                                       .faults = faults});
  sim_driver& world = *made;
  int right = 0;
  {
    runtime rt(std::move(made), {});
    right = rt.run(whole_world(seed % 2 == 0));
    EXPECT_EQ(rt.drain(), 0U);
    EXPECT_EQ(world.open_descriptors(), 0U);
    EXPECT_EQ(world.blocks_out(), 0U);
  }
  return right;
}

HEDDLE_TEST(whole, "without faults every answer that came through the proxy is right") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    EXPECT_EQ(whole_run(seed, {}), 3 * whole_requests) << "seed " << seed;
}

HEDDLE_TEST(whole, "with faults an answer through the proxy is right, or there is an error") {
  std::uint64_t right = 0;
  const auto all = for_seeds(30, [&](std::uint64_t seed) {
    right += static_cast<std::uint64_t>(whole_run(
        seed, {.short_transfer = 0.3, .interrupted = 0.1, .reset = 0.002, .delayed = 0.1}));
  });
  if (!judges_totals(all, 10)) return;
  EXPECT_GT(right, all.ran * whole_requests / 2);
  EXPECT_LT(right, all.ran * whole_requests * 3);
}

}  // namespace
}  // namespace heddle::test

#endif
