// SPDX-License-Identifier: MIT
// The keeper in virtual time: it renews over months, waits after failures, shares a store with
// another process, and follows a list of names that changes.
#include "heddle/acme/keeper.hh"

#include <algorithm>

#include "acme/world.hh"
#include "heddle/io/file.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;
using acme::challenge;
using acme::keeper_report;

constexpr nanoseconds day = 24h;

/// A keeper at work, and all that it said.
struct kept {
  explicit kept(acme_world& w, acme::keeper_options o = {})
      : world(w), issuer(w.options(), w.store, w.answers), keeper(issuer, w.store, logged(o)) {}

  acme::keeper_options logged(acme::keeper_options o) {
    o.log = [this](const keeper_report& r) { reports.push_back(r); };
    return o;
  }
  task<> run() {
    return keeper.run([this](std::vector<tls::pem_pair> now) {
      certificates = now;
      world.site.use(std::move(now));
    });
  }
  [[nodiscard]] std::size_t count(keeper_report::kind what) const {
    return static_cast<std::size_t>(std::ranges::count(reports, what, &keeper_report::what));
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const tls::pem_pair& c : certificates)
      for (const std::string& name : tls::names_of(c.certificate)) all.push_back(name);
    std::ranges::sort(all);
    return all;
  }

  acme_world& world;
  acme::authority issuer;
  acme::keeper keeper;
  std::vector<keeper_report> reports;
  std::vector<tls::pem_pair> certificates;
};

using names = std::vector<std::vector<std::string>>;

names one_name() { return {{"www.example.org"}}; }

/// Runs body beside the keeper, which is then cancelled.
task<> beside(kept& k, std::function<task<>(kept&)> body) {
  scope side;
  side.spawn(k.run());
  std::exception_ptr failed;
  try {
    co_await body(k);
  } catch (...) {
    failed = std::current_exception();
  }
  side.cancel();
  co_await side.settled();
  if (failed) std::rethrow_exception(failed);
}

acme::keeper_options by_http() {
  acme::keeper_options o;
  o.challenges = {challenge::http_01, challenge::tls_alpn_01};
  return o;
}

task<> renews(acme_world& w) {
  kept k(w);
  k.keeper.change(one_name());
  co_await beside(k, [](kept& now) -> task<> {
    acme_world& world = now.world;
    co_await sleep_for(1min);
    EXPECT_EQ(world.ca.issued, 1);
    EXPECT_EQ(now.names(), std::vector<std::string>{"www.example.org"});
    co_await sleep_for(58 * day);
    EXPECT_EQ(world.ca.issued, 1);
    co_await sleep_for(2 * day);  // two thirds of 90 days have passed
    EXPECT_EQ(world.ca.issued, 2);
    co_await sleep_for(60 * day);
    EXPECT_EQ(world.ca.issued, 3);
  });
  EXPECT_EQ(k.count(keeper_report::kind::failed), 0u);
  EXPECT_EQ(w.ca.wrongs, std::vector<std::string>{});
  // The next start uses what is stored, and asks for nothing.
  w.ca.requests = 0;
  kept again(w);
  again.keeper.change(one_name());
  co_await beside(again, [](kept& now) -> task<> {
    co_await sleep_for(1h);
    EXPECT_EQ(now.count(keeper_report::kind::loaded), 1u);
    EXPECT_EQ(now.names(), std::vector<std::string>{"www.example.org"});
  });
  EXPECT_EQ(w.ca.issued, 3);
  EXPECT_EQ(w.ca.orders, 3);
}

HEDDLE_TEST(acme_keeper,
            "a certificate is renewed at two thirds of its life, and used at a start") {
  in_acme_world(renews);
}

