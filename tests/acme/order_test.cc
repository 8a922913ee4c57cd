// SPDX-License-Identifier: MIT
// Orders at the test authority in a simulated world, with every fault that an authority may have.
#include <functional>

#include "acme/world.hh"
#include "heddle/acme/refusal.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;
using acme::challenge;
using acme::detail::facts_of;

// GCC 12 knows no lists inside of an awaited call.
std::vector<std::string> one_host() { return {"www.example.org"}; }

/// Orders a certificate; gives the error's text, or "".
task<std::string> order_here(acme_world& w, challenge by,
                             std::vector<std::string> names = one_host()) {
  acme::authority issuer(w.options(), w.store, w.answers);
  try {
    const tls::pem_pair made = co_await issuer.order(names, by);
    EXPECT_EQ(facts_of(made).names.size(), names.size());
    co_return "";
  } catch (const failure& e) {
    co_return e.what();
  }
}

task<> orders_by(acme_world& w, challenge by, const char* proof) {
  EXPECT_EQ(co_await order_here(w, by), "");
  EXPECT_EQ(w.ca.proofs, std::vector<std::string>{proof});
  EXPECT_TRUE(w.answers->over_tls()->empty());
  EXPECT_EQ(co_await order_here(w, by), "");  // with the stored key
  EXPECT_EQ(w.ca.accounts, 1);
  EXPECT_EQ(w.ca.wrongs, std::vector<std::string>{});
}

HEDDLE_TEST(acme_order, "an order by http-01 gives a certificate, and the key is kept") {
  in_acme_world(
      [](acme_world& w) { return orders_by(w, challenge::http_01, "http-01 www.example.org"); });
}

HEDDLE_TEST(acme_order, "an order by tls-alpn-01 gives a certificate") {
  in_acme_world([](acme_world& w) {
    return orders_by(w, challenge::tls_alpn_01, "tls-alpn-01 www.example.org");
  });
}

task<> orders_several(acme_world& w) {
  std::vector<std::string> names{"b.example.org", "A.example.org."};
  EXPECT_EQ(co_await order_here(w, challenge::http_01, std::move(names)), "");
  EXPECT_EQ(w.ca.proofs,
            (std::vector<std::string>{"http-01 a.example.org", "http-01 b.example.org"}));
}

HEDDLE_TEST(acme_order, "one certificate can have several names") { in_acme_world(orders_several); }

task<> survives_nonces(acme_world& w) {
  w.ca.bad_nonces = 3;
  EXPECT_EQ(co_await order_here(w, challenge::http_01), "");
  w.ca.nonces_of_answers = false;
  EXPECT_EQ(co_await order_here(w, challenge::http_01), "");
  EXPECT_EQ(w.ca.wrongs, std::vector<std::string>{});
  w.ca.bad_nonces = 100;
  const std::string said = co_await order_here(w, challenge::http_01);
  EXPECT_NE(said.find("badNonce"), std::string::npos) << said;
}

HEDDLE_TEST(acme_order, "a bad nonce is answered with the next one, up to a limit") {
  in_acme_world(survives_nonces);
}

/// A fault, and a part of the text that it must give.
struct fault_case {
  const char* name;
  std::function<void(test_authority&)> set;
  const char* said;
};

std::vector<fault_case> fault_cases() {
  return {
      {"proof", [](test_authority& ca) { ca.wrong_proof = true; },
       "could not check www.example.org by http-01: the answer is wrong (unauthorized); the name "
       "leads to another server"},
      {"offer", [](test_authority& ca) { ca.offers_tls_alone = true; },
       "does not check www.example.org by http-01; it offers dns-01, tls-alpn-01"},
      {"lie", [](test_authority& ca) { ca.lies = true; }, "the certificate is for another key"},
      {"binding", [](test_authority& ca) { ca.external_key = "secret"; },
       "wants an account that it knows"},
      {"limit", [](test_authority& ca) { ca.problems[4] = "rateLimited"; },
       "refuses the order of www.example.org: no no (rateLimited); nothing is to be done but to "
       "wait"},
      {"name", [](test_authority& ca) { ca.problems[4] = "rejectedIdentifier"; },
       "makes no certificates for this name"},
      {"site", [](test_authority& ca) { ca.plain_site = address::loopback(1); }, "(unauthorized)"},
  };
}

