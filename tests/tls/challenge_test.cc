// SPDX-License-Identifier: MIT
// A server that proves a name to an authority (RFC 8737), and one that begins without certificates.
#include <memory>
#include <string>

#include "heddle/heddle.hh"
#include "heddle/io/unix.hh"
#include "heddle/tls/challenge.hh"
#include "heddle/tls/stream.hh"
#include "support/drivers.hh"
#include "support/tls_files.hh"
#include "tls/settled.hh"

namespace heddle {
namespace {

using test::run_settled;
using test::tls_files;

tls::server_context context_with(std::shared_ptr<tls::challenge_table> table,
                                 std::vector<tls::certificate_files> certificates = {}) {
  return tls::server_context({.certificates = std::move(certificates),
                              .alpn = {"h2", "http/1.1"},
                              .challenges = std::move(table)});
}

tls::client_context asking(std::vector<std::string> protocols, bool verify) {
  return tls::client_context({.authorities = tls_files::get().authority(),
                              .verify = verify,
                              .alpn = std::move(protocols)});
}

/// How a connection ended for both: "protocol peer" and the bytes that the server got.
struct ending {
  std::string client;
  std::string server;
};

task<> be_server(stream over, tls::server_context site, ending& out) {
  try {
    stream s = co_await tls::accept(std::move(over), std::move(site));
    const received in = co_await s.receive();
    out.server = in.empty() ? "<end>" : std::string(in.text());
  } catch (const failure& e) {
    out.server = e.what();
  }
}

task<ending> meet_for(tls::server_context site, tls::client_context client, std::string host) {
  auto [left, right] = unix_pair();
  ending out;
  scope tasks;
  tasks.spawn(be_server(std::move(left), std::move(site), out));
  try {
    stream s = co_await tls::connect(std::move(right), std::move(host), std::move(client));
    const auto agreed = tls::session_of(s);
    out.client = agreed->alpn + ' ' + agreed->peer;
    static_cast<void>(co_await as_expected(s.write(std::string_view("data"))));
    s.shutdown_write();
    static_cast<void>(co_await as_expected(s.receive()));
  } catch (const failure& e) {
    out.client = e.what();
  }
  co_await tasks.join();
  co_return out;
}

task<> answers_challenges() {
  auto table = std::make_shared<tls::challenge_table>();
  const std::string digest(32, 'd');
  table->set("New.Example.org", tls::challenge_certificate("new.example.org", digest));
  const tls::server_context site = context_with(table, {tls_files::get().certificate("site")});
  const tls::client_context authority = asking({"acme-tls/1"}, false);
  const ending right = co_await meet_for(site, authority, "new.example.org");
  EXPECT_EQ(right.client, "acme-tls/1 /CN=new.example.org");
  EXPECT_EQ(right.server, "<end>");  // and none of the client's data
  // Another name, another offer, an answer that has gone.
  const ending other = co_await meet_for(site, authority, "other.example.org");
  EXPECT_NE(other.client.find("no application protocol"), std::string::npos) << other.client;
  const tls::client_context both = asking({"acme-tls/1", "http/1.1"}, false);
  const ending mixed = co_await meet_for(site, both, "new.example.org");
  EXPECT_EQ(mixed.client, "http/1.1 /CN=localhost");
  EXPECT_EQ(mixed.server, "data");
  table->drop("new.example.org");
  EXPECT_TRUE(table->empty());
  const ending late = co_await meet_for(site, authority, "new.example.org");
  EXPECT_NE(late.client.find("no application protocol"), std::string::npos) << late.client;
}

task<> begins_without() {
  auto table = std::make_shared<tls::challenge_table>();
  tls::server_context site = context_with(table);
  const tls::client_context browser = asking({"http/1.1"}, true);
  const ending none = co_await meet_for(site, browser, "localhost");
  EXPECT_NE(none.client.find("unrecognized name"), std::string::npos) << none.client;
  table->set("localhost", tls::challenge_certificate("localhost", std::string(32, 'd')));
  const tls::client_context authority = asking({"acme-tls/1"}, false);
  EXPECT_EQ((co_await meet_for(site, authority, "localhost")).client, "acme-tls/1 /CN=localhost");
  site.use({tls::issue(tls_files::get().ca(), {.names = {"localhost"}})});
  EXPECT_EQ((co_await meet_for(site, browser, "localhost")).client, "http/1.1 /CN=localhost");
  site.reload();  // which keeps what it was given
  EXPECT_EQ((co_await meet_for(site, browser, "localhost")).client, "http/1.1 /CN=localhost");
  EXPECT_THROW(site.use({{"none", "none"}}), failure);
  EXPECT_EQ((co_await meet_for(site, browser, "localhost")).client, "http/1.1 /CN=localhost");
}

DRIVER_TEST(tls_challenge, "an authority gets the answer for its name, and no data passes") {
  run_settled(make(), answers_challenges);
}

DRIVER_TEST(tls_challenge, "a server begins without certificates, and uses those it is given") {
  run_settled(make(), begins_without);
}

HEDDLE_TEST(tls_challenge, "a challenge's certificate holds the digest, and wants 32 bytes of it") {
  const tls::pem_pair made = tls::challenge_certificate("a.example.org", std::string(32, 'x'));
  EXPECT_EQ(tls::names_of(made.certificate), std::vector<std::string>{"a.example.org"});
  EXPECT_THROW(static_cast<void>(tls::challenge_certificate("a.example.org", "short")), failure);
  EXPECT_THROW(static_cast<void>(tls::challenge_certificate("a b", std::string(32, 'x'))), failure);
}

}  // namespace
}  // namespace heddle