task<> follows_windows(acme_world& w) {
  w.ca.gives_windows = true;
  w.ca.window_start = w.now() + 30 * 86400;
  w.ca.window_end = w.now() + 31 * 86400;
  kept k(w);
  k.keeper.change(one_name());
  co_await beside(k, [](kept& now) -> task<> {
    acme_world& world = now.world;
    co_await sleep_for(29 * day);
    EXPECT_EQ(world.ca.issued, 1);
    EXPECT_GT(world.ca.windows_asked, 100);  // each 6 hours, as the authority says
    EXPECT_LT(world.ca.windows_asked, 130);
    co_await sleep_for(2 * day);
    // A window that is not moved on would want another renewal at once.
    world.ca.window_start = world.now() + 30 * 86400;
    world.ca.window_end = world.ca.window_start;
    EXPECT_GE(world.ca.issued, 2);
    EXPECT_FALSE(world.ca.replaced.empty());
    const int before = world.ca.issued;
    co_await sleep_for(1h);
    // The authority wants it back: it is renewed when the window is asked for next.
    world.ca.window_start = world.now() - 86400;
    world.ca.window_end = world.now() - 80000;
    co_await sleep_for(7h);
    EXPECT_GT(world.ca.issued, before);
  });
  EXPECT_EQ(w.ca.wrongs, std::vector<std::string>{});
}

HEDDLE_TEST(acme_keeper, "the authority's window decides, and a renewal names what it replaces") {
  in_acme_world(follows_windows);
}

task<> renews_before_the_end(acme_world& w) {
  w.ca.gives_windows = true;
  w.ca.window_start = w.now() + 200 * 86400;
  w.ca.window_end = w.ca.window_start;
  kept k(w);
  k.keeper.change(one_name());
  co_await beside(k, [](kept& now) -> task<> {
    co_await sleep_for(80 * day);
    EXPECT_EQ(now.world.ca.issued, 1);
    co_await sleep_for(5 * day);
    EXPECT_EQ(now.world.ca.issued, 2);
  });
}

HEDDLE_TEST(acme_keeper, "a window behind the end of a certificate does not let it end") {
  in_acme_world(renews_before_the_end);
}

task<> waits_after_failures(acme_world& w) {
  w.ca.wrong_proof = true;
  acme::keeper_options o = by_http();
  kept k(w, o);
  k.keeper.change(one_name());
  co_await beside(k, [](kept& now) -> task<> {
    acme_world& world = now.world;
    co_await sleep_for(1h);
    // 2, 4, 8, 16 and 32 minutes, each longer by up to a quarter.
    EXPECT_GE(world.ca.orders, 4);
    EXPECT_LE(world.ca.orders, 5);
    EXPECT_NE(now.reports.front().trouble.find("www.example.org"), std::string::npos);
    EXPECT_GE(now.reports.front().retry_in, 2min);
    // Both ways are tried in turn.
    EXPECT_EQ(world.ca.proofs[0], "http-01 www.example.org");
    EXPECT_EQ(world.ca.proofs[1], "tls-alpn-01 www.example.org");
    co_await sleep_for(30 * day);
    EXPECT_LE(now.reports.back().retry_in, 15h);
    EXPECT_GT(now.reports.back().retry_in, 11h);
    world.ca.wrong_proof = false;
    co_await sleep_for(1 * day);
    EXPECT_EQ(world.ca.issued, 1);
  });
}

HEDDLE_TEST(acme_keeper,
            "after a failure it waits longer each time, and tries the next challenge") {
  in_acme_world(waits_after_failures);
}

task<> obeys_limits(acme_world& w) {
  w.ca.problems[4] = "rateLimited";
  w.ca.retry_after = "86400";
  kept k(w);
  k.keeper.change(one_name());
  co_await beside(k, [](kept& now) -> task<> {
    acme_world& world = now.world;
    co_await sleep_for(23h);
    EXPECT_EQ(world.ca.requests, 4);
    EXPECT_EQ(now.reports.front().retry_in, 24h);
    co_await sleep_for(2h);
    EXPECT_EQ(world.ca.issued, 1);
  });
}

HEDDLE_TEST(acme_keeper, "Retry-After of a limit is obeyed") { in_acme_world(obeys_limits); }

