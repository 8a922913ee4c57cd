// SPDX-License-Identifier: MIT
// What the ends agree on: certificates by name, protocols above, sessions that go on, OCSP answers,
// clients' certificates; and which servers and clients are refused, with a text that says why.
#include <memory>
#include <string>

#include "heddle/heddle.hh"
#include "heddle/io/unix.hh"
#include "heddle/tls/stream.hh"
#include "support/drivers.hh"
#include "support/tls_files.hh"
#include "tls/settled.hh"

namespace heddle {
namespace {

using namespace std::chrono_literals;
using test::run_settled;
using test::tls_files;

tls::server_options site_named(std::string name) {
  return {.certificates = {tls_files::get().certificate(name)},
          .own_records = test::tests_own_records()};
}
tls::client_options trusting_client() { return {.authorities = tls_files::get().authority()}; }

/// What both ends said about one connection.
struct outcome_of_both {
  std::optional<tls::session> server;
  std::optional<tls::session> client;
  std::string server_failed;
  std::string client_failed;
  std::error_code server_code;
  std::error_code client_code;
};

/// The server's part: a byte each way, so that tickets arrive.
task<> answer_once(stream over, tls::server_context site, outcome_of_both& out) {
  try {
    stream s = co_await tls::accept(std::move(over), std::move(site));
    char got[1];
    if (co_await s.read(got) == 1) co_await s.write(byte_view(got, 1));
    out.server = tls::session_of(s);
  } catch (const failure& e) {
    out.server_failed = e.what();
    out.server_code = e.code();
  }
}

task<outcome_of_both> meet(tls::server_context site, tls::client_context client,
                           std::string host = "localhost") {
  auto [left, right] = unix_pair();
  outcome_of_both out;
  scope tasks;
  tasks.spawn(answer_once(std::move(left), std::move(site), out));
  try {
    stream s = co_await tls::connect(std::move(right), std::move(host), std::move(client));
    co_await s.write(std::string_view("x"));
    char got[1];
    static_cast<void>(co_await s.read(got));
    out.client = tls::session_of(s);
  } catch (const failure& e) {
    out.client_failed = e.what();
    out.client_code = e.code();
  }
  co_await tasks.join();
  co_return out;
}

// GCC 12 destroys a temporary aggregate in a co_await expression twice: options are made in
// functions.
tls::server_context site_of(const std::string& name) {
  return tls::server_context(site_named(name));
}
tls::client_context trusting() { return tls::client_context(trusting_client()); }
tls::client_context with_system_roots() { return tls::client_context(); }

task<> names_choose_certificates() {
  tls::server_options both = site_named("site");
  both.certificates.push_back(tls_files::get().certificate("other"));
  const tls::server_context site(both);
  const tls::client_context client(trusting_client());
  for (const char* host : {"localhost", "other.example.org", "OTHER.example.org",
                           "a.wild.example.org", "127.0.0.1", "::1"}) {
    const outcome_of_both met = co_await meet(site, client, host);
    EXPECT_TRUE(met.client.has_value()) << host << ": " << met.client_failed;
  }
  // A wildcard is one label; and a name that no certificate is for gets the first one.
  for (const char* host : {"a.b.wild.example.org", "wild.example.org", "unknown.example.org"}) {
    const outcome_of_both met = co_await meet(site, client, host);
    EXPECT_EQ(met.client_code, std::errc::permission_denied) << host;
    EXPECT_NE(met.client_failed.find("ostname mismatch"), std::string::npos) << met.client_failed;
  }
}

task<> strangers_are_refused() {
  outcome_of_both met = co_await meet(site_of("stranger"), trusting());
  EXPECT_EQ(met.client_code, std::errc::permission_denied);
  EXPECT_NE(met.client_failed.find("unable to get local issuer"), std::string::npos)
      << met.client_failed;
  // The alert reaches the server, and says what to do.
  EXPECT_EQ(met.server_code, std::errc::permission_denied);
  EXPECT_NE(met.server_failed.find("roots"), std::string::npos) << met.server_failed;
  // The system's roots do not know the tests' authority.
  met = co_await meet(site_of("site"), with_system_roots());
  EXPECT_EQ(met.client_code, std::errc::permission_denied);
  tls::client_options careless;
  careless.verify = false;
  met = co_await meet(site_of("stranger"), tls::client_context(careless));
  EXPECT_TRUE(met.client.has_value()) << met.client_failed;
}

task<> protocols_above() {
  tls::server_options site = site_named("site");
  site.alpn = {"h2", "http/1.1"};
  tls::client_options client = trusting_client();
  client.alpn = {"http/1.1", "h2"};
  outcome_of_both met = co_await meet(tls::server_context(site), tls::client_context(client));
  EXPECT_EQ(met.client->alpn, "h2");
  EXPECT_EQ(met.server->alpn, "h2");
  client.alpn = {"spdy/1"};
  met = co_await meet(tls::server_context(site), tls::client_context(client));
  EXPECT_EQ(met.server_code, std::errc::protocol_error);
  EXPECT_NE(met.server_failed.find("ALPN"), std::string::npos) << met.server_failed;
  client.alpn = {};
  met = co_await meet(tls::server_context(site), tls::client_context(client));
  EXPECT_EQ(met.client->alpn, "");
}

task<> sessions_go_on() {
  for (const tls::version v : {tls::version::tls12, tls::version::tls13}) {
    tls::server_options options = site_named("site");
    options.newest = v;
    tls::server_context site(options);
    const tls::client_context client(trusting_client());
    EXPECT_FALSE((co_await meet(site, client)).server->resumed);
    for (int i = 0; i < 3; ++i) {
      const outcome_of_both met = co_await meet(site, client);
      EXPECT_TRUE(met.server->resumed);
      EXPECT_TRUE(met.client->resumed);
    }
    // A reload keeps the keys of tickets.
    site.reload();
    EXPECT_TRUE((co_await meet(site, client)).server->resumed);
  }
}

task<> no_tickets() {
  tls::server_options options = site_named("site");
  options.tickets = 0;
  const tls::server_context site(options);
  const tls::client_context client(trusting_client());
  EXPECT_FALSE((co_await meet(site, client)).server->resumed);
  EXPECT_FALSE((co_await meet(site, client)).server->resumed);
}

/// Each key seals for a while and opens for two whiles more.
task<> keys_rotate() {
  tls::server_options options = site_named("site");
  options.ticket_key_life = 1h;
  const tls::server_context site(options);
  const tls::client_context client(trusting_client());
  static_cast<void>(co_await meet(site, client));
  for (int i = 0; i < 6; ++i) {
    co_await sleep_for(61min);
    EXPECT_TRUE((co_await meet(site, client)).server->resumed) << i;
  }
  // Meanwhile others came, and three new keys were made.
  for (int i = 0; i < 3; ++i) {
    co_await sleep_for(61min);
    static_cast<void>(co_await meet(site, tls::client_context(trusting_client())));
  }
  EXPECT_FALSE((co_await meet(site, client)).server->resumed);
}

task<> clients_certificates() {
  tls::server_options site = site_named("site");
  site.clients = tls::client_certificates::required;
  site.client_authorities = tls_files::get().authority();
  tls::client_options client = trusting_client();
  outcome_of_both met = co_await meet(tls::server_context(site), tls::client_context(client));
  EXPECT_EQ(met.server_code, std::errc::permission_denied);
  EXPECT_NE(met.server_failed.find("client_options::certificate"), std::string::npos)
      << met.server_failed;
  client.certificate = tls_files::get().certificate("client");
  met = co_await meet(tls::server_context(site), tls::client_context(client));
  EXPECT_NE(met.server->peer.find("client.example.org"), std::string::npos) << met.server_failed;
  client.certificate = tls_files::get().certificate("stranger_client");
  met = co_await meet(tls::server_context(site), tls::client_context(client));
  EXPECT_EQ(met.server_code, std::errc::permission_denied);
  // A server's certificate is none of a client.
  client.certificate = tls_files::get().certificate("site");
  met = co_await meet(tls::server_context(site), tls::client_context(client));
  EXPECT_EQ(met.server_code, std::errc::permission_denied);
  site.clients = tls::client_certificates::wanted;
  met = co_await meet(tls::server_context(site), trusting());
  EXPECT_EQ(met.server->peer, "");
}

task<> versions() {
  tls::server_options site = site_named("site");
  site.oldest = tls::version::tls13;
  tls::client_options client = trusting_client();
  client.newest = tls::version::tls12;
  const outcome_of_both met = co_await meet(tls::server_context(site), tls::client_context(client));
  EXPECT_EQ(met.client_code, std::errc::protocol_error);
  EXPECT_NE(met.client_failed.find("version"), std::string::npos) << met.client_failed;
}

/// New handshakes see new files, and open connections live on; bad files change nothing.
task<> reloads() {
  const tls_files& files = tls_files::get();
  files.write("fresh", tls::issue(files.ca(), {.names = {"one.example.org"}}));
  tls::server_context site(site_named("fresh"));
  const tls::client_context client(trusting_client());
  auto [left, right] = unix_pair();
  outcome_of_both kept;
  scope tasks;
  tasks.spawn(answer_once(std::move(left), site, kept));
  stream open = co_await tls::connect(std::move(right), "one.example.org", client);

  files.write("fresh", tls::issue(files.ca(), {.names = {"two.example.org"}}));
  site.reload();
  EXPECT_TRUE((co_await meet(site, client, "two.example.org")).client.has_value());
  EXPECT_FALSE((co_await meet(site, client, "one.example.org")).client.has_value());

  files.write("fresh", {"no certificate", "no key"});
  EXPECT_THROW(site.reload(), failure);
  EXPECT_TRUE((co_await meet(site, client, "two.example.org")).client.has_value());

  co_await open.write(std::string_view("x"));
  char got[1];
  EXPECT_EQ(co_await open.read(got), 1u);
  co_await tasks.join();
}

task<> handshakes_are_logged() {
  std::vector<tls::handshake_report> seen;
  tls::server_options site = site_named("site");
  site.log = [&](const tls::handshake_report& r) { seen.push_back(r); };
  static_cast<void>(co_await meet(tls::server_context(site), trusting()));
  static_cast<void>(co_await meet(tls::server_context(site), with_system_roots()));
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_FALSE(seen.at(0).agreed.group.empty());
  EXPECT_EQ(seen.at(0).agreed.trouble, "");
  EXPECT_NE(seen.at(1).agreed.trouble, "");
}

task<> in_colors_of_their_own() {
  tls::server_options site = site_named("site");
  site.handshake_colors = {color(71), color(72)};
  const tls::server_context shared(site);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE((co_await meet(shared, trusting())).server.has_value());
}

DRIVER_TEST(tls_agreement, "the name that a client asks for chooses the certificate") {
  run_settled(make(), &names_choose_certificates);
}
DRIVER_TEST(tls_agreement, "a server that no known authority signed is refused") {
  run_settled(make(), &strangers_are_refused);
}
DRIVER_TEST(tls_agreement, "the server chooses the protocol above, or says that there is none") {
  run_settled(make(), &protocols_above);
}
DRIVER_TEST(tls_agreement, "a session goes on in the next connection") {
  run_settled(make(), &sessions_go_on);
}
DRIVER_TEST(tls_agreement, "without tickets no session goes on") {
  run_settled(make(), &no_tickets);
}
HEDDLE_TEST(tls_agreement, "keys of tickets rotate, and old ones still open for a while") {
  run_settled(std::make_unique<sim_driver>(), &keys_rotate);
}
DRIVER_TEST(tls_agreement, "clients without a good certificate are refused where one is needed") {
  run_settled(make(), &clients_certificates);
}
DRIVER_TEST(tls_agreement, "an end that wants a newer version says so") {
  run_settled(make(), &versions);
}
DRIVER_TEST(tls_agreement, "certificates are read again without dropping a connection") {
  run_settled(make(), &reloads);
}
DRIVER_TEST(tls_agreement, "each handshake is logged, with what went wrong") {
  run_settled(make(), &handshakes_are_logged);
}
DRIVER_TEST(tls_agreement, "handshakes may run in colors of their own") {
  run_settled(make(), &in_colors_of_their_own);
}

// What is wrong with files is said when they are read.
std::string complaint(const tls::server_options& site) {
  try {
    static_cast<void>(tls::server_context(site));
  } catch (const failure& e) {
    return e.what();
  }
  return {};
}

HEDDLE_TEST(tls_agreement, "files that cannot be used are named, with what to do") {
  const tls_files& files = tls_files::get();
  EXPECT_NE(complaint({}).find("server_options::certificates"), std::string::npos);
  const auto has = [](const std::string& text, std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(complaint({.certificates = {{"/nowhere.pem", "/nowhere.key"}}}), "/nowhere.pem");
  has(complaint({.certificates = {{files.path("site.key"), files.path("site.key")}}}),
      "holds no certificate");
  has(complaint({.certificates = {{files.path("site.pem"), files.path("site.pem")}}}),
      "holds no key");
  has(complaint({.certificates = {{files.path("site.pem"), files.path("other.key")}}}),
      "made together");
  has(complaint({.certificates = {{files.path("site.pem"), files.path("site.key"),
                                   files.path("site.pem")}}}),
      "OCSP");
  tls::server_options site = site_named("site");
  site.clients = tls::client_certificates::required;
  has(complaint(site), "client_authorities");
  site.client_authorities = "/nowhere.pem";
  has(complaint(site), "/nowhere.pem");
  site = site_named("site");
  site.alpn = {std::string(256, 'a')};
  has(complaint(site), "ALPN");
}

HEDDLE_TEST(tls_agreement, "names of a certificate are checked, and read back") {
  const tls_files& files = tls_files::get();
  const tls::pem_pair made = tls::issue(files.ca(), {.names = {"b.example", "A.example", "::1"}});
  EXPECT_EQ(tls::names_of(made.certificate),
            (std::vector<std::string>{"::1", "a.example", "b.example"}));
  const auto left = tls::expiry_of(made.certificate) - std::chrono::system_clock::now();
  EXPECT_GT(left, std::chrono::days(396));
  EXPECT_LT(left, std::chrono::days(398));
  EXPECT_THROW(static_cast<void>(tls::issue(files.ca(), {.names = {"a,IP:127.0.0.1"}})), failure);
  EXPECT_THROW(static_cast<void>(tls::issue(files.ca(), {.names = {""}})), failure);
  EXPECT_THROW(static_cast<void>(tls::issue(files.ca(), {})), failure);
  EXPECT_THROW(static_cast<void>(tls::issue({}, {.names = {"a.example"}})), failure);
}

}  // namespace
}  // namespace heddle