task<> reports_faults(acme_world& w) {
  const address plain = w.ca.plain_site;
  for (const fault_case& each : fault_cases()) {
    w.ca.requests = 0;
    each.set(w.ca);
    const std::string said = co_await order_here(w, challenge::http_01);
    EXPECT_NE(said.find(each.said), std::string::npos) << each.name << ": " << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    w.ca.wrong_proof = w.ca.offers_tls_alone = w.ca.lies = false;
    w.ca.external_key.clear();
    w.ca.problems.clear();
    w.ca.plain_site = plain;
  }
  EXPECT_EQ(co_await order_here(w, challenge::http_01), "");
}

HEDDLE_TEST(acme_order, "each fault of an authority is reported with a reason and an advice") {
  in_acme_world(reports_faults);
}

task<> binds(acme_world& w) {
  w.ca.external_key = "secret";
  acme::authority_options o = w.options();
  o.external_id = "id-1";
  o.external_key = to_base64url("secret");
  acme::authority issuer(o, w.store, w.answers);
  static_cast<void>(co_await issuer.order(one_host(), challenge::http_01));
  EXPECT_EQ(w.ca.issued, 1);
}

HEDDLE_TEST(acme_order, "an account can be bound to one that the authority knows") {
  in_acme_world(binds);
}

task<> wants_agreement(acme_world& w) {
  acme::authority_options o = w.options();
  o.agree_to_terms = false;
  acme::authority issuer(o, w.store, w.answers);
  std::string said;
  try {
    static_cast<void>(co_await issuer.order(one_host(), challenge::http_01));
  } catch (const failure& e) {
    said = e.what();
  }
  EXPECT_NE(said.find("read https://ca.example.org/terms and then agree"), std::string::npos)
      << said;
  EXPECT_EQ(w.ca.posts, 0);
}

HEDDLE_TEST(acme_order, "without agreement to the terms nothing is sent, and they are named") {
  in_acme_world(wants_agreement);
}

task<> cuts(acme_world& w) {
  // How many requests an order takes; then each of them is cut once.
  EXPECT_EQ(co_await order_here(w, challenge::http_01), "");
  const int all = w.ca.requests;
  EXPECT_GE(all, 10);
  for (int i = 1; i <= all; ++i) {
    w.ca.requests = 0;
    w.ca.cut = {i};
    const std::string said = co_await order_here(w, challenge::http_01);
    const bool repeated = i <= 2;  // GET and HEAD are repeated by the client, if at all
    if (!repeated) EXPECT_NE(said.find("http://127.0.0.1:"), std::string::npos) << i << said;
    w.ca.cut.clear();
    EXPECT_EQ(co_await order_here(w, challenge::http_01), "") << "after " << i;
  }
  EXPECT_EQ(w.ca.wrongs, std::vector<std::string>{});
}

HEDDLE_TEST(acme_order, "a connection that is cut at any request fails one order, and no other") {
  in_acme_world(cuts);
}

task<> limits_orders(acme_world& w) {
  acme::authority_options o = w.options();
  o.order_timeout = 1s;
  w.site_delay = 10s;
  acme::authority issuer(o, w.store, w.answers);
  std::string said;
  try {
    static_cast<void>(co_await issuer.order(one_host(), challenge::http_01));
  } catch (const failure& e) {
    EXPECT_EQ(e.code(), std::errc::timed_out);
    said = e.what();
  }
  EXPECT_NE(said.find("while proving www.example.org by http-01"), std::string::npos) << said;
}

HEDDLE_TEST(acme_order, "an order that takes too long ends, and says where it was") {
  in_acme_world(limits_orders);
}

HEDDLE_TEST(acme_order, "names are checked before anything is sent") {
  EXPECT_EQ(acme::checked_name("WWW.Example.org."), "www.example.org");
  for (const char* bad : {"", ".", "*.example.org", "192.0.2.1", "a..b", "a b", "[::1]", "a/b",
                          "\xc3\xa9.example.org"})
    EXPECT_THROW(static_cast<void>(acme::checked_name(bad)), failure) << bad;
  EXPECT_THROW(static_cast<void>(acme::checked_name(std::string(64, 'a') + ".example.org")),
               failure);
}

HEDDLE_TEST(acme_order, "an authority is asked by https, except on this machine") {
  acme::authority_options o;
  o.directory = "http://ca.example.org/directory";
  EXPECT_THROW(acme::authority(o, nullptr, nullptr), failure);
  o.directory = "directory";
  EXPECT_THROW(acme::authority(o, nullptr, nullptr), failure);
  o.directory = "https://CA.example.org:14000/dir";
  EXPECT_EQ(acme::authority(o, nullptr, nullptr).place(), "ca.example.org-14000-dir");
}

}  // namespace
}  // namespace heddle::test