task<> serves_on(acme_world& w) {
  kept k(w);
  k.keeper.change(one_name());
  co_await beside(k, [](kept& now) -> task<> {
    acme_world& world = now.world;
    co_await sleep_for(1min);
    const std::string before = now.certificates.at(0).certificate;
    world.ca.wrong_proof = true;
    co_await sleep_for(61 * day);
    EXPECT_GT(now.count(keeper_report::kind::failed), 1u);
    EXPECT_EQ(now.certificates.at(0).certificate, before);
    EXPECT_GT(now.reports.back().not_after, world.now());
    world.ca.wrong_proof = false;
    co_await sleep_for(1 * day);
    EXPECT_NE(now.certificates.at(0).certificate, before);
  });
}

HEDDLE_TEST(acme_keeper, "a renewal that fails leaves the old certificate in use") {
  in_acme_world(serves_on);
}

task<> follows_names(acme_world& w) {
  kept k(w);
  k.keeper.change(one_name());
  co_await beside(k, [](kept& now) -> task<> {
    acme_world& world = now.world;
    co_await sleep_for(1min);
    names two = one_name();
    two.push_back({"new.example.org"});
    now.keeper.change(two);
    co_await sleep_for(1min);
    EXPECT_EQ(world.ca.issued, 2);
    EXPECT_EQ(now.names(), (std::vector<std::string>{"new.example.org", "www.example.org"}));
    const names wider{{"www.example.org", "shop.example.org"}};
    now.keeper.change(wider);
    co_await sleep_for(1min);
    EXPECT_EQ(world.ca.issued, 3);
    EXPECT_EQ(now.names(), (std::vector<std::string>{"shop.example.org", "www.example.org"}));
    const names wrong{{"*.example.org"}};
    EXPECT_THROW(now.keeper.change(wrong), failure);
    co_await sleep_for(1min);
    EXPECT_EQ(world.ca.issued, 3);
    now.keeper.change({});
    co_await sleep_for(1min);
    EXPECT_TRUE(now.certificates.empty());
  });
}

HEDDLE_TEST(acme_keeper, "a changed list of names orders what is new, and drops what is gone") {
  in_acme_world(follows_names);
}

task<> tries_again(acme_world& w) {
  w.ca.wrong_proof = true;
  kept k(w);
  k.keeper.change(one_name());
  co_await beside(k, [](kept& now) -> task<> {
    acme_world& world = now.world;
    co_await sleep_for(1min);
    world.ca.wrong_proof = false;
    now.keeper.change(one_name());
    co_await sleep_for(10s);
    EXPECT_EQ(world.ca.issued, 1);
    world.ca.requests = 0;
    world.ca.problems[1] = "rateLimited";  // the next order
    world.ca.retry_after = "3600";
    const names wider{{"www.example.org", "shop.example.org"}};
    now.keeper.change(wider);
    co_await sleep_for(1min);
    now.keeper.change(wider);
    co_await sleep_for(30min);
    EXPECT_EQ(world.ca.requests, 1);
    co_await sleep_for(40min);
    EXPECT_EQ(world.ca.issued, 2);
  });
}

HEDDLE_TEST(acme_keeper, "a list given again has failed orders tried at once, but obeys a limit") {
  in_acme_world(tries_again);
}

task<> restarts(acme_world& w) {
  w.ca.wrong_proof = true;
  time_point due{};               // the second order, as the last start said
  for (int i = 0; i < 20; ++i) {  // a manager that starts it again and again
    const time_point began = clock::now();
    kept k(w);
    k.keeper.change(one_name());
    co_await beside(k, [](kept&) -> task<> { co_await sleep_for(10s); });
    const bool over = due <= began;  // it orders at once, as the first one does
    due = began + k.reports.front().retry_in;
    if (i == 0) continue;
    if (over) {
      EXPECT_EQ(w.ca.orders, 2);
      break;
    }
    EXPECT_EQ(k.count(keeper_report::kind::failed), w.ca.orders > 1 ? 2u : 1u);
    EXPECT_NE(k.reports.front().trouble.find("a restart does not change"), std::string::npos)
        << k.reports.front().trouble;
    EXPECT_GT(k.reports.front().retry_in, nanoseconds::zero());
    if (w.ca.orders > 1) break;
  }
  // 2 minutes after the first order came the second, at the twelfth start or a little later.
  EXPECT_EQ(w.ca.orders, 2);
  w.ca.wrong_proof = false;
  kept k(w);
  k.keeper.change(one_name());
  co_await beside(k, [](kept& now) -> task<> {
    co_await sleep_for(2min);
    EXPECT_EQ(now.world.ca.issued, 0);
    now.keeper.change(one_name());  // a person asks
    co_await sleep_for(10s);
    EXPECT_EQ(now.world.ca.issued, 1);
  });
  const auto record = co_await w.store->load(k.issuer.place() + "/www.example.org.failures");
  EXPECT_EQ(record->substr(0, 2), "0 ");
}

HEDDLE_TEST(acme_keeper, "a restart does not try a failed order again before its time") {
  in_acme_world(restarts);
}

task<> forgets(acme_world& w) {
  acme::authority issuer(w.options(), w.store, w.answers);
  const std::string place = issuer.place() + "/www.example.org.failures";
  const std::string far = std::to_string(w.now() + 1000 * 86400);
  for (const std::string& text : {std::string("nonsense"), std::string("1 2\n"),
                                  std::string("9 99999999999999999999 0 www.example.org\n"),
                                  "9 " + far + " 0 www.example.org",  // cut before its end
                                  "9 " + far + " 0 www.example.org,shop.example.org\n"}) {
    co_await w.store->save(place, text);
    w.ca.issued = 0;
    kept k(w);
    k.keeper.change(one_name());
    co_await beside(k, [](kept&) -> task<> { co_await sleep_for(10s); });
    EXPECT_EQ(w.ca.issued, 1) << text;
    co_await remove_file("/state/heddle/" + issuer.place() + "/www.example.org.pem");
  }
  // A clock that was far ahead makes nobody wait for longer than a day.
  co_await w.store->save(place, "9 " + far + " 0 www.example.org\n");
  w.ca.issued = 0;
  kept k(w);
  k.keeper.change(one_name());
  co_await beside(k, [](kept&) -> task<> { co_await sleep_for(25h); });
  EXPECT_EQ(w.ca.issued, 1);
}

HEDDLE_TEST(acme_keeper, "a record of failures that is damaged, foreign or absurd is left aside") {
  in_acme_world(forgets);
}

task<> shares(acme_world& w) {
  // The other process holds the claim, and saves a certificate after a while.
  acme::store_claim other = co_await w.store->claim("127.0.0.1-directory/www.example.org");
  acme::authority elsewhere(w.options(), w.store, w.answers);
  const std::string place = elsewhere.place() + "/www.example.org";
  other = co_await w.store->claim(place);
  EXPECT_TRUE(other);
  kept k(w);
  k.keeper.change(one_name());
  co_await beside(k, [&](kept& now) -> task<> {
    acme_world& world = now.world;
    co_await sleep_for(10min);
    EXPECT_EQ(world.ca.issued, 0);
    EXPECT_EQ(now.count(keeper_report::kind::failed), 0u);
    std::vector<std::string> asked{"www.example.org"};
    const tls::pem_pair made = co_await elsewhere.order(std::move(asked), challenge::tls_alpn_01);
    co_await world.store->save(place, acme::detail::joined(made));
    co_await sleep_for(1min);
    EXPECT_EQ(now.count(keeper_report::kind::loaded), 1u);
    EXPECT_EQ(world.ca.issued, 1);
  });
}

HEDDLE_TEST(acme_keeper, "of two processes with one store one orders, and the other loads") {
  in_acme_world(shares);
}

task<> saves_later(acme_world& w) {
  kept k(w);
  k.keeper.change(one_name());
  w.sim.fail_next(op_code::rename, -ENOSPC, 1);  // of the account's key
  co_await beside(k, [](kept& now) -> task<> {
    acme_world& world = now.world;
    co_await sleep_for(1min);
    EXPECT_NE(now.reports.back().trouble.find("account.pem"), std::string::npos);
    world.ca.issued = 0;
    std::vector<std::string> other{"other.example.org"};
    static_cast<void>(co_await now.issuer.order(std::move(other), challenge::tls_alpn_01));
    world.sim.fail_next(op_code::rename, -ENOSPC, 1);  // of the certificate
    co_await sleep_for(20min);
    EXPECT_EQ(now.names(), std::vector<std::string>{"www.example.org"});
    const std::string place = now.issuer.place() + "/www.example.org";
    EXPECT_TRUE((co_await world.store->load(place)).has_value());
    EXPECT_EQ(world.ca.issued, 2);
  });
  EXPECT_EQ(k.count(keeper_report::kind::failed), 2u);
  const std::string said = k.reports.back().trouble;
  EXPECT_NE(said.find("is used, but not saved"), std::string::npos) << said;
}

HEDDLE_TEST(acme_keeper, "a certificate that cannot be saved is used, and saved later") {
  in_acme_world(saves_later);
}

task<> replaces_broken(acme_world& w) {
  acme::authority issuer(w.options(), w.store, w.answers);
  co_await w.store->save(issuer.place() + "/www.example.org", "no certificate");
  kept k(w);
  k.keeper.change(one_name());
  co_await beside(k, [](kept& now) -> task<> {
    co_await sleep_for(1min);
    EXPECT_EQ(now.world.ca.issued, 1);
    EXPECT_EQ(now.count(keeper_report::kind::failed), 1u);
  });
}

HEDDLE_TEST(acme_keeper, "a stored text that is no certificate is reported and replaced") {
  in_acme_world(replaces_broken);
}

/// The chain is damaged behind its first certificate, which alone is good.
task<> replaces_damaged_chain(acme_world& w) {
  acme::authority issuer(w.options(), w.store, w.answers);
  const std::string place = issuer.place() + "/www.example.org";
  const tls::pem_pair ca = tls::make_authority("test");
  const tls::pem_pair site = tls::issue(ca, {.names = {"www.example.org"}});
  const std::string whole = site.key + site.certificate;
  const auto line = std::ranges::count(whole, '\n') + 1;
  co_await w.store->save(place, whole + ca.certificate.substr(0, 300));
  kept k(w);
  k.keeper.change(one_name());
  const std::string said = w.store->place_of(place) + ':' + std::to_string(line) + ": ";
  const auto look = [said](kept& now) -> task<> {  // named: GCC 12 would destroy it twice
    co_await sleep_for(1min);
    EXPECT_EQ(now.world.ca.issued, 1);
    EXPECT_EQ(now.count(keeper_report::kind::failed), 1u);
    for (const keeper_report& r : now.reports)
      if (r.what == keeper_report::kind::failed)
        EXPECT_TRUE(r.trouble.starts_with(said)) << r.trouble;
  };
  co_await beside(k, look);
}

HEDDLE_TEST(acme_keeper, "a stored chain that is cut off is reported with its line and replaced") {
  in_acme_world(replaces_damaged_chain);
}

task<> survives_cuts(acme_world& w) {
  acme::keeper_options o = by_http();
  o.retry_jitter_percent = 0;
  for (int i = 1; i <= 14; ++i) {
    w.ca.requests = 0;
    w.ca.cut = {i};
    kept k(w, o);
    const names fresh{{"host" + std::to_string(i) + ".example.org"}};
    k.keeper.change(fresh);
    co_await beside(k, [](kept& now) -> task<> {
      co_await sleep_for(10min);
      EXPECT_EQ(now.certificates.size(), 1u) << now.reports.back().trouble;
    });
  }
  EXPECT_EQ(w.ca.wrongs, std::vector<std::string>{});
}

HEDDLE_TEST(acme_keeper, "a connection that is cut at any step costs minutes, and no certificate") {
  in_acme_world(survives_cuts);
}

}  // namespace
}  // namespace heddle::test
